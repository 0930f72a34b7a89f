//! The names of content that the provider `files` cannot serve are reported: files that are too large, and files whose
//! names are not UTF-8.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use expect_test::expect;
use larder_model::policy::{Access, Dir};
use serde_json::json;
use tempfile::TempDir;

use crate::support::harness::{TestServer, TestServerBuilder};
use crate::support::http_server::HttpTestServer;

fn granting(folder: &TempDir) -> TestServerBuilder {
    let dir = Dir {
        host: folder.path().into(),
        guest: "/data".into(),
        access: Access::Read,
        is_canonical: false,
    };
    TestServer::builder("files").provider("files", |grant, _| grant.dirs.push(dir))
}

/// Reads a URI in both eras. Returns the code, the message and the data of the error, which must be equal.
async fn error_of(http: &HttpTestServer, uri: &str) -> String {
    let session = http.session("2025-11-25").await;
    let params = json!({ "uri": uri });
    let modern = http.modern("resources/read", params.clone()).await;
    let legacy = http.legacy(&session, "resources/read", params).await;
    assert_eq!((modern.status, legacy.status), (200, 200));
    let error = modern.json()["error"].clone();
    assert_eq!(error, legacy.json()["error"]);
    let data = error
        .get("data")
        .map(ToString::to_string)
        .unwrap_or_default();
    format!(
        "{} {} {data}",
        error["code"],
        error["message"].as_str().unwrap()
    )
}

#[tokio::test]
async fn a_file_that_is_too_large_names_the_limit() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("large"), vec![b'x'; 2049]).unwrap();
    let http =
        HttpTestServer::from_builder(granting(&folder).setting("files", "max_bytes", "2KiB")).await;
    assert_eq!(http.server.uris().await, ["file:///data/large"]);
    expect![[r#"-32602 the provider `files` refused the request: the file is larger than the limit of 2 KiB (setting `max_bytes`) "#]]
        .assert_eq(&error_of(&http, "file:///data/large").await);
}

#[tokio::test]
async fn a_response_that_is_too_large_names_the_limit() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("large"), vec![b'x'; 200_000]).unwrap();
    let limited = granting(&folder).provider("files", |grant, _| grant.limits.result = 100_000);
    let http = HttpTestServer::from_builder(limited).await;
    expect![[r#"-32602 the provider `files` failed: its response is larger than the limit of 100 KB (`limits.result`) {"kind":"too-large","provider":"files"}"#]]
        .assert_eq(&error_of(&http, "file:///data/large").await);
}

#[tokio::test]
async fn counts_files_whose_names_are_not_utf8() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("good"), "x").unwrap();
    std::fs::create_dir(folder.path().join("below")).unwrap();
    let bad =
        |name: &[u8]| std::fs::write(folder.path().join(OsStr::from_bytes(name)), "x").unwrap();
    bad(b"caf\xe9");
    let mut server = granting(&folder).start().await;
    let one = "omitted or changed in files: a file whose name is not UTF-8, which WASI does not support: rename it";
    assert_eq!(server.first_pass.omitted, [one]);

    bad(b"below/\xff");
    server.run_reconciler();
    server.start_change_detector(crate::changes::change_detector::signals_only());
    let two = "2 files whose names are not UTF-8, which WASI does not support: rename them";
    crate::support::harness::eventually("both names are reported", async || {
        server.reader.snapshot().offers()[0].omitted == [two]
    })
    .await;
    assert_eq!(server.uris().await, ["file:///data/good"]);
    server
        .drain
        .finish(std::time::Duration::from_secs(10))
        .await;
}
