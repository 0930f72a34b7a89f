//! The operator's trust in signers, in the form that the code which loads components needs.

use std::any::Any;
use std::fmt;

use bytes::Bytes;

use super::{Attestation, FoundSignature, Reason, Signer};

/// The operator's trust in signers.
pub trait SignatureVerifier: Any + fmt::Debug + Send + Sync {
    /// Returns whether there are no rules: no signer is trusted, and no signature is required.
    fn is_empty(&self) -> bool;

    /// Returns whether a component without a trusted signature is rejected.
    fn is_required(&self) -> bool;

    /// Returns the trusted signers of a subject: the component, or the manifest that names its digest. Fails if a
    /// signer is required and missing. Blocks the calling thread.
    fn verify(
        &self,
        subject: &Bytes,
        found: &[FoundSignature],
    ) -> Result<Vec<Signer>, SignatureRejection>;

    /// Returns the statement in a signature about this subject, with its signer, if it contains one.
    fn attestation(&self, subject: &Bytes, found: &FoundSignature) -> Option<Attestation>;

    /// Returns whether a component with these signers may still be served.
    fn still_trusts(&self, signers: &[Signer]) -> bool;

    /// Returns whether the other verifier has the same rules.
    fn is_same(&self, other: &dyn SignatureVerifier) -> bool;
}

/// Why a component is rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignatureRejection {
    /// The rule that is not fulfilled, for people.
    pub rule: String,
    /// Why the signatures that were found are not trusted.
    pub reasons: Vec<Reason>,
}

/// Trusts no signer, and requires no signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoVerification;

impl SignatureVerifier for NoVerification {
    fn is_empty(&self) -> bool {
        true
    }

    fn is_required(&self) -> bool {
        false
    }

    fn verify(&self, _: &Bytes, _: &[FoundSignature]) -> Result<Vec<Signer>, SignatureRejection> {
        Ok(Vec::new())
    }

    fn attestation(&self, _: &Bytes, _: &FoundSignature) -> Option<Attestation> {
        None
    }

    fn still_trusts(&self, _: &[Signer]) -> bool {
        true
    }

    fn is_same(&self, other: &dyn SignatureVerifier) -> bool {
        (other as &dyn Any).is::<Self>()
    }
}

impl fmt::Display for SignatureRejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, reasons } = self;
        match reasons.as_slice() {
            [] => write!(f, "it is not signed, and {rule} requires a signature"),
            reasons => {
                let reasons: Vec<_> = reasons.iter().map(ToString::to_string).collect();
                write!(
                    f,
                    "{rule} requires a signature, and no signature is trusted: {}",
                    reasons.join("; ")
                )
            }
        }
    }
}

impl std::error::Error for SignatureRejection {}

impl SignatureRejection {
    /// Returns whether a later verification of the same signatures may succeed.
    pub fn is_temporary(&self) -> bool {
        self.reasons.iter().any(Reason::is_temporary)
    }
}
