//! The unsigned documents among the attachments of an image: bills of materials, and statements about its origin.

use larder_model::name::Digest;
use larder_signature::layer;
use oci_client::manifest::OciDescriptor;
use serde_json::Value;

use crate::attachments::MAX_ATTACHMENT;
use crate::component::digest_of;
use crate::{Attachment, Error, Store};

/// The media type of a statement about an image.
const STATEMENT: &str = "application/vnd.in-toto+json";
/// The annotation with the type of a statement.
const PREDICATE_TYPE: &str = "in-toto.io/predicate-type";
/// Texts in the type of a document, in small letters. A type must contain one of them.
const KINDS: [&str; 4] = ["spdx", "cyclonedx", "syft", "in-toto"];
/// The maximum length of a type or a digest that is shown, in characters.
const MAX_TEXT: usize = 200;

/// An unsigned attached document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// The type of the document: the type of a statement, such as `https://slsa.dev/provenance/v1`, or a media type.
    pub document_type: String,
    /// The digest of the document's content.
    pub digest: String,
    /// The size in bytes, according to the manifest.
    pub size: u64,
}

impl Store {
    /// Returns the unsigned documents that are attached to the image with this manifest: SPDX, CycloneDX, Syft and
    /// in-toto. Blocks the calling thread.
    pub fn documents(&self, manifest: &Digest) -> Result<Vec<Document>, Error> {
        let attachments = self.attachments(manifest)?;
        let all = attachments
            .iter()
            .flat_map(|it| it.manifest.layers.iter().map(move |layer| (it, layer)));
        let documents = all.filter(|(attachment, layer)| is_document(attachment, layer));
        Ok(documents
            .map(|(attachment, layer)| self.document(attachment, layer))
            .collect())
    }

    fn document(&self, attachment: &Attachment, descriptor: &OciDescriptor) -> Document {
        let artifact_type = || attachment.manifest.artifact_type.clone();
        let media_type = || descriptor.media_type.clone();
        let document_type = self
            .predicate_type(attachment, descriptor)
            .or_else(artifact_type);
        Document {
            document_type: shortened(&document_type.unwrap_or_else(media_type)),
            digest: shortened(&descriptor.digest),
            size: u64::try_from(descriptor.size).unwrap_or_default(),
        }
    }

    /// Returns the type of a statement: from the annotation, or from the content if the store has the content.
    fn predicate_type(
        &self,
        attachment: &Attachment,
        descriptor: &OciDescriptor,
    ) -> Option<String> {
        if descriptor.media_type != STATEMENT && attachment.artifact_type != STATEMENT {
            return None;
        }
        let annotation = descriptor
            .annotations
            .as_ref()
            .and_then(|it| it.get(PREDICATE_TYPE));
        annotation.cloned().or_else(|| {
            let content = self
                .read(&digest_of(descriptor).ok()?, MAX_ATTACHMENT)
                .ok()?;
            let statement: Value = serde_json::from_slice(&content).ok()?;
            statement["predicateType"].as_str().map(ToOwned::to_owned)
        })
    }
}

fn is_document(attachment: &Attachment, descriptor: &OciDescriptor) -> bool {
    let types = [&attachment.artifact_type, &descriptor.media_type].map(|text| text.to_lowercase());
    let is_known = types
        .iter()
        .any(|text| KINDS.iter().any(|kind| text.contains(kind)));
    is_known && !layer::is_signature(&descriptor.media_type)
}

fn shortened(text: &str) -> String {
    text.chars().take(MAX_TEXT).collect()
}
