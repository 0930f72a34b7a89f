//! Old providers: one for each released version of the contract and each language, as it was built at that time, and
//! compressed. All of them must still load. `cargo xtask fixtures` creates the fixtures, and never overwrites a
//! fixture.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::support::harness::{TestServer, anonymous_call, parse_uri};

const LANGUAGES: [&str; 5] = ["c", "go", "javascript", "python", "rust"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures")
}

/// The released versions of the contract. Each has a folder.
fn versions() -> Vec<String> {
    let items = std::fs::read_dir(folder())
        .unwrap()
        .map(|item| item.unwrap());
    let folders = items.filter(|item| item.file_type().unwrap().is_dir());
    let mut versions: Vec<String> = folders
        .map(|item| item.file_name().into_string().unwrap())
        .collect();
    versions.sort();
    versions
}

pub(crate) fn fixture(version: &str, language: &str) -> Vec<u8> {
    let path = folder().join(version).join(format!("{language}.wasm.zst"));
    let file =
        std::fs::File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut component = Vec::new();
    ruzstd::decoding::StreamingDecoder::new(file)
        .unwrap()
        .read_to_end(&mut component)
        .unwrap();
    component
}

async fn check(language: &str) {
    for version in versions() {
        let server = TestServer::builder("")
            .file("changelog.wasm", &fixture(&version, language))
            .start()
            .await;
        let context = format!(
            "{language} for {version}, {}",
            server.rejection_reason("changelog.wasm")
        );
        let expected =
            ["0.1.0", "0.2.0", "Unreleased"].map(|name| format!("changelog://releases/{name}"));
        assert_eq!(server.uris().await, expected, "{context}");
        let text = server.text("changelog://releases/0.1.0").await;
        assert!(
            text.starts_with("## [0.1.0] - 2026-05-12\n"),
            "{context}: {text}"
        );
        let json = server.text("changelog://releases/0.1.0/json").await;
        let json: serde_json::Value =
            serde_json::from_str(&json).unwrap_or_else(|_| panic!("{context}: {json}"));
        assert_eq!(
            json["changes"][0]["items"][0], "The releases of a changelog, as resources.",
            "{context}"
        );
        let missing = server.text("changelog://releases/7").await;
        assert_eq!(
            missing, "error: no resource at `changelog://releases/7`",
            "{context}"
        );
        let call = anonymous_call();
        let uri = parse_uri("changelog://releases/0.2.0");
        let result = server.gateway.read(&call, &uri, Some("c0713b0e")).await;
        assert!(
            matches!(result, Err(larder_core::gateway::Error::NotModified { .. })),
            "{context}: {result:?}"
        );
        crate::authors::changelog::check(&fixture(&version, language)).await;
    }
}

#[tokio::test]
async fn c() {
    check("c").await;
}

#[tokio::test]
async fn go() {
    check("go").await;
}

#[tokio::test]
async fn javascript() {
    check("javascript").await;
}

#[tokio::test]
async fn python() {
    check("python").await;
}

#[tokio::test]
async fn rust() {
    check("rust").await;
}

#[test]
fn there_is_a_fixture_for_each_version_and_language() {
    let world = std::fs::read_to_string(folder().join("../../../wit/world.wit")).unwrap();
    let current = world
        .lines()
        .next()
        .and_then(|line| line.strip_prefix("package larder:provider@"));
    let current = current.unwrap().trim_end_matches(';');
    assert!(
        versions().iter().any(|version| version == current),
        "run `cargo xtask fixtures` for {current}"
    );
    for version in versions() {
        for language in LANGUAGES {
            assert!(
                fixture(&version, language).starts_with(b"\0asm"),
                "{language} for {version}"
            );
        }
    }
}
