//! Verifies the signatures of an artifact when it is loaded. Artifacts from files and from registries are handled in
//! the same way.

use std::sync::Arc;

use bytes::Bytes;

use super::super::desired_state::DesiredComponent;
use super::Loader;
use super::component::IdentifiedComponent;
use crate::source::{Signatures, SignedSubject};
use larder_model::signature::{SignatureRejection, Signer};
use larder_provider::LoadError;

impl Loader {
    /// Returns the trusted signers of an artifact. Fails if a signer is required and missing.
    pub(super) async fn verify_signatures(
        &self,
        desired: &DesiredComponent,
        component: &IdentifiedComponent,
    ) -> Result<Vec<Signer>, LoadError> {
        if desired.trust.0.is_empty() {
            return Ok(Vec::new());
        }
        let trust = Arc::clone(&desired.trust.0);
        let signatures = desired.artifact.signatures.clone();
        let subject = subject(&signatures, component);
        let verify = move || trust.verify(&subject, &signatures.read());
        // The error contains the number of the task, so each attempt would be logged as a new rejection.
        let verified = self
            .threads
            .run(verify)
            .await
            .map_err(|_| not_completed())?;
        let signers = verified.map_err(|error| untrusted(&error))?;
        for signer in &signers {
            tracing::info!(component = desired.artifact.origin, %signer, "the signature is valid");
        }
        Ok(signers)
    }
}

fn not_completed() -> LoadError {
    LoadError::Verification {
        reason: "it panicked; see the log".into(),
        is_temporary: true,
    }
}

fn untrusted(error: &SignatureRejection) -> LoadError {
    LoadError::Verification {
        reason: error.to_string(),
        is_temporary: error.is_temporary(),
    }
}

/// Returns what was signed. Without signatures this is not needed, and the component may not have been read.
fn subject(signatures: &Signatures, component: &IdentifiedComponent) -> Bytes {
    match (&signatures.subject, component) {
        (SignedSubject::Manifest(manifest), _) => manifest.clone(),
        (SignedSubject::Component, IdentifiedComponent::Read(hashed)) => hashed.bytes().clone(),
        (SignedSubject::Component, IdentifiedComponent::Cached(_))
        | (SignedSubject::Program, _) => Bytes::new(),
    }
}
