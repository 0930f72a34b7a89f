//! Uploads to a registry: components in the CNCF layout for Wasm artifacts, and signatures.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream;
use larder_model::name::Digest;
use oci_client::RegistryOperation;
use oci_client::errors::OciDistributionError;
use reqwest::header::HeaderValue;
use serde_json::{Value, json};

use crate::{Client, Error, Image, Progress, WASM_CONFIG_MEDIA_TYPE, WASM_LAYER_MEDIA_TYPE};

const MANIFEST_MEDIA_TYPE: &str = "application/vnd.oci.image.manifest.v1+json";
/// The bytes that are sent in one request.
const PIECE: usize = 1 << 20;

/// Uploads to one repository.
pub struct Upload {
    client: oci_client::Client,
    image: Image,
    progress: Arc<dyn Progress>,
}

/// What a component imports and exports, for the configuration of its image.
#[derive(Debug, Clone, Default)]
pub struct Interfaces {
    /// The names of the imports.
    pub imports: Vec<String>,
    /// The names of the exports.
    pub exports: Vec<String>,
}

impl Upload {
    /// Logs in to the registry of the image, below whose tag a component or a signature is uploaded.
    pub async fn new(client: &Client, image: &Image, progress: Arc<dyn Progress>) -> Result<Self, Error> {
        let upload = Self { client: client.pusher(&image.registry)?, image: image.clone(), progress };
        let credentials = client.push_credentials(&image.registry).await?;
        let authenticated = upload.client.auth(&image.to_oci(), &credentials, RegistryOperation::Push).await;
        authenticated.map_err(|error| upload.error(error))?;
        Ok(upload)
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
        self.manifest(manifest.to_string().into(), MANIFEST_MEDIA_TYPE).await
    }

    /// Uploads a blob, unless the repository has it already.
    pub async fn blob(&self, blob: Bytes) -> Result<(), Error> {
        let (digest, reference) = (Digest::of(&blob), self.image.to_oci());
        let text = format!("sha256:{digest}");
        if self.client.blob_exists(&reference, &text).await.map_err(|error| self.error(error))? {
            return Ok(());
        }
        self.progress.started(&digest, blob.len() as u64);
        let pieces = self.pieces(digest, blob.clone());
        let pushed = match self.client.push_blob_stream(&reference, pieces, &text, None).await {
            // Some registries accept only one request.
            Err(OciDistributionError::SpecViolationError(_)) => {
                self.client.push_blob(&reference, blob, &text).await
            }
            pushed => pushed,
        };
        self.progress.finished(&digest);
        pushed.map(drop).map_err(|error| self.error(error))
    }

    fn pieces(
        &self,
        digest: Digest,
        blob: Bytes,
    ) -> impl stream::Stream<Item = Result<Bytes, OciDistributionError>> + Send + 'static {
        let progress = self.progress.clone();
        stream::unfold((blob, 0), move |(mut rest, sent): (Bytes, u64)| {
            progress.advanced(&digest, sent);
            let piece = rest.split_to(rest.len().min(PIECE));
            let size = piece.len() as u64;
            std::future::ready((size > 0).then_some((Ok(piece), (rest, size))))
        })
    }

    /// Uploads a manifest below the tag of the image. What it refers to is there already.
    pub async fn manifest(&self, manifest: Bytes, media_type: &str) -> Result<Digest, Error> {
        let digest = Digest::of(&manifest);
        let kind = HeaderValue::from_str(media_type).map_err(|error| self.invalid(&error.to_string()))?;
        let pushed = self.client.push_manifest_raw(&self.image.to_oci(), manifest, kind).await;
        pushed.map(|_| digest).map_err(|error| self.error(error))
    }

    fn invalid(&self, cause: &str) -> Error {
        Error::Invalid { reference: self.image.to_string(), cause: cause.to_owned() }
    }

    fn error(&self, error: OciDistributionError) -> Error {
        let Image { registry, repository, .. } = &self.image;
        let refused = |cause: String| Error::Refused {
            registry: registry.clone(),
            repository: repository.clone(),
            cause,
        };
        let log_in =
            format!("log in with `docker login {registry}`, or configure credentials for the registry");
        match error {
            OciDistributionError::UnauthorizedError { .. } => refused(log_in),
            OciDistributionError::AuthenticationFailure(_) => {
                refused(format!("the credentials are not accepted: {log_in}"))
            }
            OciDistributionError::RegistryError { envelope, .. } => refused(envelope.to_string()),
            OciDistributionError::RequestError(error) => {
                let cause = std::error::Error::source(&error).map_or_else(|| error.to_string(), innermost);
                Error::Unavailable { registry: registry.clone(), cause }
            }
            OciDistributionError::ServerError { code, .. } => {
                Error::Unavailable { registry: registry.clone(), cause: format!("it answered with {code}") }
            }
            other => self.invalid(&other.to_string()),
        }
    }
}

/// Returns the text of the first cause, which has no URL.
fn innermost(mut error: &(dyn std::error::Error + 'static)) -> String {
    while let Some(cause) = error.source() {
        error = cause;
    }
    error.to_string()
}

fn descriptor(media_type: &str, content: &[u8]) -> Value {
    let digest = format!("sha256:{}", Digest::of(content));
    json!({ "mediaType": media_type, "size": content.len(), "digest": digest })
}

/// Returns the configuration of the image.
fn configuration(component: &[u8], Interfaces { imports, exports }: &Interfaces) -> Value {
    json!({
        // The current time would give each upload another digest.
        "created": "1970-01-01T00:00:00Z",
        "architecture": "wasm",
        "os": "wasip2",
        "layerDigests": [format!("sha256:{}", Digest::of(component))],
        "component": { "imports": imports, "exports": exports },
    })
}
