//! Signing with a private key.

use bytes::Bytes;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, Ed25519KeyPair};

use crate::layer::SignatureManifest;
use crate::simple_signing;

/// A private key: ECDSA P-256 or Ed25519.
pub struct PrivateKey(Algorithm);

enum Algorithm {
    Ecdsa(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

/// Why a private key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SigningError {
    /// The text is not in the PEM format.
    #[error(
        "it is not a private key in the PEM format, which begins with -----BEGIN PRIVATE KEY-----"
    )]
    NotPem,
    /// The key is encrypted by cosign.
    #[error(
        "it is a key of cosign with a password, which larder cannot read: sign with `cosign sign --key` or `cosign sign-blob --key`, \
         whose signatures larder accepts, or make a key without a password: `openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256`"
    )]
    CosignKey,
    /// The key has another format.
    #[error(
        "it contains `{0}`, but a PRIVATE KEY is needed: `openssl pkcs8 -topk8 -nocrypt -in KEY` converts it"
    )]
    OtherFormat(String),
    /// The algorithm of the key is not supported.
    #[error("larder signs with keys for ECDSA P-256 and Ed25519 only")]
    Unsupported,
    /// The signature could not be made.
    #[error("the signature could not be made")]
    Failed,
    /// The manifest with earlier signatures cannot be extended.
    #[error("{0}")]
    Manifest(String),
}

impl PrivateKey {
    /// Parses a key in the PEM format (PKCS #8).
    pub fn from_pem(text: &str) -> Result<Self, SigningError> {
        let pem = pem::parse(text).map_err(|_| SigningError::NotPem)?;
        match pem.tag() {
            "PRIVATE KEY" => Self::from_pkcs8(pem.contents()),
            "ENCRYPTED COSIGN PRIVATE KEY" | "ENCRYPTED SIGSTORE PRIVATE KEY" => {
                Err(SigningError::CosignKey)
            }
            other => Err(SigningError::OtherFormat(other.chars().take(64).collect())),
        }
    }

    fn from_pkcs8(der: &[u8]) -> Result<Self, SigningError> {
        let random = SystemRandom::new();
        if let Ok(pair) = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, der, &random) {
            return Ok(Self(Algorithm::Ecdsa(pair)));
        }
        // A key file of OpenSSL contains no public key, so the public key is computed.
        let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(der);
        pair.map(|pair| Self(Algorithm::Ed25519(pair)))
            .map_err(|_| SigningError::Unsupported)
    }

    /// Signs a file. Returns the content of `NAME.wasm.sig`: the signature in base64.
    pub fn sign_blob(&self, content: &[u8]) -> Result<String, SigningError> {
        let signature = match &self.0 {
            Algorithm::Ecdsa(pair) => {
                let signature = pair
                    .sign(&SystemRandom::new(), content)
                    .map_err(|_| SigningError::Failed)?;
                base64_simd::STANDARD.encode_to_string(signature)
            }
            Algorithm::Ed25519(pair) => base64_simd::STANDARD.encode_to_string(pair.sign(content)),
        };
        Ok(signature)
    }

    /// Signs a manifest in a registry. `reference` is the repository of the manifest, and `manifest_digest` is its
    /// digest (`sha256:…`). `existing` is the manifest under the tag of its signatures, and the signatures in it are
    /// kept.
    pub fn sign_manifest(
        &self,
        reference: &str,
        manifest_digest: &str,
        existing: Option<&[u8]>,
    ) -> Result<SignatureManifest, SigningError> {
        let payload: Bytes = simple_signing::payload(reference, manifest_digest);
        let signature = self.sign_blob(&payload)?;
        SignatureManifest::new(manifest_digest, payload, &signature, existing)
            .map_err(SigningError::Manifest)
    }
}

impl std::fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PrivateKey")
    }
}
