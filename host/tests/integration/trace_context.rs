//! A trace that a client is in goes on: to the provider, and to whom the provider asks.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;

use larder_model::policy::HostRule;
use serde_json::json;

use crate::house::Plan;
use crate::wire::{ACCEPT, JSON, MODERN, Wire, meta};

pub(crate) const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// Answers each request with its own head. It ends with the process.
pub(crate) fn mirror() -> u16 {
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

/// Reads as a client does whose trace stands in the headers.
async fn traced_read(wire: &Wire, uri: &str, parent: &str) -> String {
    let params = json!({ "uri": uri, "_meta": meta() });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": params }).to_string();
    let headers = [
        JSON,
        ACCEPT,
        MODERN,
        ("mcp-method", "resources/read"),
        ("mcp-name", uri),
        ("traceparent", parent),
        ("tracestate", "vendor=1"),
    ];
    wire.post(&headers, body).await.body
}

#[tokio::test]
async fn a_trace_goes_on_to_the_provider() {
    let wire = Wire::of("echo").await;
    let said = traced_read(&wire, "echo://hello", PARENT).await;
    assert!(said.contains("metadata: traceparent=") && said.contains(PARENT), "{said}");
    assert!(said.contains("metadata: tracestate=") && said.contains("vendor=1"), "{said}");
    for bad in ["", "00-0-0-01", "what"] {
        let said = traced_read(&wire, "echo://hello", bad).await;
        assert!(said.contains("uri: echo://hello") && !said.contains("traceparent"), "{said}");
    }
    let of_body = json!({ "uri": "echo://hello", "_meta": { "traceparent": PARENT } });
    assert!(wire.modern("resources/read", of_body).await.body.contains(PARENT));
    // What is no text is not refused either: it is nobody's place in a trace.
    let odd = json!({ "uri": "echo://hello", "_meta": { "traceparent": 7 } });
    assert_eq!(wire.modern("resources/read", odd).await.verdict(), "200 ok");
}

#[tokio::test]
async fn a_trace_goes_on_to_whom_the_provider_asks() {
    let port = mirror();
    let wire = Wire::open(Plan::of("net").terms("net", |grant, _| {
        let host = "127.0.0.1".to_owned();
        let (scheme, port) = (Some("http".into()), Some(port));
        grant.hosts = vec![HostRule { scheme, host, port, methods: None, private: true }];
    }))
    .await;
    for way in ["http-client", "wasi-http"] {
        let uri = format!("net://{way}/http://127.0.0.1:{port}/");
        let said = traced_read(&wire, &uri, PARENT).await;
        assert!(said.contains(&format!("traceparent: {PARENT}")), "{way}: {said}");
        assert!(said.contains("tracestate: vendor=1"), "{way}: {said}");
        let said = wire.read(&uri).await.body;
        assert!(said.contains("GET / HTTP") && !said.contains("traceparent"), "{way}: {said}");
    }
}
