//! A certificate authority, logs and signers, for tests. They work like the services of Sigstore.

mod authority;
mod certificate;
mod log;
mod recipe;
mod signer;
mod timestamps;

pub use self::authority::Authority;
pub use self::recipe::{Content, Recipe};
pub use self::signer::Signer;
pub use self::timestamps::TimestampAuthority;

/// Returns base64.
pub(crate) fn base64(bytes: impl AsRef<[u8]>) -> String {
    base64_simd::STANDARD.encode_to_string(bytes)
}

/// Returns a certificate in PEM, with the line ends that Sigstore writes.
pub(crate) fn certificate_pem(der: &[u8]) -> String {
    let config = pem::EncodeConfig::new().set_line_ending(pem::LineEnding::LF);
    pem::encode_config(&pem::Pem::new("CERTIFICATE", der), config)
}

/// Returns the time in seconds since 1970.
pub(crate) fn now() -> i64 {
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    i64::try_from(now.as_secs()).unwrap()
}
