//! Malformed requests get the right error, and the next request is served.

use expect_test::expect;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::support::http_server::{ACCEPT, HttpTestServer, JSON, MODERN, meta};

#[tokio::test]
async fn bodies_that_are_not_a_request() {
    let http = HttpTestServer::start("echo").await;
    let deep = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{}1{}}}",
        "[".repeat(10_000),
        "]".repeat(10_000)
    );
    let mut results = String::new();
    for (case, body) in [
        ("nothing", ""),
        ("not JSON", "{"),
        ("not UTF-8", "\u{0}"),
        ("a number", "1"),
        ("a text", "\"x\""),
        ("null", "null"),
        ("an empty batch", "[]"),
        ("no method", r#"{"jsonrpc":"2.0","id":1}"#),
        (
            "another version of JSON-RPC",
            r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
        ),
        ("no version of JSON-RPC", r#"{"id":1,"method":"ping"}"#),
        (
            "method is a number",
            r#"{"jsonrpc":"2.0","id":1,"method":1}"#,
        ),
        (
            "id is null",
            r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
        ),
        (
            "id is true",
            r#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#,
        ),
        (
            "id is an object",
            r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#,
        ),
        (
            "id is a fraction",
            r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
        ),
        (
            "two ids",
            r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#,
        ),
        (
            "two methods",
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"initialize"}"#,
        ),
        (
            "params is a text",
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":"x"}"#,
        ),
        ("10,000 deep", &deep),
        (
            "trailing text",
            r#"{"jsonrpc":"2.0","id":1,"method":"ping"} x"#,
        ),
    ] {
        results += &format!(
            "{case}: {}\n",
            http.post(&[JSON, ACCEPT], body.to_owned()).await.verdict()
        );
    }
    expect![[r#"
        nothing: 400 -32700
        not JSON: 400 -32700
        not UTF-8: 400 -32700
        a number: 400 -32600
        a text: 400 -32600
        null: 400 -32600
        an empty batch: 400 -32600
        no method: 400 -32600
        another version of JSON-RPC: 400 -32600
        no version of JSON-RPC: 400 -32600
        method is a number: 400 -32600
        id is null: 400 -32600
        id is true: 400 -32600
        id is an object: 400 -32600
        id is a fraction: 400 -32600
        two ids: 400 -32600
        two methods: 400 -32600
        params is a text: 200 -32602
        10,000 deep: 400 -32600
        trailing text: 400 -32700
    "#]]
    .assert_eq(&results);
    let bytes = http.post(&[JSON, ACCEPT], vec![0xff, 0xfe, b'{']).await;
    assert_eq!(bytes.verdict(), "400 -32700");
    assert_eq!(http.read("echo://blob").await.verdict(), "200 ok");
}

#[tokio::test]
async fn a_duplicate_uri_is_rejected() {
    let http = HttpTestServer::start("echo").await;
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{{"uri":"echo://hello","uri":"echo://blob","_meta":{}}}}}"#,
        meta()
    );
    for name in ["echo://hello", "echo://blob"] {
        let headers = [
            JSON,
            ACCEPT,
            MODERN,
            ("mcp-method", "resources/read"),
            ("mcp-name", name),
        ];
        let answer = http.post(&headers, body.clone()).await;
        assert!(!answer.verdict().ends_with("ok"), "{}", answer.body);
    }
}

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

#[tokio::test]
async fn rejects_wrong_headers_and_http_methods() {
    let http = HttpTestServer::start("echo").await;
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }).to_string();
    let mut results = String::new();
    for (case, headers) in [
        (
            "another content type",
            vec![("content-type", "text/plain"), ACCEPT],
        ),
        (
            "an unsupported Accept header",
            vec![JSON, ("accept", "image/png")],
        ),
        (
            "an evil host",
            vec![JSON, ACCEPT, ("host", "evil.example.com")],
        ),
        (
            "an evil origin",
            vec![JSON, ACCEPT, ("origin", "http://evil.example.com")],
        ),
        ("the origin null", vec![JSON, ACCEPT, ("origin", "null")]),
    ] {
        results += &format!(
            "{case}: {}\n",
            http.post(&headers, ping.clone()).await.status
        );
    }
    let discover = json!({ "jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": { "_meta": meta() } });
    let headers = [JSON, ACCEPT, MODERN, ("mcp-method", "server/discover")];
    for (case, more) in [
        (
            "our own origin",
            ("origin", format!("http://{}", http.address)),
        ),
        (
            "a granted origin",
            ("origin", "https://app.example.com".to_owned()),
        ),
        (
            "localhost as host",
            ("host", format!("localhost:{}", http.address.port())),
        ),
        ("accept everything", ("accept", "*/*".to_owned())),
    ] {
        let headers: Vec<_> = headers
            .iter()
            .copied()
            .filter(|(key, _)| *key != more.0)
            .chain([(more.0, more.1.as_str())])
            .collect();
        results += &format!(
            "{case}: {}\n",
            http.post(&headers, discover.to_string()).await.verdict()
        );
    }
    for (case, request) in [
        ("PUT", http.client.put(&http.url)),
        (
            "GET without a session",
            http.client
                .get(&http.url)
                .header("accept", "text/event-stream"),
        ),
        (
            "GET, modern",
            http.client
                .get(&http.url)
                .header(MODERN.0, MODERN.1)
                .header("accept", "text/event-stream"),
        ),
        (
            "DELETE, modern",
            http.client.delete(&http.url).header(MODERN.0, MODERN.1),
        ),
        (
            "another path",
            http.client.post(http.url.replace("/mcp", "/")),
        ),
    ] {
        results += &format!("{case}: {}\n", http.send(request).await.status);
    }
    expect![[r#"
        another content type: 415
        an unsupported Accept header: 406
        an evil host: 403
        an evil origin: 403
        the origin null: 403
        our own origin: 200 ok
        a granted origin: 200 ok
        localhost as host: 200 ok
        accept everything: 200 ok
        PUT: 405
        GET without a session: 400
        GET, modern: 405
        DELETE, modern: 405
        another path: 404
    "#]]
    .assert_eq(&results);
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
