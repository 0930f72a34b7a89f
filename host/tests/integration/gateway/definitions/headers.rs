//! Arguments of tools that clients also send as headers.

use serde_json::{Value, json};

use super::{granted, names};
use crate::support::http_server::{ACCEPT, HttpTestServer, JSON, MODERN, meta};

/// Calls the tool `routed` with this region in the header and in the arguments. Returns the status and the response.
async fn call(server: &HttpTestServer, header: &[&str], region: Value) -> (u16, Value) {
    let params = json!({ "name": "routed", "arguments": { "region": region }, "_meta": meta() });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let mut headers = vec![
        JSON,
        ACCEPT,
        MODERN,
        ("mcp-method", "tools/call"),
        ("mcp-name", "routed"),
    ];
    headers.extend(header.iter().map(|value| ("mcp-param-region", *value)));
    let response = server.post(&headers, body.to_string()).await;
    (response.status, response.json())
}

#[tokio::test]
async fn headers_must_agree_with_the_arguments() {
    let builder = granted("defined").setting("defined", "more", "routed");
    let server = HttpTestServer::from_builder(builder).await;
    for (header, region) in [
        (&["eu"][..], json!("eu")),
        (&["=?base64?ZXU=?="], json!("eu")),
        (&["=?base64?ZXU="], json!("=?base64?ZXU=")),
    ] {
        let (status, response) = call(&server, header, region).await;
        assert_eq!(
            (status, &response["result"]["resultType"]),
            (200, &json!("complete")),
            "{response}"
        );
    }
    for (header, region, expected) in [
        (
            &["us"][..],
            json!("eu"),
            "mcp-param-region is `us`, but the body has `eu`",
        ),
        (
            &[],
            json!("eu"),
            "mcp-param-region is missing, but the body has `eu`",
        ),
        (
            &["eu"],
            Value::Null,
            "mcp-param-region is sent, but the body has no such argument",
        ),
        (
            &["=?base64?ZXU?="],
            json!("eu"),
            "mcp-param-region is not base64 of UTF-8",
        ),
        (
            &["eu", "us"],
            json!("eu"),
            "`mcp-param-region` is repeated or not plain ASCII",
        ),
    ] {
        let (status, response) = call(&server, header, region).await;
        assert_eq!(
            (status, &response["error"]["code"]),
            (400, &json!(-32020)),
            "{response}"
        );
        let message = response["error"]["message"].as_str().unwrap();
        assert_eq!(message, format!("header mismatch: {expected}"));
    }
    let session = server.session("2025-11-25").await;
    let params = json!({ "name": "routed", "arguments": { "region": "eu" } });
    let legacy = server.legacy(&session, "tools/call", params).await.json();
    assert!(
        legacy["result"]["content"].is_array(),
        "earlier versions have no such headers: {legacy}"
    );
}

#[tokio::test]
async fn pages_of_allowed_origins_may_send_them() {
    let server =
        HttpTestServer::from_builder(granted("defined").setting("defined", "more", "routed")).await;
    let preflight = async |origin: &str, requested: &str| {
        let request = server
            .client
            .request(http::Method::OPTIONS, &server.url)
            .header("origin", origin);
        let request = request.header("access-control-request-method", "POST");
        server
            .send(request.header("access-control-request-headers", requested))
            .await
    };
    let allowed = preflight(
        "https://app.example.com",
        "content-type,mcp-param-region,x-other",
    )
    .await;
    assert_eq!(allowed.status, 204);
    let headers = allowed.headers["access-control-allow-headers"]
        .to_str()
        .unwrap();
    let headers: Vec<_> = headers.split(", ").collect();
    assert!(
        headers.contains(&"mcp-param-region") && headers.contains(&"content-type"),
        "{headers:?}"
    );
    assert!(!headers.contains(&"x-other"), "{headers:?}");
    assert_eq!(
        preflight("https://evil.example.com", "mcp-param-region")
            .await
            .status,
        403
    );
}

#[tokio::test]
async fn a_tool_whose_header_has_an_invalid_name_is_not_offered() {
    let builder = granted("defined").setting("defined", "more", "misrouted,routed");
    let server = HttpTestServer::from_builder(builder).await;
    assert_eq!(names(&server, "tools").await, ["double", "routed"]);
}
