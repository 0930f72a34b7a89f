//! The signer of a component.

use std::fmt;

use crate::name::Digest;

/// A trusted signer of a component.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Signer {
    /// The owner of a key.
    Key {
        /// The name of the key in the configuration.
        name: String,
        /// The digest of the key.
        fingerprint: [u8; 32],
    },
    /// The owner of a certificate.
    Identity {
        /// The identity in the certificate.
        identity: String,
        /// The issuer that confirmed the identity.
        issuer: String,
        /// The digest of the trust root with which the certificate was verified.
        root: [u8; 32],
    },
}

impl fmt::Display for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key { name, fingerprint } => {
                let digest = format!("sha256:{}", Digest::from_bytes(*fingerprint));
                write!(f, "key {name} ({})", digest.get(..19).unwrap_or(&digest))
            }
            Self::Identity {
                identity, issuer, ..
            } => write!(f, "{identity}, confirmed by {issuer}"),
        }
    }
}
