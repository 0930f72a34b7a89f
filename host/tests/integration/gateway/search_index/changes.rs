//! Which resources are indexed, and how changes reach the index.

use super::*;
use crate::support::http_server::{ACCEPT, JSON, MODERN, meta};
use crate::support::process::http_client;
use serde_json::json;

/// Reads a URI as a client.
async fn read(url: &str, uri: &str) {
    let params = json!({ "uri": uri, "_meta": meta() });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": params });
    let headers = [
        JSON,
        ACCEPT,
        MODERN,
        ("mcp-method", "resources/read"),
        ("mcp-name", uri),
    ];
    let request = http_client().post(url);
    let request = headers.into_iter().fold(request, |request, (name, value)| {
        request.header(name, value)
    });
    let answer = request.body(body.to_string()).send().await.unwrap();
    assert!(
        answer.status().is_success(),
        "{}",
        answer.text().await.unwrap()
    );
}

#[tokio::test]
async fn content_is_found_and_followed_by_notifications() {
    let server = IndexedServer::start(&config("write", "settings = { versions = true }"));
    server.indexed(3).await;
    assert_eq!(server.reads(), ["a", "b", "c"]);
    for (text, uri) in [("marmot", "a"), ("creme brul", "b"), ("京都", "c")] {
        assert_eq!(
            server.found(text).await,
            format!("indexed://{uri}"),
            "{text}"
        );
    }
    assert_eq!(server.found("otter").await, "");
    server.write("a", "An otter swims.");
    read(&server.url, "indexed://announce/a").await;
    server.finds("otter", "indexed://a").await;
    assert_eq!(server.found("marmot").await, "");
    assert_eq!(
        server.reads(),
        ["a", "b", "c", "a"],
        "only what changed is read"
    );
    server.indexed(3).await;
    let metrics = server.admin.get("/metrics").await.1;
    for sample in [
        "larder_index_documents{team=\"default\",provider=\"indexed\"} 3",
        "larder_index_pending{team=\"default\",provider=\"indexed\"} 0",
    ] {
        assert!(metrics.contains(sample), "{sample}: {metrics}");
    }
    let status = server
        .work_dir
        .larder(&format!("status --admin http://{}", server.admin.address()));
    assert!(
        status.stdout.contains("full-text index: 3 resources, "),
        "{}",
        status.stdout
    );
}

#[tokio::test]
async fn changes_in_a_folder_reach_the_index() {
    for settings in ["settings = { versions = true }", ""] {
        let server = IndexedServer::start(&config("read", settings));
        server.indexed(3).await;
        server.write("a", "An otter swims.");
        server.finds("otter", "indexed://a").await;
        server.write("d", "A lynx");
        server.finds("lynx", "indexed://d").await;
        fs::remove_file(server.work_dir.path("docs/c")).unwrap();
        server.indexed(3).await;
        assert_eq!(
            (
                server.found("office").await.as_str(),
                server.found("marmot").await.as_str()
            ),
            ("", "")
        );
    }
}

#[tokio::test]
async fn resources_beyond_the_catalog_are_indexed() {
    let limits = "limits = { catalog_entries = 2 }\nsettings = { versions = true }";
    let server = IndexedServer::start(&config("read", limits));
    for number in 0..8 {
        server.write(&format!("d{number}"), &format!("lynx{number}"));
    }
    server.indexed(11).await;
    server.finds("lynx7", "indexed://d7").await;
    assert_eq!(server.index().await["error"], Value::Null);
    server.write("d7", "An otter swims.");
    server.finds("otter", "indexed://d7").await;
    fs::remove_file(server.work_dir.path("docs/d6")).unwrap();
    server.finds("lynx6", "").await;
    server.indexed(10).await;
    let mut reads = server.reads();
    reads.sort();
    reads.dedup();
    assert_eq!(reads.len(), 11, "{reads:?}");
}

#[tokio::test]
async fn a_restart_reads_only_what_changed() {
    let server = IndexedServer::start(&config("write", "settings = { versions = true }"));
    server.indexed(3).await;
    let server = server.restart("KILL", |_| {});
    server.indexed(3).await;
    assert_eq!(server.found("marmot").await, "indexed://a");
    let server = server.restart("TERM", |work_dir| {
        fs::write(work_dir.path("docs/b"), "An otter").unwrap();
    });
    server.finds("otter", "indexed://b").await;
    server.indexed(3).await;
    assert_eq!(server.reads(), ["a", "b", "c", "b"]);
}

#[tokio::test]
async fn what_is_not_indexed_any_more_is_deleted() {
    let server = IndexedServer::start(&config("write", "settings = { versions = true }"));
    server.indexed(3).await;
    let without =
        config("write", "settings = { versions = true }").replace("index = true", "index = false");
    fs::write(server.work_dir.path("larder.toml"), &without).unwrap();
    server
        .index_where("the index is gone", Value::is_null)
        .await;
    assert_eq!(server.found("marmot").await, "");
    fs::write(
        server.work_dir.path("larder.toml"),
        without.replace("index = false", "index = true"),
    )
    .unwrap();
    server.indexed(3).await;
    assert_eq!(server.found("marmot").await, "indexed://a");
    fs::remove_file(server.work_dir.path("plugins/indexed.wasm")).unwrap();
    let metric = "larder_index_documents{";
    let is_gone = async || !server.admin.get("/metrics").await.1.contains(metric);
    eventually_within(
        SLOW_WAIT,
        "the documents of a removed provider are deleted",
        is_gone,
    )
    .await;
}

#[tokio::test]
async fn forget_deletes_the_text() {
    let address = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let config = config("write", "settings = { versions = true }")
        .replace("127.0.0.1:0", &address.to_string());
    let server = IndexedServer::start(&config);
    server.indexed(3).await;
    let forgotten = server.work_dir.larder("forget indexed --yes");
    let deleted = "larder: deleted 0 values (0 bytes) and 3 indexed texts of indexed\n";
    assert_eq!(
        (forgotten.code, forgotten.stderr.as_str()),
        (Some(0), deleted)
    );
    let IndexedServer {
        work_dir, admin, ..
    } = server;
    admin.process.signal("TERM");
    admin.process.wait();
    let server = IndexedServer::run(work_dir);
    server.indexed(3).await;
    assert_eq!(server.found("marmot").await, "indexed://a");
    let IndexedServer {
        work_dir, admin, ..
    } = server;
    admin.process.signal("TERM");
    admin.process.wait();
    for (code, message) in [(0, deleted), (1, "larder: nothing is stored for indexed\n")] {
        let forgotten = work_dir.larder("forget indexed --yes");
        assert_eq!(
            (forgotten.code, forgotten.stderr.as_str()),
            (Some(code), message)
        );
    }
}
