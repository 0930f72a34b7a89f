//! A signature that was found beside a component or in a registry, before it is verified.

use bytes::Bytes;
use sigstore_verify::types::Bundle;

use crate::bundle;
use crate::certificate_annotations::CertificateAnnotations;
use crate::evidence::{Evidence, KeySignature, from_base64};
use crate::reason::Reason;
use crate::simple_signing::SimpleSigning;

/// A signature, before it is verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signature {
    /// The signature of a file in base64, as `cosign sign-blob` prints it: `NAME.wasm.sig`.
    Detached(Bytes),
    /// A layer below the tag `sha256-….sig`: the signature of a text that contains the digest of a manifest.
    SimpleSigning(Box<SimpleSigning>),
    /// A Sigstore bundle: `NAME.wasm.sigstore.json`, or a referrer of a manifest.
    Bundle(Bytes),
    /// A layer below the tag `sha256-….att`: a statement about a manifest, as cosign stored it before there were bundles.
    Envelope {
        /// The envelope (DSSE): the content of the layer.
        content: Bytes,
        /// The certificate of the signer, if there is no key.
        certificate: Option<Box<CertificateAnnotations>>,
    },
}

/// A signature, and where it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundSignature {
    /// Where it was found, for people: a file name, or a digest in a registry.
    pub origin: String,
    /// The signature, or why it cannot be read.
    pub signature: Result<Signature, Reason>,
}

impl Signature {
    /// Determines what has to be verified so that this is a signature of the subject. An error says why it is not a
    /// signature of the subject, whoever made it.
    pub(crate) fn evidence(&self, subject: &Bytes) -> Result<Evidence, String> {
        match self {
            Self::Detached(text) => {
                let signature = from_base64(text).ok_or("it is not a signature in base64")?;
                Ok(Evidence::Key(KeySignature { message: subject.clone(), signature }))
            }
            Self::SimpleSigning(simple) => simple.evidence(subject),
            Self::Bundle(_) | Self::Envelope { .. } => {
                let bundle = self.bundle()?;
                bundle::check_is_signature(&bundle)?;
                bundle::evidence(bundle, subject)
            }
        }
    }

    /// Returns the bundle that can contain a statement.
    pub(crate) fn bundle(&self) -> Result<Bundle, String> {
        match self {
            Self::Bundle(json) => bundle::parse(json),
            Self::Envelope { content, certificate } => {
                let envelope = serde_json::from_slice(content)
                    .map_err(|error| format!("it is not an envelope with a statement: {error}"))?;
                match certificate {
                    Some(certificate) => certificate.bundle("dsseEnvelope", envelope),
                    None => bundle::of_key(envelope),
                }
            }
            Self::Detached(_) | Self::SimpleSigning(_) => Err("it contains no statement".into()),
        }
    }
}
