//! An image of a component, in the CNCF layout for Wasm artifacts: a manifest with one layer, which is the component.

use std::collections::BTreeMap;

use larder_model::name::Digest;
use oci_client::manifest::{OciDescriptor, OciImageManifest};

use crate::{Error, Store, StoreError};

/// The media type of a component.
pub const WASM_LAYER_MEDIA_TYPE: &str = "application/wasm";
/// The media type of the configuration of an image with a component.
pub const WASM_CONFIG_MEDIA_TYPE: &str = "application/vnd.wasm.config.v0+json";
/// The annotation with the content of `NAME.toml`, which has the grants that the component requests. An annotation is
/// used because an image has only one layer.
pub const GRANT_REQUEST_ANNOTATION: &str = "larder.provider.grant-request";

/// The media type that older tools use for components.
const OLD_LAYER_MEDIA_TYPE: &str = "application/vnd.wasm.content.layer.v1+wasm";
/// The maximum size of a manifest, in bytes.
pub(crate) const MAX_MANIFEST: u64 = 4 << 20;

/// A component in an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Component {
    /// The digest of the manifest.
    pub manifest: Digest,
    /// The digest of the component.
    pub component: Digest,
    /// The size of the component in bytes.
    pub size: u64,
    /// The annotations of the manifest: description, licences, source and others.
    pub annotations: BTreeMap<String, String>,
    /// The grants that the component requests, in the format of `NAME.toml`.
    pub grant_request: Option<String>,
}

impl Component {
    /// Returns the component of an image that is in the store.
    pub fn of(store: &Store, manifest: &Digest) -> Result<Self, Error> {
        let bytes = store.read(manifest, MAX_MANIFEST)?;
        let invalid = |cause| Error::invalid(format!("sha256:{manifest}"), cause);
        let component = Self::parse(&bytes).map_err(invalid)?;
        if store.contains(&component.component) {
            Ok(component)
        } else {
            Err(StoreError::Missing(component.component).into())
        }
    }

    /// Parses a manifest. The error says why the manifest is invalid.
    pub(crate) fn parse(manifest: &[u8]) -> Result<Self, String> {
        let parsed: OciImageManifest = serde_json::from_slice(manifest)
            .map_err(|error| format!("the manifest cannot be read: {error}"))?;
        let layer = component_layer(&parsed.layers)?;
        let annotations = parsed.annotations.unwrap_or_default();
        Ok(Self {
            manifest: Digest::of(manifest),
            component: digest_of(layer)?,
            size: size_of(layer)?,
            grant_request: annotations.get(GRANT_REQUEST_ANNOTATION).cloned(),
            annotations,
        })
    }
}

/// Returns the layer with the component.
fn component_layer(layers: &[OciDescriptor]) -> Result<&OciDescriptor, String> {
    let mut found = layers.iter().filter(|layer| is_component(layer));
    match (found.next(), found.next()) {
        (Some(layer), None) => Ok(layer),
        (Some(_), Some(_)) => Err("it has several layers with WebAssembly".into()),
        (None, _) => {
            let types: Vec<_> = layers
                .iter()
                .map(|layer| layer.media_type.as_str())
                .take(5)
                .collect();
            Err(format!(
                "it contains no WebAssembly component, but [{}]",
                types.join(", ")
            ))
        }
    }
}

fn is_component(layer: &OciDescriptor) -> bool {
    [WASM_LAYER_MEDIA_TYPE, OLD_LAYER_MEDIA_TYPE].contains(&layer.media_type.as_str())
}

pub(crate) fn digest_of(descriptor: &OciDescriptor) -> Result<Digest, String> {
    let text: String = descriptor.digest.escape_debug().take(100).collect();
    Digest::parse(&descriptor.digest)
        .map_err(|_| format!("`{text}` is not a sha256 digest, which Larder requires"))
}

pub(crate) fn size_of(descriptor: &OciDescriptor) -> Result<u64, String> {
    u64::try_from(descriptor.size).map_err(|_| "the size of a layer is negative".into())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(layers: serde_json::Value) -> Result<Component, String> {
        let config =
            json!({ "mediaType": WASM_CONFIG_MEDIA_TYPE, "digest": "sha256:0", "size": 2 });
        let annotations = json!({ GRANT_REQUEST_ANNOTATION: "hosts = []" });
        let manifest = json!({ "schemaVersion": 2, "config": config, "layers": layers, "annotations": annotations });
        Component::parse(manifest.to_string().as_bytes())
    }

    #[test]
    fn finds_the_component_in_its_layers() {
        let digest = Digest::of(b"x");
        let layer = |media_type: &str| json!({ "mediaType": media_type, "digest": format!("sha256:{digest}"), "size": 7 });
        for media_type in [WASM_LAYER_MEDIA_TYPE, OLD_LAYER_MEDIA_TYPE] {
            let component = parse(json!([layer("text/plain"), layer(media_type)])).unwrap();
            assert_eq!((component.component, component.size), (digest, 7));
            assert_eq!(component.grant_request.as_deref(), Some("hosts = []"));
        }
        for (layers, expected) in [
            (json!([]), "contains no WebAssembly component, but []"),
            (json!([layer("application/x")]), "but [application/x]"),
            (
                json!([layer(WASM_LAYER_MEDIA_TYPE), layer(WASM_LAYER_MEDIA_TYPE)]),
                "several layers",
            ),
            (
                json!([{ "mediaType": WASM_LAYER_MEDIA_TYPE, "digest": "sha512:00", "size": 1 }]),
                "not a sha256",
            ),
            (
                json!([{ "mediaType": WASM_LAYER_MEDIA_TYPE, "digest": format!("sha256:{digest}"), "size": -1 }]),
                "negative",
            ),
        ] {
            let error = parse(layers).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
