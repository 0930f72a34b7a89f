//! Uploads to a registry: components in the CNCF layout for Wasm artifacts, and signatures.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use larder_model::name::Digest;
use serde_json::{Value, json};

use crate::{Client, Error, Image, Progress, WASM_CONFIG_MEDIA_TYPE, WASM_LAYER_MEDIA_TYPE};

const MANIFEST_MEDIA_TYPE: &str = "application/vnd.oci.image.manifest.v1+json";

/// Uploads to one repository.
pub struct Upload {
    client: Client,
    image: Image,
    progress: Arc<dyn Progress>,
}

/// The imports and exports of a component, for the configuration of its image.
#[derive(Debug, Clone, Default)]
pub struct Interfaces {
    /// The names of the imports.
    pub imports: Vec<String>,
    /// The names of the exports.
    pub exports: Vec<String>,
}

impl Upload {
    /// Uploads to the repository of the image. A component or a signature is uploaded under the tag of the image.
    pub fn new(client: &Client, image: &Image, progress: Arc<dyn Progress>) -> Self {
        Self {
            client: client.clone(),
            image: image.clone(),
            progress,
        }
    }

    /// Uploads a component with its annotations. The same content always gets the same digest.
    pub async fn component(
        &self,
        file: &str,
        component: Bytes,
        interfaces: &Interfaces,
        annotations: &BTreeMap<String, String>,
    ) -> Result<Digest, Error> {
        let config: Bytes = configuration(&component, interfaces).to_string().into();
        let mut layer = descriptor(WASM_LAYER_MEDIA_TYPE, &component);
        layer["annotations"] = json!({ "org.opencontainers.image.title": file });
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST_MEDIA_TYPE,
            "config": descriptor(WASM_CONFIG_MEDIA_TYPE, &config),
            "layers": [layer],
            "annotations": annotations,
        });
        self.blob(component).await?;
        self.blob(config).await?;
        self.manifest(manifest.to_string().into(), MANIFEST_MEDIA_TYPE)
            .await
    }

    /// Uploads a blob, unless the repository already has the blob.
    pub async fn blob(&self, blob: Bytes) -> Result<(), Error> {
        self.client
            .push_blob(&self.image, blob, self.progress.clone())
            .await
    }

    /// Uploads a manifest under the tag of the image. The content to which it refers is already uploaded.
    pub async fn manifest(&self, manifest: Bytes, media_type: &str) -> Result<Digest, Error> {
        let tag = self.image.version.in_url();
        self.client
            .push_manifest(&self.image, &tag, &manifest, media_type)
            .await?;
        Ok(Digest::of(&manifest))
    }
}

fn descriptor(media_type: &str, content: &[u8]) -> Value {
    let digest = format!("sha256:{}", Digest::of(content));
    json!({ "mediaType": media_type, "size": content.len(), "digest": digest })
}

/// Returns the configuration of the image.
fn configuration(component: &[u8], Interfaces { imports, exports }: &Interfaces) -> Value {
    json!({
        // With the current time, each upload would have a different digest.
        "created": "1970-01-01T00:00:00Z",
        "architecture": "wasm",
        "os": "wasip2",
        "layerDigests": [format!("sha256:{}", Digest::of(component))],
        "component": { "imports": imports, "exports": exports },
    })
}
