//! Unsigned bills of materials and statements about the origin that are attached to a component.

use serde_json::{Value, json};

use super::server::RegistryServer;
use super::workplace::{Workplace, key_file};
use crate::support::process::{http_client, path_arg};
use larder_model::name::Digest;

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const EMPTY: &str = "application/vnd.oci.empty.v1+json";
const REPOSITORY: &str = "team/wiki";

fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", Digest::of(bytes))
}

fn descriptor(media_type: &str, bytes: &[u8]) -> Value {
    json!({ "mediaType": media_type, "digest": digest(bytes), "size": bytes.len() })
}

/// Uploads a blob, as `oras` does. Returns its descriptor.
pub(super) async fn push_blob(registry: &RegistryServer, media_type: &str, bytes: &[u8]) -> Value {
    let host = format!("http://{}", registry.address());
    let started = http_client()
        .post(format!("{host}/v2/{REPOSITORY}/blobs/uploads/"))
        .send()
        .await
        .unwrap();
    let location = started.headers()["location"].to_str().unwrap();
    let url = format!("{host}{location}&digest={}", digest(bytes));
    let stored = http_client()
        .put(url)
        .body(bytes.to_vec())
        .send()
        .await
        .unwrap();
    assert_eq!(stored.status(), 201);
    descriptor(media_type, bytes)
}

/// Uploads a manifest or an index. Returns its descriptor.
async fn push_manifest(
    registry: &RegistryServer,
    tag: Option<&str>,
    media_type: &str,
    manifest: &Value,
) -> Value {
    let text = manifest.to_string();
    let descriptor = descriptor(media_type, text.as_bytes());
    let version = tag.unwrap_or_else(|| descriptor["digest"].as_str().unwrap());
    let url = format!(
        "http://{}/v2/{REPOSITORY}/manifests/{version}",
        registry.address()
    );
    let stored = http_client()
        .put(url)
        .header("content-type", media_type)
        .body(text)
        .send()
        .await
        .unwrap();
    assert_eq!(stored.status(), 201, "{}", stored.text().await.unwrap());
    descriptor
}

/// Uploads a document that refers to an image. Returns the descriptor of its manifest.
async fn attach(
    registry: &RegistryServer,
    subject: &Value,
    artifact_type: &str,
    layer: &Value,
) -> Value {
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "artifactType": artifact_type,
        "config": push_blob(registry, EMPTY, b"{}").await,
        "layers": [layer],
        "subject": subject,
    });
    push_manifest(registry, None, MANIFEST, &manifest).await
}

/// The registry does not have the referrers API, so the list is in a tag, as the specification demands.
#[tokio::test]
async fn inspect_shows_attached_documents() {
    let Some(workplace) = Workplace::new() else {
        return;
    };
    let registry = &workplace.registry;
    let image = workplace.push("echo", "team/wiki:1");
    let reference = workplace.reference("team/wiki:1");
    let none = workplace.run(&format!("inspect {reference} --json")).json();
    assert_eq!(none["attestations"], json!([]));

    let subject = json!({ "mediaType": MANIFEST, "digest": image, "size": 1 });
    let list = br#"{"spdxVersion":"SPDX-2.3"}"#;
    let spdx = push_blob(registry, "application/octet-stream", list).await;
    let cyclonedx = push_blob(registry, "application/vnd.cyclonedx+json", b"{}").await;
    let statement = br#"{"predicateType":"https://slsa.dev/provenance/v1"}"#;
    let provenance = push_blob(registry, "application/vnd.in-toto+json", statement).await;
    let picture = push_blob(registry, "image/png", b"png").await;
    // An index does not describe the component, and must not prevent the pull.
    let other = json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": [] });
    let referrers = [
        push_manifest(registry, None, INDEX, &other).await,
        attach(registry, &subject, "application/spdx+json", &spdx).await,
        attach(
            registry,
            &subject,
            "application/vnd.in-toto+json",
            &provenance,
        )
        .await,
        attach(registry, &subject, "image/png", &picture).await,
    ];
    let index = json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": referrers });
    let tag = image.replace(':', "-");
    push_manifest(registry, Some(&tag), INDEX, &index).await;
    // The document is stored as with `cosign attach sbom`.
    let config = push_blob(registry, "application/vnd.oci.image.config.v1+json", b"{}").await;
    let manifest = json!({ "schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": [cyclonedx] });
    push_manifest(registry, Some(&format!("{tag}.sbom")), MANIFEST, &manifest).await;
    // A signature is not one of these documents.
    let key = key_file("release-key-for-tests.pem");
    workplace
        .run(&format!("sign {reference} --key {}", path_arg(&key)))
        .expect_success();

    let found = workplace.run(&format!("inspect {reference} --json")).json();
    let expected = [
        ("application/spdx+json", list.as_slice()),
        ("https://slsa.dev/provenance/v1", statement),
        ("application/vnd.cyclonedx+json", b"{}"),
    ];
    let item = |(kind, bytes): (&str, &[u8])| {
        json!({
            "predicate_type": kind,
            "signer": null,
            "unverified": "unsigned",
            "digest": digest(bytes),
            "size": bytes.len(),
        })
    };
    assert_eq!(
        found["attestations"],
        Value::from(expected.map(item).to_vec())
    );
    let shown = workplace
        .run(&format!("inspect {reference}"))
        .expect_success();
    for (kind, bytes) in expected {
        let line = format!(
            "statement  {kind}, unsigned, {} B, {}\n",
            bytes.len(),
            digest(bytes)
        );
        assert!(shown.contains(&line), "{line}: {shown}");
    }
    // These documents do not count as a signature.
    let key = key_file("other-for-tests.pub");
    workplace.configure(&format!(
        "[trust]\nrequire = true\nkeys = ['{}']\n",
        path_arg(&key)
    ));
    let untrusted = workplace.run(&format!("inspect {reference}"));
    assert_eq!(untrusted.code, Some(1), "{}", untrusted.stdout);
}
