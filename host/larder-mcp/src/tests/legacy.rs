//! Requests of the legacy protocol (2025-11-25 and earlier).

use expect_test::{Expect, expect};
use serde_json::json;

use super::endpoint::{ACCEPT, JSON, TestEndpoint};
use super::guests::{echo, full, nothing};
use larder_provider::fake::FakeContent;

async fn check(
    provider: (&str, FakeContent),
    method: &str,
    params: serde_json::Value,
    expected: Expect,
) {
    let endpoint = TestEndpoint::serve([provider]).await;
    let session = endpoint.session("2025-11-25").await;
    let answer = endpoint.legacy(&session, method, params).await;
    assert_eq!(answer.headers["content-type"], "application/json");
    expected.assert_eq(&format!("{} {}", answer.status, answer.body));
}

#[tokio::test]
async fn negotiates_each_version() {
    let http = TestEndpoint::serve([("echo", echo())]).await;
    let mut results = String::new();
    for version in [
        "2025-11-25",
        "2025-06-18",
        "2025-03-26",
        "2024-11-05",
        "2026-07-28",
        "1.0",
    ] {
        let answer = http.initialize(version).await;
        results += &format!(
            "{version}: {} {}\n",
            answer.verdict(),
            answer.json()["result"]["protocolVersion"]
        );
    }
    expect![[r#"
        2025-11-25: 200 ok "2025-11-25"
        2025-06-18: 200 ok "2025-06-18"
        2025-03-26: 200 ok "2025-03-26"
        2024-11-05: 200 ok "2025-11-25"
        2026-07-28: 200 ok "2025-11-25"
        1.0: 200 ok "2025-11-25"
    "#]]
    .assert_eq(&results);
}

#[tokio::test]
async fn initialize() {
    let http = TestEndpoint::serve([("echo", echo())]).await;
    let answer = http.initialize("2025-11-25").await;
    expect![[r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"resources":{"subscribe":true,"listChanged":true},"tools":{"listChanged":true},"prompts":{"listChanged":true},"completions":{},"logging":{},"extensions":{"io.modelcontextprotocol/skills":{"directoryRead":true}}},"serverInfo":{"name":"larder","version":"0.1.0","title":"Test"},"instructions":"Echo: Read echo://hello to see who you are."}}"#]].assert_eq(&answer.body);
    let id = answer.headers["mcp-session-id"].to_str().unwrap();
    assert!(
        id.len() >= 20 && id.bytes().all(|byte| (0x21..=0x7e).contains(&byte)),
        "{id}"
    );
}

#[tokio::test]
async fn list_has_no_modern_fields() {
    check(("full", full()), "resources/list", json!({}), expect![[r#"200 {"jsonrpc":"2.0","id":1,"result":{"resources":[{"uri":"full://one","name":"one","title":"One","description":"the first","mimeType":"text/plain","size":3,"icons":[{"src":"https://example.com/icon.png","mimeType":"image/png","sizes":["48x48"],"theme":"dark"}],"annotations":{"audience":["user","assistant"],"priority":0.5,"lastModified":"2026-01-02T03:04:05Z"},"_meta":{"dev.larder/kind":"file","dev.larder/version":"1","example.com/colour":{"name":"blue"}}}]}}"#]]).await;
}

#[tokio::test]
async fn lists_templates() {
    check(("full", full()), "resources/templates/list", json!({}), expect![[r#"200 {"jsonrpc":"2.0","id":1,"result":{"resourceTemplates":[{"uriTemplate":"full://word/{word}{?style}","name":"full://word/{word}{?style}"}]}}"#]]).await;
}

#[tokio::test]
async fn reads_text() {
    check(("full", full()), "resources/read", json!({ "uri": "full://one" }), expect![[r#"200 {"jsonrpc":"2.0","id":1,"result":{"contents":[{"uri":"full://one","mimeType":"text/plain","text":"one"}],"_meta":{"dev.larder/version":"1"}}}"#]]).await;
}

#[tokio::test]
async fn reports_a_missing_resource() {
    check(("echo", echo()), "resources/read", json!({ "uri": "echo://nothing/here" }), expect![[r#"200 {"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":"Resource not found","data":{"uri":"echo://nothing/here"}}}"#]]).await;
}

#[tokio::test]
async fn ping() {
    check(
        ("nothing", nothing()),
        "ping",
        json!({}),
        expect![[r#"200 {"jsonrpc":"2.0","id":1,"result":{}}"#]],
    )
    .await;
}

#[tokio::test]
async fn subscribe_and_unsubscribe() {
    check(
        ("echo", echo()),
        "resources/subscribe",
        json!({ "uri": "echo://hello" }),
        expect![[r#"200 {"jsonrpc":"2.0","id":1,"result":{}}"#]],
    )
    .await;
    check(
        ("echo", echo()),
        "resources/unsubscribe",
        json!({ "uri": "echo://hello" }),
        expect![[r#"200 {"jsonrpc":"2.0","id":1,"result":{}}"#]],
    )
    .await;
    check(("echo", echo()), "resources/subscribe", json!({ "uri": "nobody:x" }), expect![[r#"200 {"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":"Resource not found","data":{"uri":"nobody:x"}}}"#]]).await;
}

#[tokio::test]
async fn rejects_unknown_methods_and_invalid_parameters() {
    let http = TestEndpoint::serve([("echo", echo())]).await;
    let session = http.session("2025-11-25").await;
    let mut results = String::new();
    for (method, params) in [
        ("tools/get", json!({})),
        ("logging/setLevel", json!({ "level": "info" })),
        ("subscriptions/listen", json!({})),
        ("resources/read", json!({})),
        ("resources/read", json!({ "uri": 1 })),
        ("resources/read", json!({ "uri": "no scheme" })),
        ("resources/read", json!([1])),
        ("resources/list", json!({ "cursor": "" })),
        (
            "completion/complete",
            json!({ "ref": { "type": "ref/prompt", "name": "p" }, "argument": { "name": "a", "value": "" } }),
        ),
        (
            "completion/complete",
            json!({ "ref": { "type": "ref/other" }, "argument": { "name": "a", "value": "" } }),
        ),
    ] {
        results += &format!(
            "{method} {params}: {}\n",
            http.legacy(&session, method, params.clone())
                .await
                .verdict()
        );
    }
    expect![[r#"
        tools/get {}: 200 -32601
        logging/setLevel {"level":"info"}: 200 ok
        subscriptions/listen {}: 200 -32601
        resources/read {}: 200 -32602
        resources/read {"uri":1}: 200 -32602
        resources/read {"uri":"no scheme"}: 200 -32602
        resources/read [1]: 200 -32602
        resources/list {"cursor":""}: 200 -32602
        completion/complete {"argument":{"name":"a","value":""},"ref":{"name":"p","type":"ref/prompt"}}: 200 -32602
        completion/complete {"argument":{"name":"a","value":""},"ref":{"type":"ref/other"}}: 200 -32602
    "#]].assert_eq(&results);
}

#[tokio::test]
async fn deletes_a_session() {
    let http = TestEndpoint::serve([("echo", echo())]).await;
    let session = http.session("2025-11-25").await;
    assert_eq!(
        http.legacy(&session, "ping", json!({})).await.verdict(),
        "200 ok"
    );
    assert!((200..300).contains(&http.delete(&session).await));
    assert_eq!(http.legacy(&session, "ping", json!({})).await.status, 404);
    assert_eq!(
        http.legacy("never-was", "tools/list", json!({}))
            .await
            .status,
        404
    );
    assert_eq!(http.delete(&session).await, 404);
}

#[tokio::test]
async fn limits_the_number_of_sessions() {
    let http = TestEndpoint::serve([("echo", echo())]).await;
    let first = http.session("2025-11-25").await;
    for _ in 0..20 {
        http.session("2025-11-25").await;
    }
    // The session table holds four sessions, and the least recently used one was evicted.
    assert_eq!(http.legacy(&first, "ping", json!({})).await.status, 404);
}

#[tokio::test]
async fn accepts_batches_only_in_2025_03_26() {
    let http = TestEndpoint::serve([("echo", echo())]).await;
    let batch = json!([
        { "jsonrpc": "2.0", "id": 1, "method": "ping" },
        { "jsonrpc": "2.0", "method": "notifications/initialized" },
        { "jsonrpc": "2.0", "id": "two", "method": "resources/read", "params": { "uri": "echo://blob" } },
        { "jsonrpc": "2.0", "id": 3, "method": "no/such" },
    ])
    .to_string();
    let old = http.session("2025-03-26").await;
    let answer = http
        .post(&[JSON, ACCEPT, ("mcp-session-id", &old)], batch.clone())
        .await;
    let ids: Vec<_> = answer
        .json()
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["id"].clone())
        .collect();
    assert_eq!(ids, [json!(1), json!("two"), json!(3)]);
    let new = http.session("2025-11-25").await;
    let answer = http
        .post(&[JSON, ACCEPT, ("mcp-session-id", &new)], batch)
        .await;
    assert_eq!(answer.verdict(), "400 -32600");
}
