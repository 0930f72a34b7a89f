//! The simple-signing format of cosign: the signed text names the digest of a manifest.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::certificate_annotations::bundle_of_message;
use crate::cryptography::{digest_text, sha256};
use crate::evidence::{Evidence, from_base64};
use larder_model::signature::SimpleSigning;

/// The type that cosign writes.
const TYPE: &str = "cosign container image signature";

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

/// Returns the signed text for a manifest.
pub(crate) fn payload(reference: &str, manifest_digest: &str) -> Bytes {
    let critical = Critical {
        identity: DockerIdentity {
            reference: reference.into(),
        },
        image: Image {
            digest: manifest_digest.into(),
        },
        r#type: TYPE.into(),
    };
    // This cannot fail, because all values are strings.
    serde_json::to_vec(&Payload {
        critical,
        optional: None,
    })
    .unwrap_or_default()
    .into()
}

/// Returns the evidence. The subject is the manifest.
pub(crate) fn evidence(signed: &SimpleSigning, subject: &Bytes) -> Result<Evidence, String> {
    let payload: Payload = serde_json::from_slice(&signed.payload)
        .map_err(|error| format!("it is not a simple-signing payload: {error}"))?;
    if payload.critical.r#type != TYPE {
        return Err("it is not a signature of cosign".into());
    }
    if payload.critical.image.digest != digest_text(&sha256(subject)) {
        return Err(format!(
            "it signs {}",
            shortened(&payload.critical.image.digest)
        ));
    }
    let signature =
        from_base64(signed.signature.as_bytes()).ok_or("it is not a signature in base64")?;
    match &signed.certificate {
        None => Ok(Evidence::of_key(signed.payload.clone(), signature)),
        Some(certificate) => {
            let bundle = bundle_of_message(certificate, &signed.payload, &signature)?;
            Ok(Evidence::Certificate(
                signed.payload.clone(),
                Box::new(bundle),
            ))
        }
    }
}

fn shortened(text: &str) -> String {
    text.chars()
        .filter(|letter| !letter.is_control())
        .take(80)
        .collect()
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
