//! The evidence of a signature that was found beside a component or in a registry.

use bytes::Bytes;
use sigstore_verify::types::Bundle;

use crate::evidence::{Evidence, from_base64};
use crate::{bundle, certificate_annotations, simple_signing};
use larder_model::signature::Signature;

/// A signature that has evidence.
pub(crate) trait Evident {
    /// Returns the evidence that proves, if it is verified, that this is a signature of the subject. The error says why
    /// it is not a signature of the subject. The error does not depend on the signer.
    fn evidence(&self, subject: &Bytes) -> Result<Evidence, String>;

    /// Returns the bundle that can contain a statement.
    fn bundle(&self) -> Result<Bundle, String>;
}

impl Evident for Signature {
    fn evidence(&self, subject: &Bytes) -> Result<Evidence, String> {
        match self {
            Self::Detached(text) => {
                let signature = from_base64(text).ok_or("it is not a signature in base64")?;
                Ok(Evidence::of_key(subject.clone(), signature))
            }
            Self::SimpleSigning(simple) => simple_signing::evidence(simple, subject),
            Self::Bundle(_) | Self::Envelope { .. } => {
                let bundle = self.bundle()?;
                bundle::check_is_signature(&bundle)?;
                bundle::evidence(bundle, subject)
            }
        }
    }

    fn bundle(&self) -> Result<Bundle, String> {
        match self {
            Self::Bundle(json) => bundle::parse(json),
            Self::Envelope {
                content,
                certificate,
            } => {
                let envelope = serde_json::from_slice(content)
                    .map_err(|error| format!("it is not an envelope with a statement: {error}"))?;
                match certificate {
                    Some(certificate) => {
                        certificate_annotations::bundle(certificate, "dsseEnvelope", envelope)
                    }
                    None => bundle::of_key(envelope),
                }
            }
            Self::Detached(_) | Self::SimpleSigning(_) => Err("it contains no statement".into()),
        }
    }
}
