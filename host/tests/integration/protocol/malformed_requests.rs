//! Malformed requests get the right error, and the next request is served.

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::support::http_server::{ACCEPT, HttpTestServer, JSON, meta};

#[tokio::test]
async fn a_body_larger_than_the_limit_is_rejected() {
    let http = HttpTestServer::start("echo").await;
    // 100 MB, sent in chunks without a length. It is rejected long before all of it has arrived.
    let piece = bytes::Bytes::from(vec![b' '; 1 << 20]);
    let pieces = (0..100).map(move |_| Ok::<_, std::io::Error>(piece.clone()));
    let body = reqwest::Body::wrap_stream(futures_util::stream::iter(pieces));
    let request = http
        .client
        .post(&http.url)
        .header("content-type", "application/json")
        .body(body)
        .send()
        .await;
    if let Ok(response) = request {
        assert_eq!(response.status().as_u16(), 413);
    }
    let with_length = vec![b' '; (1 << 20) + 1];
    assert_eq!(http.post(&[JSON, ACCEPT], with_length).await.status, 413);
    assert_eq!(http.read("echo://blob").await.verdict(), "200 ok");
}

/// Sends raw bytes on a new connection, and returns the first line of the response.
async fn raw(http: &HttpTestServer, bytes: &[u8]) -> String {
    let mut stream = tokio::net::TcpStream::connect(http.address).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    let _ = stream.shutdown().await;
    let mut answer = Vec::new();
    let read = tokio::time::timeout(
        std::time::Duration::from_secs(30),
        stream.read_to_end(&mut answer),
    )
    .await;
    read.expect("the server does not close the connection").ok();
    String::from_utf8_lossy(&answer)
        .lines()
        .next()
        .unwrap_or_default()
        .to_owned()
}

#[tokio::test]
async fn rejects_incomplete_requests_and_binary_data() {
    let http = HttpTestServer::start("echo").await;
    let half = "POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{";
    for bytes in [
        half.as_bytes(),
        b"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\nmcp-method: \xff\x00\xfe\r\ncontent-length: 0\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nmcp-method: x",
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"GET / HTTP/9.9\r\n\r\n",
    ] {
        let first = raw(&http, bytes).await;
        assert!(first.is_empty() || first.starts_with("HTTP/1.1 4"), "{first}");
    }
    // A header value that is not ASCII is invalid.
    let body =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/list", "params": { "_meta": meta() } })
            .to_string();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\ncontent-type: application/json\r\nmcp-protocol-version: 2026-07-28\r\ncontent-length: {}\r\nmcp-method: ",
        body.len()
    );
    let bytes = [
        head.as_bytes(),
        b"resources/list\xe9\r\n\r\n",
        body.as_bytes(),
    ]
    .concat();
    assert_eq!(raw(&http, &bytes).await, "HTTP/1.1 400 Bad Request");
    assert_eq!(http.read("echo://blob").await.verdict(), "200 ok");
}
