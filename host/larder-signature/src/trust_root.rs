//! The trust root: a file `trusted_root.json` with the certificate authorities, logs and timestamp authorities whose
//! certificates and entries are accepted.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use sigstore_verify::crypto::CertificateInfo;
use sigstore_verify::trust_root::TrustedRoot;
use sigstore_verify::types::Bundle;
use sigstore_verify::{Error, TransparencyLogError, VerificationPolicy, Verifier};

use crate::cryptography::{install, sha256, with_message};
use larder_model::signature::Reason;

/// The trust root of an operator.
#[derive(Clone)]
pub struct TrustRoot {
    verifier: Arc<Verifier>,
    policy: VerificationPolicy,
    digest: [u8; 32],
}

/// Why a trust root cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TrustRootError {
    /// The text cannot be parsed.
    #[error("it is not a trust root of Sigstore (trusted_root.json): {0}")]
    Invalid(String),
    /// The trust root has no authority that issues certificates.
    #[error("it contains no certificate authority")]
    NoAuthority,
    /// The trust root has nothing that proves when a subject was signed.
    #[error(
        "it contains neither a transparency log nor a timestamp authority: nothing says when something was signed"
    )]
    NoTime,
}

impl TrustRoot {
    /// Parses a trust root. Its content determines the requirements on a signature: if it contains transparency logs,
    /// an entry in a log is required. If it contains logs of certificates, a timestamp in the certificate is required.
    pub fn from_json(text: &str) -> Result<Self, TrustRootError> {
        install();
        let invalid = |error: &dyn fmt::Display| TrustRootError::Invalid(error.to_string());
        let root = TrustedRoot::from_json(text).map_err(|error| invalid(&error))?;
        if root.certificate_authorities.is_empty() {
            return Err(TrustRootError::NoAuthority);
        }
        if root.tlogs.is_empty() && root.timestamp_authorities.is_empty() {
            return Err(TrustRootError::NoTime);
        }
        let mut policy = VerificationPolicy::any_identity();
        if root.tlogs.is_empty() {
            policy = policy.skip_tlog_unsafe();
        }
        if root.ctlogs.is_empty() {
            policy = policy.skip_sct();
        }
        let verifier = Verifier::new(&root).map_err(|error| invalid(&error))?;
        Ok(Self {
            verifier: Arc::new(verifier),
            policy,
            digest: sha256(text.as_bytes()),
        })
    }

    /// Returns the digest of the file.
    pub(crate) fn digest(&self) -> [u8; 32] {
        self.digest
    }

    /// Verifies all properties of a bundle except the identity of the signer. Returns the identity in the certificate
    /// and the issuer of the identity.
    pub(crate) fn verify(
        &self,
        message: &Bytes,
        bundle: &Bundle,
    ) -> Result<(String, String), Reason> {
        let began = SystemTime::now();
        let verified = with_message(message, || {
            self.verifier.verify(&**message, bundle, &self.policy)
        });
        let verified = verified.map_err(|error| reason(&error, bundle, began))?;
        let claims = verified
            .certificate()
            .and_then(claims)
            .filter(|_| verified.certificate_verified());
        claims.ok_or_else(|| "the certificate has no identity or no issuer".into())
    }
}

/// Returns why a bundle was not accepted by a verification that began at this time. An entry that is in the future
/// according to the local clock is accepted later. The text of the error contains the current time, so it is replaced.
fn reason(error: &Error, bundle: &Bundle, began: SystemTime) -> Reason {
    let is_about_time = matches!(
        error,
        Error::TransparencyLog(TransparencyLogError::IntegratedTime(_))
    );
    let entries = bundle
        .verification_material
        .tlog_entries
        .iter()
        .filter(|_| is_about_time);
    // Only a promise proves the time of an entry.
    let promised = entries.filter(|entry| entry.inclusion_promise.is_some());
    let last = promised.filter_map(|entry| entry.integrated_time).max();
    match last.filter(|time| SystemTime::from(*time) > began) {
        Some(time) => Reason::temporary(format!(
            "it was logged at {time}, which is in the future for the clock of this machine"
        )),
        None => error.to_string().into(),
    }
}

fn claims(certificate: &CertificateInfo) -> Option<(String, String)> {
    Some((
        certificate.identity.as_ref()?.as_str().to_owned(),
        certificate.issuer.clone()?,
    ))
}

impl PartialEq for TrustRoot {
    fn eq(&self, other: &Self) -> bool {
        self.digest == other.digest
    }
}

impl Eq for TrustRoot {}

impl fmt::Debug for TrustRoot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&crate::cryptography::digest_text(&self.digest))
    }
}
