//! Malformed requests get the right error, and the next request is served.

use expect_test::expect;
use serde_json::json;

use super::endpoint::{ACCEPT, JSON, MODERN, TestEndpoint, meta, request};
use super::guests::echo;

#[tokio::test]
async fn bodies_that_are_not_a_request() {
    let http = TestEndpoint::serve([("echo", echo())]).await;
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
    assert_eq!(
        http.read("echo://blob").await["contents"][0]["blob"],
        "AJ+Slg=="
    );
}

#[tokio::test]
async fn a_duplicate_uri_is_rejected() {
    let http = TestEndpoint::serve([("echo", echo())]).await;
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
async fn rejects_wrong_headers_and_http_methods() {
    let http = TestEndpoint::serve([("echo", echo())]).await;
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
            ("origin", "http://127.0.0.1:8080".to_owned()),
        ),
        (
            "a granted origin",
            ("origin", "https://app.example.com".to_owned()),
        ),
        ("localhost as host", ("host", "localhost:8080".to_owned())),
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
    let stream = ("accept", "text/event-stream");
    let mut elsewhere = request("POST", &[], "");
    *elsewhere.uri_mut() = "/".parse().unwrap();
    for (case, request) in [
        ("PUT", request("PUT", &[], "")),
        ("GET without a session", request("GET", &[stream], "")),
        ("GET, modern", request("GET", &[MODERN, stream], "")),
        ("DELETE, modern", request("DELETE", &[MODERN], "")),
        ("another path", elsewhere),
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
