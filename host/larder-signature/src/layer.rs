//! The location of signatures: files beside a component, and tags, media types and annotations in a registry.

use bytes::Bytes;
use serde_json::{Value, json};

use crate::cryptography::{digest_text, sha256};

/// The annotation with the signature of a layer in the simple-signing format.
pub const SIGNATURE: &str = "dev.cosignproject.cosign/signature";
/// The annotation with the certificate of the signer.
pub const CERTIFICATE: &str = "dev.sigstore.cosign/certificate";
/// The annotation with the certificates of its issuers.
pub const CHAIN: &str = "dev.sigstore.cosign/chain";
/// The annotation with the entry of a log.
pub const LOG_ENTRY: &str = "dev.sigstore.cosign/bundle";
/// The annotation with a timestamp.
pub const TIMESTAMP: &str = "dev.sigstore.cosign/rfc3161timestamp";
const SIMPLE_SIGNING: &str = "application/vnd.dev.cosign.simplesigning.v1+json";
const ENVELOPE: &str = "application/vnd.dsse.envelope.v1+json";
const BUNDLE: &str = "application/vnd.dev.sigstore.bundle";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";

/// Returns whether a layer with this media type is a signature or a statement.
pub fn is_signature(media_type: &str) -> bool {
    media_type == SIMPLE_SIGNING || is_bundle(media_type) || is_envelope(media_type)
}

/// Returns whether a layer with this media type is an envelope with a statement.
pub fn is_envelope(media_type: &str) -> bool {
    media_type == ENVELOPE
}

/// Returns whether a layer with this media type is a Sigstore bundle.
pub fn is_bundle(media_type: &str) -> bool {
    media_type.starts_with(BUNDLE)
}

/// Returns the tag under which cosign stores data about a manifest: `.sig` for signatures, `.att` for attestations, and
/// an empty suffix for the referrers in registries without the referrers API.
pub fn tag(manifest_digest: &str, suffix: &str) -> String {
    manifest_digest.replacen(':', "-", 1) + suffix
}

/// The manifest that cosign stores under the tag `sha256-….sig`, and the blobs that must be uploaded before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignatureManifest {
    /// The tag.
    pub tag: String,
    /// The media type of the manifest.
    pub media_type: String,
    /// The manifest.
    pub manifest: Bytes,
    /// The blobs to be uploaded first, with their digests.
    pub blobs: Vec<(String, Bytes)>,
}

impl SignatureManifest {
    /// Creates the manifest with a signed payload. The layers of the existing manifest are kept.
    pub(crate) fn new(
        manifest_digest: &str,
        payload: Bytes,
        signature: &str,
        existing: Option<&[u8]>,
    ) -> Result<Self, String> {
        let existing: Option<Value> =
            existing
                .map(serde_json::from_slice)
                .transpose()
                .map_err(|error| {
                    format!(
                        "the signatures that are in the registry already cannot be read: {error}"
                    )
                })?;
        let mut layers = match existing
            .as_ref()
            .map(|manifest| manifest["layers"].as_array())
        {
            None => Vec::new(),
            Some(Some(layers)) => layers.clone(),
            Some(None) => {
                return Err(
                    "the signatures that are in the registry already have no layers".into(),
                );
            }
        };
        layers.push(signed_layer(&payload, signature));
        let config = config(&layers);
        let manifest = manifest(&config, &layers);
        let blobs = [payload, config]
            .map(|blob| (digest_text(&sha256(&blob)), blob))
            .to_vec();
        Ok(Self {
            tag: tag(manifest_digest, ".sig"),
            media_type: MANIFEST.into(),
            manifest: manifest.to_string().into(),
            blobs,
        })
    }
}

fn descriptor(media_type: &str, content: &[u8]) -> Value {
    json!({ "mediaType": media_type, "size": content.len(), "digest": digest_text(&sha256(content)) })
}

fn signed_layer(payload: &Bytes, signature: &str) -> Value {
    let mut layer = descriptor(SIMPLE_SIGNING, payload);
    layer["annotations"] = json!({ SIGNATURE: signature });
    layer
}

fn manifest(config: &Bytes, layers: &[Value]) -> Value {
    json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": descriptor(CONFIG, config),
        "layers": layers,
    })
}

/// Returns the configuration of the image. cosign writes a configuration although it is not used.
fn config(layers: &[Value]) -> Bytes {
    let digests: Vec<_> = layers.iter().map(|layer| layer["digest"].clone()).collect();
    let never = "0001-01-01T00:00:00Z";
    let config = json!({
        "architecture": "",
        "created": never,
        "history": vec![json!({ "created": never }); layers.len()],
        "os": "",
        "rootfs": { "type": "layers", "diff_ids": digests },
        "config": {},
    });
    config.to_string().into()
}
