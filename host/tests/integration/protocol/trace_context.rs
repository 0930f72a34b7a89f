//! The trace context of a client is passed on to the provider, and to the servers that the provider calls.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;

use larder_model::policy::HostRule;
use serde_json::json;

use crate::support::harness::TestServer;
use crate::support::http_server::{ACCEPT, HttpTestServer, JSON, MODERN, meta};

pub(crate) const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// Starts an HTTP server that answers each request with the head of the request. It runs until the process
/// ends.
pub(crate) fn echo_server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let lines = BufReader::new(&stream).lines().map_while(Result::ok);
            let head: Vec<_> = lines.take_while(|line| !line.is_empty()).collect();
            let body = head.join(" | ");
            let answer = format!(
                "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
            _ = (&stream).write_all(answer.as_bytes());
        }
    });
    port
}

/// Reads a URI with a trace context in the HTTP headers.
async fn read_with_trace(http: &HttpTestServer, uri: &str, parent: &str) -> String {
    let params = json!({ "uri": uri, "_meta": meta() });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": params })
        .to_string();
    let headers = [
        JSON,
        ACCEPT,
        MODERN,
        ("mcp-method", "resources/read"),
        ("mcp-name", uri),
        ("traceparent", parent),
        ("tracestate", "vendor=1"),
    ];
    http.post(&headers, body).await.body
}

#[tokio::test]
async fn passes_the_trace_context_to_the_provider() {
    let http = HttpTestServer::start("echo").await;
    let response = read_with_trace(&http, "echo://hello", PARENT).await;
    assert!(
        response.contains("metadata: traceparent=") && response.contains(PARENT),
        "{response}"
    );
    assert!(
        response.contains("metadata: tracestate=") && response.contains("vendor=1"),
        "{response}"
    );
    for bad in ["", "00-0-0-01", "what"] {
        let response = read_with_trace(&http, "echo://hello", bad).await;
        assert!(
            response.contains("uri: echo://hello") && !response.contains("traceparent"),
            "{response}"
        );
    }
    let in_metadata = json!({ "uri": "echo://hello", "_meta": { "traceparent": PARENT } });
    assert!(
        http.modern("resources/read", in_metadata)
            .await
            .body
            .contains(PARENT)
    );
    // A value that is not a string is ignored, and the request is served.
    let invalid = json!({ "uri": "echo://hello", "_meta": { "traceparent": 7 } });
    assert_eq!(
        http.modern("resources/read", invalid).await.verdict(),
        "200 ok"
    );
}

#[tokio::test]
async fn passes_the_trace_context_to_outgoing_requests() {
    let port = echo_server();
    let http =
        HttpTestServer::from_builder(TestServer::builder("net").provider("net", |grant, _| {
            let host = "127.0.0.1".to_owned();
            let (scheme, port) = (Some("http".into()), Some(port));
            grant.hosts = vec![HostRule {
                scheme,
                host,
                port,
                methods: None,
                private: true,
                auth: None,
            }];
        }))
        .await;
    for interface in ["http-client", "wasi-http"] {
        let uri = format!("net://{interface}/http://127.0.0.1:{port}/");
        let response = read_with_trace(&http, &uri, PARENT).await;
        assert!(
            response.contains(&format!("traceparent: {PARENT}")),
            "{interface}: {response}"
        );
        assert!(
            response.contains("tracestate: vendor=1"),
            "{interface}: {response}"
        );
        let response = http.read(&uri).await.body;
        assert!(
            response.contains("GET / HTTP") && !response.contains("traceparent"),
            "{interface}: {response}"
        );
    }
}
