//! A recorded push of `wkg`: the manifest and the configuration in `wkg/`, with a fixture as the component. `cargo
//! xtask test wkg` runs the same with `wkg` itself, which takes minutes to compile.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use super::attached::push_blob;
use super::workplace::Workplace;
use crate::sandbox::fixtures::fixture;
use crate::support::process::http_client;

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// A recorded file.
fn recorded(name: &str) -> String {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/integration/registries/registry/wkg");
    std::fs::read_to_string(folder.join(name)).unwrap()
}

#[tokio::test]
async fn larder_pulls_what_wkg_pushed() {
    let Some(workplace) = Workplace::new() else {
        return;
    };
    let manifest = recorded("manifest.json");
    let expected: Value = serde_json::from_str(&manifest).unwrap();
    let component = fixture("0.1.0", "rust");
    let config = recorded("config.json");
    for (blob, descriptor) in [
        (component.as_slice(), &expected["layers"][0]),
        (config.as_bytes(), &expected["config"]),
    ] {
        let pushed = push_blob(&workplace.registry, "", blob).await;
        assert_eq!(pushed["digest"], descriptor["digest"]);
    }
    let url = format!(
        "http://{}/v2/team/wiki/manifests/1.0.0",
        workplace.registry.address()
    );
    let stored = http_client()
        .put(url)
        .header("content-type", MANIFEST)
        .body(manifest)
        .send()
        .await
        .unwrap();
    assert!(stored.status().is_success(), "{}", stored.status());

    let added = workplace.add("team/wiki:1.0.0");
    assert_eq!(
        added["component"]["annotations"]["org.opencontainers.image.description"],
        "From wkg"
    );
    assert_eq!(added["locked"]["size"], component.len());
    let (_server, url) = workplace.serve("--locked");
    assert!(
        workplace
            .read("changelog://releases/0.1.0", &url)
            .starts_with("## [0.1.0]")
    );
}

/// `wkg` finds the component by the media types, and reads the configuration.
#[tokio::test]
async fn larder_pushes_in_the_form_of_wkg() {
    let Some(workplace) = Workplace::new() else {
        return;
    };
    workplace.push("echo", "team/wiki:1.0.0");
    let (manifest, _) = workplace.registry.manifest("team/wiki", "1.0.0").await;
    let expected: Value = serde_json::from_str(&recorded("manifest.json")).unwrap();
    for pointer in [
        "/schemaVersion",
        "/mediaType",
        "/config/mediaType",
        "/layers/0/mediaType",
    ] {
        assert_eq!(
            manifest.pointer(pointer),
            expected.pointer(pointer),
            "{pointer}"
        );
    }
    let digest = manifest["config"]["digest"].as_str().unwrap();
    let url = format!(
        "http://{}/v2/team/wiki/blobs/{digest}",
        workplace.registry.address()
    );
    let config = http_client()
        .get(url)
        .send()
        .await
        .unwrap()
        .bytes()
        .await
        .unwrap();
    let config: Value = serde_json::from_slice(&config).unwrap();
    let expected: Value = serde_json::from_str(&recorded("config.json")).unwrap();
    let members = |value: &Value| {
        value
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect::<BTreeSet<_>>()
    };
    let missing: Vec<_> = members(&expected)
        .difference(&members(&config))
        .cloned()
        .collect();
    assert!(
        missing.iter().all(|name| name == "author"),
        "{missing:?} is missing in {config}"
    );
    assert_eq!(config["os"], expected["os"]);
    assert_eq!(config["architecture"], expected["architecture"]);
}
