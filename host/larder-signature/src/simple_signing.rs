//! The simple-signing format of cosign: the signed text names the digest of a manifest.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::certificate_annotations::CertificateAnnotations;
use crate::cryptography::{digest_text, sha256};
use crate::evidence::{Evidence, KeySignature, from_base64};

/// What cosign writes as the type.
const TYPE: &str = "cosign container image signature";

/// A layer of the manifest at the tag `sha256-….sig`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimpleSigning {
    /// The signed text: the content of the layer.
    pub payload: Bytes,
    /// Its signature in base64: the annotation `dev.cosignproject.cosign/signature`.
    pub signature: String,
    /// The certificate of the signer, if there is no key.
    pub certificate: Option<CertificateAnnotations>,
}

/// The signed text.
#[derive(Serialize, Deserialize)]
struct Payload {
    critical: Critical,
    optional: Option<serde_json::Value>,
}

#[derive(Serialize, Deserialize)]
struct Critical {
    identity: DockerIdentity,
    image: Image,
    r#type: String,
}

#[derive(Serialize, Deserialize)]
struct DockerIdentity {
    #[serde(rename = "docker-reference")]
    reference: String,
}

#[derive(Serialize, Deserialize)]
struct Image {
    #[serde(rename = "docker-manifest-digest")]
    digest: String,
}

/// Returns the text that is signed for a manifest.
pub(crate) fn payload(reference: &str, manifest_digest: &str) -> Bytes {
    let critical = Critical {
        identity: DockerIdentity { reference: reference.into() },
        image: Image { digest: manifest_digest.into() },
        r#type: TYPE.into(),
    };
    // Cannot fail: there are only strings.
    serde_json::to_vec(&Payload { critical, optional: None }).unwrap_or_default().into()
}

impl SimpleSigning {
    /// Returns what has to be verified. The subject is the manifest.
    pub(crate) fn evidence(&self, subject: &Bytes) -> Result<Evidence, String> {
        let payload: Payload = serde_json::from_slice(&self.payload)
            .map_err(|error| format!("it is not a simple-signing payload: {error}"))?;
        if payload.critical.r#type != TYPE {
            return Err("it is not a signature of cosign".into());
        }
        if payload.critical.image.digest != digest_text(&sha256(subject)) {
            return Err(format!("it signs {}", shortened(&payload.critical.image.digest)));
        }
        let signature = from_base64(self.signature.as_bytes()).ok_or("it is not a signature in base64")?;
        match &self.certificate {
            None => Ok(Evidence::Key(KeySignature { message: self.payload.clone(), signature })),
            Some(certificate) => {
                let bundle = certificate.bundle_of_message(&self.payload, &signature)?;
                Ok(Evidence::Certificate(self.payload.clone(), Box::new(bundle)))
            }
        }
    }
}

fn shortened(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).take(80).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_payload_has_the_format_of_cosign() {
        let text = payload("registry.example.com/team/wiki", "sha256:00");
        let expected = r#"{"critical":{"identity":{"docker-reference":"registry.example.com/team/wiki"},"image":{"docker-manifest-digest":"sha256:00"},"type":"cosign container image signature"},"optional":null}"#;
        assert_eq!(text, expected.as_bytes());
    }
}
