//! What is attached to an image: signatures, bills of materials, and statements about its origin. Attachments are
//! images too, and their manifests refer to the image.

use bytes::Bytes;
use larder_model::name::Digest;
use oci_client::manifest::OciImageManifest;

use crate::component::MAX_MANIFEST;
use crate::{Error, Store};

/// The maximum number of attachments of an image.
pub(crate) const MAX_ATTACHMENTS: usize = 64;
/// The maximum size of one layer of an attachment, in bytes.
pub(crate) const MAX_ATTACHMENT: u64 = 16 << 20;

/// One attachment of an image, in the store.
#[derive(Debug, Clone)]
pub struct Attachment {
    /// The digest of the attachment's manifest.
    pub digest: Digest,
    /// The type of the attachment, such as `application/vnd.dev.sigstore.bundle.v0.3+json`, or the media type of its
    /// configuration.
    pub artifact_type: String,
    /// The manifest of the attachment. Layers up to 16 MiB are in the store too.
    pub manifest: OciImageManifest,
    /// The bytes of the manifest that were signed or pushed.
    pub bytes: Bytes,
}

impl Attachment {
    pub(crate) fn parse(bytes: Bytes) -> Result<Self, String> {
        let manifest: OciImageManifest = serde_json::from_slice(&bytes)
            .map_err(|error| format!("the manifest of an attachment cannot be read: {error}"))?;
        let artifact_type = manifest.artifact_type.clone();
        let artifact_type = artifact_type.unwrap_or_else(|| manifest.config.media_type.clone());
        Ok(Self {
            digest: Digest::of(&bytes),
            artifact_type,
            manifest,
            bytes,
        })
    }
}

impl Store {
    /// Returns the attachments of the image with this manifest that existed when the image was pulled.
    pub fn attachments(&self, manifest: &Digest) -> Result<Vec<Attachment>, Error> {
        let found = self
            .attachment_digests(manifest)?
            .into_iter()
            .map(|digest| {
                let attachment = Attachment::parse(self.read(&digest, MAX_MANIFEST)?);
                attachment.map_err(|cause| Error::invalid(format!("sha256:{digest}"), cause))
            });
        found.collect()
    }
}
