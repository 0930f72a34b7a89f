//! Components that are equal in interface to those of another host, built from other sources.

use larder_model::policy::{Access, Dir, HostRule};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::{builder, call, start, text, tool};
use crate::support::http_server::HttpTestServer;

/// A server whose provider may change this folder.
async fn with_folder(guest: &str, folder: &std::path::Path) -> HttpTestServer {
    let builder = builder(guest).provider(guest, |grant, _| {
        grant.dirs.push(Dir {
            host: folder.to_owned(),
            guest: "/data".to_owned(),
            access: Access::Write,
            is_canonical: false,
        });
    });
    HttpTestServer::from_builder(builder).await
}

#[tokio::test]
async fn file_systems() {
    let folder = tempfile::tempdir().unwrap();
    let server = with_folder("function_files", folder.path()).await;
    let arguments = json!({ "path": "/data/a.txt", "content": "hello" });
    assert_eq!(
        text(&server, "write-file", arguments).await,
        "wrote /data/a.txt"
    );
    let listed = call(&server, "list-directory", json!({ "path": "/data" })).await;
    assert_eq!(
        listed["structuredContent"],
        json!({ "result": ["[FILE] a.txt"] })
    );
    assert_eq!(
        text(&server, "read-file", json!({ "path": "/data/a.txt" })).await,
        "hello"
    );
    let missing = call(&server, "read-file", json!({ "path": "/etc/passwd" })).await;
    assert_eq!(missing["isError"], true, "{missing}");
    let tree = json!({ "path": "/data", "max-depth": 2 });
    assert_eq!(
        text(&server, "get-directory-tree", tree).await,
        "/data/a.txt\n"
    );
}

#[tokio::test]
async fn knowledge_graphs() {
    let folder = tempfile::tempdir().unwrap();
    let server = with_folder("function_graph", folder.path()).await;
    let ada = json!({ "name": "Ada", "entity-type": "person", "observations": ["writes"] });
    let name = "knowledge-graph-ops_create-entities";
    let created = call(&server, name, json!({ "entities": [ada] })).await;
    assert_eq!(created["structuredContent"], json!({ "result": [ada] }));
    let graph = call(&server, "knowledge-graph-ops_read-graph", json!({})).await;
    // A record is the structured result itself.
    assert_eq!(
        graph["structuredContent"],
        json!({ "entities": [ada], "relations": [] })
    );
    let delete = json!({ "entity-names": ["Ada"] });
    let deleted = call(&server, "knowledge-graph-ops_delete-entities", delete).await;
    assert_eq!(deleted["content"], json!([]), "{deleted}");
    assert_ne!(deleted["isError"], true);
}

#[tokio::test]
async fn libraries() {
    let server = start("function_library").await;
    let found = json!({ "library-name": "tokio" });
    let found = call(&server, "context7_resolve-library-id", found).await;
    assert_eq!(
        found["structuredContent"]["results"][0]["id"],
        "/libraries/tokio"
    );
    assert_eq!(found["structuredContent"]["error"], json!(null));
    let schema = &tool(&server, "context7_get-library-docs").await["inputSchema"];
    assert_eq!(
        schema["required"],
        json!(["context7-compatible-library-id"])
    );
    let docs = json!({ "context7-compatible-library-id": "/a", "tokens": 5 });
    let docs = call(&server, "context7_get-library-docs", docs).await;
    assert_eq!(docs["structuredContent"]["content"], "/a None Some(5)");
}

#[tokio::test]
#[allow(
    clippy::disallowed_methods,
    reason = "the server of the test ends with its runtime"
)]
async fn fetchers_need_a_grant() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 4096];
            _ = stream.read(&mut request).await;
            let response = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nhello";
            _ = stream.write_all(response.as_bytes()).await;
        }
    });
    let url = json!({ "url": format!("http://127.0.0.1:{port}/") });
    let server = start("function_fetch").await;
    let denied = call(&server, "fetch", url.clone()).await;
    assert_eq!(denied["isError"], true, "{denied}");
    let granted = builder("function_fetch").provider("function_fetch", |grant, _| {
        grant.hosts.push(HostRule {
            scheme: Some("http".into()),
            host: "127.0.0.1".into(),
            port: Some(port),
            methods: None,
            private: true,
            auth: None,
        });
    });
    let server = HttpTestServer::from_builder(granted).await;
    assert_eq!(text(&server, "fetch", url).await, "hello");
}
