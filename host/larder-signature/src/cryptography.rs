//! The cryptography of the Sigstore crates, with ring. Without this module, the crates would use aws-lc.

use std::cell::RefCell;

use bytes::Bytes;
use ring::digest;
use ring::signature::{self, UnparsedPublicKey, VerificationAlgorithm};
use sigstore_verify::crypto::{
    CryptoProvider, Error, HashContext, SigningScheme, install_default_provider,
};
use sigstore_verify::types::HashAlgorithm;

type Result<T> = std::result::Result<T, Error>;

thread_local! {
    /// The message whose signature this thread verifies. See [`with_message`].
    static MESSAGE: RefCell<Option<Bytes>> = const { RefCell::new(None) };
}

/// Makes ring the provider of cryptography. Each function of this crate that calls the Sigstore crates first calls this
/// function.
pub(crate) fn install() {
    // This fails if the provider is already installed.
    _ = install_default_provider(&Ring);
}

/// Verifies a signature of this message. ring can only verify signatures of messages, but the Sigstore crates call it
/// with the digest of the message.
pub(crate) fn with_message<T>(message: &Bytes, verify: impl FnOnce() -> T) -> T {
    install();
    MESSAGE.set(Some(message.clone()));
    let result = verify();
    MESSAGE.set(None);
    result
}

/// Returns the SHA-256 digest.
pub(crate) fn sha256(bytes: &[u8]) -> [u8; 32] {
    let mut digest = [0; 32];
    digest.copy_from_slice(digest::digest(&digest::SHA256, bytes).as_ref());
    digest
}

/// Returns the digest in the form of registries, such as `sha256:9f86…`.
pub(crate) fn digest_text(digest: &[u8; 32]) -> String {
    digest.iter().fold("sha256:".to_owned(), |text, byte| {
        text + &format!("{byte:02x}")
    })
}

#[derive(Debug)]
struct Ring;

struct Hash(digest::Context);

impl HashContext for Hash {
    fn update(&mut self, data: &[u8]) {
        self.0.update(data);
    }

    fn finalize(self: Box<Self>) -> Vec<u8> {
        self.0.finish().as_ref().to_vec()
    }
}

impl CryptoProvider for Ring {
    fn hash(&self, algorithm: HashAlgorithm) -> Result<Box<dyn HashContext>> {
        Ok(Box::new(Hash(digest::Context::new(hash_algorithm(
            algorithm,
        )?))))
    }

    fn verify_raw(
        &self,
        scheme: SigningScheme,
        key: &[u8],
        message: &[u8],
        signature: &[u8],
    ) -> Result<()> {
        let key = UnparsedPublicKey::new(verification_algorithm(scheme)?, key);
        let invalid = |_| Error::Verification(format!("the {} signature is wrong", scheme.name()));
        key.verify(message, signature).map_err(invalid)
    }

    fn verify_prehashed(
        &self,
        scheme: SigningScheme,
        key: &[u8],
        digest: &[u8],
        signature: &[u8],
    ) -> Result<()> {
        let unsupported = || Error::UnsupportedAlgorithm("a digest without its message".into());
        let message = MESSAGE.with_borrow(Clone::clone).ok_or_else(unsupported)?;
        let algorithm = hash_algorithm(scheme.hash_algorithm().ok_or_else(unsupported)?)?;
        if digest::digest(algorithm, &message).as_ref() != digest {
            return Err(unsupported());
        }
        self.verify_raw(scheme, key, &message, signature)
    }
}

fn hash_algorithm(algorithm: HashAlgorithm) -> Result<&'static digest::Algorithm> {
    match algorithm {
        HashAlgorithm::Sha2256 => Ok(&digest::SHA256),
        HashAlgorithm::Sha2384 => Ok(&digest::SHA384),
        HashAlgorithm::Sha2512 => Ok(&digest::SHA512),
        other => Err(Error::UnsupportedAlgorithm(other.to_string())),
    }
}

fn verification_algorithm(scheme: SigningScheme) -> Result<&'static dyn VerificationAlgorithm> {
    Ok(match scheme {
        SigningScheme::EcdsaP256Sha256 => &signature::ECDSA_P256_SHA256_ASN1,
        SigningScheme::EcdsaP256Sha384 => &signature::ECDSA_P256_SHA384_ASN1,
        SigningScheme::EcdsaP384Sha256 => &signature::ECDSA_P384_SHA256_ASN1,
        SigningScheme::EcdsaP384Sha384 => &signature::ECDSA_P384_SHA384_ASN1,
        SigningScheme::Ed25519 => &signature::ED25519,
        SigningScheme::RsaPssSha256 => &signature::RSA_PSS_2048_8192_SHA256,
        SigningScheme::RsaPssSha384 => &signature::RSA_PSS_2048_8192_SHA384,
        SigningScheme::RsaPssSha512 => &signature::RSA_PSS_2048_8192_SHA512,
        SigningScheme::RsaPkcs1Sha256 => &signature::RSA_PKCS1_2048_8192_SHA256,
        SigningScheme::RsaPkcs1Sha384 => &signature::RSA_PKCS1_2048_8192_SHA384,
        SigningScheme::RsaPkcs1Sha512 => &signature::RSA_PKCS1_2048_8192_SHA512,
        other => return Err(Error::UnsupportedAlgorithm(other.name().into())),
    })
}
