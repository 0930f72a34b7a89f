//! Key pairs.

use rcgen::{
    KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_ED25519, PublicKeyData as _,
    SigningKey as _,
};

/// A key pair.
pub struct Signer(pub(super) KeyPair);

impl Signer {
    pub fn ecdsa() -> Self {
        Self(KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap())
    }

    pub fn ecdsa_p384() -> Self {
        Self(KeyPair::generate_for(&PKCS_ECDSA_P384_SHA384).unwrap())
    }

    pub fn ed25519() -> Self {
        Self(KeyPair::generate_for(&PKCS_ED25519).unwrap())
    }

    /// Returns the public key in PEM.
    pub fn public_key(&self) -> String {
        self.0.public_key_pem()
    }

    /// Returns the private key in PEM.
    pub fn private_key(&self) -> String {
        self.0.serialize_pem()
    }

    /// Returns the signature of a message.
    pub fn sign(&self, message: &[u8]) -> Vec<u8> {
        self.0.sign(message).unwrap()
    }

    /// Returns the public key in DER.
    pub(crate) fn public_key_der(&self) -> Vec<u8> {
        self.0.subject_public_key_info()
    }
}
