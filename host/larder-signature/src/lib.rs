//! Signatures of components, in the formats of cosign. Verification needs no network. It uses public keys, or
//! identities in certificates. The authorities and logs of the certificates are in a file of the operator.
//!
//! [`Trust`] decides which signers are trusted, and [`PrivateKey`] signs. The types of found signatures and of signers
//! are in larder-model.

#![cfg_attr(test, allow(clippy::too_many_lines, reason = "tables are long"))]
// Times and sizes in bundles and certificates must not overflow.
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

mod bundle;
mod certificate_annotations;
mod cryptography;
mod evidence;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod identity;
mod key;
pub mod layer;
mod rule;
mod sign;
mod signature;
mod simple_signing;
#[cfg(any(test, feature = "test-util"))]
#[allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::arithmetic_side_effects,
    reason = "only tests use it"
)]
pub mod testing;
mod trust;
mod trust_root;

pub use self::identity::{Identity, IdentityError};
pub use self::key::{KeyError, PublicKey};
pub use self::layer::SignatureManifest;
pub use self::rule::Rule;
pub use self::sign::{PrivateKey, SigningError};
pub use self::trust::Trust;
pub use self::trust_root::{TrustRoot, TrustRootError};

#[cfg(test)]
mod tests;
