//! Public keys.

use sigstore_verify::crypto::{
    KeyAlgorithm, SigningScheme, VerificationKey, validate_raw_public_key,
};
use sigstore_verify::types::{DerPublicKey, SignatureBytes};

use crate::cryptography::{install, sha256};

/// A public key: ECDSA P-256 or P-384, Ed25519, or RSA of at least 2048 bits.
#[derive(Clone, PartialEq, Eq)]
pub struct PublicKey {
    der: DerPublicKey,
    schemes: &'static [SigningScheme],
    fingerprint: [u8; 32],
}

/// Why a public key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The text is not in the PEM format.
    #[error(
        "it is not a public key in the PEM format, which begins with -----BEGIN PUBLIC KEY-----"
    )]
    NotPem,
    /// The PEM text contains another kind of object.
    #[error("it contains `{0}`, but a PUBLIC KEY is needed{advice}", advice = advice(.0))]
    OtherContent(String),
    /// The algorithm of the key is not supported.
    #[error(
        "the key cannot be used ({0}): use ECDSA P-256 or P-384, Ed25519, or RSA of at least 2048 bits"
    )]
    Unsupported(String),
}

fn advice(content: &str) -> &'static str {
    match content {
        _ if content.contains("PRIVATE KEY") => {
            ": the private key belongs to the one who signs; `openssl pkey -pubout` prints its public key"
        }
        "RSA PUBLIC KEY" => ": convert it with `openssl rsa -RSAPublicKey_in -pubout`",
        _ => "",
    }
}

impl PublicKey {
    /// Parses a key in the PEM format.
    pub fn from_pem(text: &str) -> Result<Self, KeyError> {
        let pem = pem::parse(text).map_err(|_| KeyError::NotPem)?;
        if pem.tag() != "PUBLIC KEY" {
            return Err(KeyError::OtherContent(pem.tag().chars().take(64).collect()));
        }
        Self::from_der(DerPublicKey::from_bytes(pem.contents()))
    }

    fn from_der(der: DerPublicKey) -> Result<Self, KeyError> {
        install();
        let unsupported =
            |error: sigstore_verify::crypto::Error| KeyError::Unsupported(error.to_string());
        let schemes = match KeyAlgorithm::from_spki(&der).map_err(unsupported)? {
            KeyAlgorithm::EcdsaP256 => &[SigningScheme::EcdsaP256Sha256] as &[_],
            // For a long time, cosign used SHA-256 with all keys.
            KeyAlgorithm::EcdsaP384 => &[
                SigningScheme::EcdsaP384Sha384,
                SigningScheme::EcdsaP384Sha256,
            ],
            KeyAlgorithm::Ed25519 => &[SigningScheme::Ed25519],
            KeyAlgorithm::Rsa => &[SigningScheme::RsaPkcs1Sha256],
            other => return Err(KeyError::Unsupported(format!("{other:?}"))),
        };
        let key = VerificationKey::from_spki(&der).map_err(unsupported)?;
        validate_raw_public_key(schemes[0], key.as_bytes()).map_err(unsupported)?;
        let fingerprint = sha256(der.as_bytes());
        Ok(Self {
            der,
            schemes,
            fingerprint,
        })
    }

    /// Returns the SHA-256 digest of the key.
    pub fn fingerprint(&self) -> [u8; 32] {
        self.fingerprint
    }

    /// Returns whether the signature of the message was made with this key.
    pub(crate) fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        install();
        let signature = SignatureBytes::from_bytes(signature);
        self.schemes.iter().any(|scheme| {
            let key = VerificationKey::from_spki_with_scheme(&self.der, *scheme);
            key.is_ok_and(|key| key.verify(message, &signature).is_ok())
        })
    }
}

impl std::fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&crate::cryptography::digest_text(&self.fingerprint))
    }
}
