//! Signatures of components, in the formats of cosign. Verification needs no network: it compares with public keys, or
//! with identities in certificates whose authorities and logs are in a file of the operator.
//!
//! [`Trust`] decides whose signatures count, [`Signature`] is what was found beside a component or in a registry, and
//! [`PrivateKey`] signs.

mod attestation;
mod bundle;
mod certificate_annotations;
mod cryptography;
mod evidence;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod identity;
mod key;
pub mod layer;
mod reason;
mod rule;
mod sign;
mod signature;
mod signer;
mod simple_signing;
#[cfg(any(test, feature = "test-util"))]
#[allow(missing_docs, clippy::unwrap_used, reason = "only tests use it")]
pub mod testing;
mod trust;
mod trust_root;

pub use self::attestation::Attestation;
pub use self::certificate_annotations::CertificateAnnotations;
pub use self::evidence::MAX_SIGNATURE_SIZE;
pub use self::identity::{Identity, IdentityError};
pub use self::key::{KeyError, PublicKey};
pub use self::layer::{BUNDLE_EXTENSION, DETACHED_EXTENSION, SignatureManifest};
pub use self::reason::Reason;
pub use self::rule::Rule;
pub use self::sign::{PrivateKey, SigningError};
pub use self::signature::{FoundSignature, Signature};
pub use self::signer::Signer;
pub use self::simple_signing::SimpleSigning;
pub use self::trust::{Trust, Untrusted};
pub use self::trust_root::{TrustRoot, TrustRootError};

#[cfg(test)]
mod tests;
