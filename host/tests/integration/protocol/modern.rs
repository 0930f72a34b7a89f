//! The modern protocol (2026-07-28) over real HTTP, with real components.

use expect_test::{Expect, expect};
use serde_json::json;

use crate::support::http_server::HttpTestServer;

async fn check(guests: &str, method: &str, params: serde_json::Value, expected: Expect) {
    let answer = HttpTestServer::start(guests)
        .await
        .modern(method, params)
        .await;
    assert_eq!(answer.headers["content-type"], "application/json");
    // A list with a TTL of one minute has slightly less time left.
    let body = regex_lite::Regex::new(r#""ttlMs":59\d{3}"#)
        .unwrap()
        .replace(&answer.body, r#""ttlMs":60000"#);
    expected.assert_eq(&format!("{} {body}", answer.status));
}

#[tokio::test]
async fn lists_every_field() {
    check("full", "resources/list", json!({}), expect![[r#"200 {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","resources":[{"uri":"full://one","name":"one","title":"One","description":"the first","mimeType":"text/plain","size":3,"icons":[{"src":"https://example.com/icon.png","mimeType":"image/png","sizes":["48x48"],"theme":"dark"}],"annotations":{"audience":["user","assistant"],"priority":0.5,"lastModified":"2026-01-02T03:04:05Z"},"_meta":{"dev.larder/kind":"file","dev.larder/version":"1","example.com/colour":{"name":"blue"}}}],"ttlMs":60000,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"larder","version":"0.1.0","title":"Test"}}}}"#]]).await;
}

#[tokio::test]
async fn reads_several_contents() {
    check("echo", "resources/read", json!({ "uri": "echo://many" }), expect![[r#"200 {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","contents":[{"uri":"echo://many/1","mimeType":"text/plain","text":"first"},{"uri":"echo://many/2","mimeType":"text/plain","blob":"c2Vjb25k"},{"uri":"echo://many","mimeType":"text/markdown","text":"third"}],"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"larder","version":"0.1.0","title":"Test"}}}}"#]]).await;
}

#[tokio::test]
async fn reports_each_kind_of_error() {
    let http = HttpTestServer::start("echo trap_nth").await;
    let mut results = String::new();
    for uri in [
        "echo://error/not-found",
        "echo://error/invalid",
        "echo://error/denied",
        "echo://error/unavailable",
        "echo://error/failed",
        "echo://say/%2e%2e",
        "trap://7",
    ] {
        let answer = http.read(uri).await;
        let error = &answer.json()["error"];
        results += &format!(
            "{} {} {} {}\n",
            answer.verdict(),
            uri,
            error["message"],
            error["data"]
        );
    }
    expect![[r#"
        200 -32602 echo://error/not-found "Resource not found" {"uri":"echo://error/not-found"}
        200 -32602 echo://error/invalid "the provider `echo` refused the request: because the test wants it" null
        200 -32603 echo://error/denied "the provider `echo` denied the request: because the test wants it" {"kind":"denied","provider":"echo"}
        200 -32603 echo://error/unavailable "the provider `echo` is unavailable at the moment: because the test wants it" {"kind":"unavailable","provider":"echo"}
        200 -32603 echo://error/failed "the provider `echo` failed: because the test wants it" {"kind":"failed","provider":"echo"}
        200 -32602 echo://say/%2e%2e "`echo://say/%2e%2e` is refused: the value of `word` has a `..` segment" null
        200 -32603 trap://7 "the provider `trap_nth` failed: it trapped: wasm trap: wasm `unreachable` instruction executed" {"kind":"fault","provider":"trap_nth"}
    "#]].assert_eq(&results);
}

#[tokio::test]
async fn request_metadata_reaches_the_provider() {
    let http = HttpTestServer::start("echo").await;
    let params =
        json!({ "uri": "echo://hello", "_meta": { "com.example/trace": { "a": [1, 2] } } });
    let answer = http.modern("resources/read", params).await.json();
    let text = answer["result"]["contents"][0]["text"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        text.contains("metadata: com.example/trace={\"a\":[1,2]}"),
        "{text}"
    );
}

#[tokio::test]
async fn streams_progress_only_on_request() {
    let http = HttpTestServer::start("echo").await;
    let plain = http.read("echo://progress").await;
    assert_eq!(plain.headers["content-type"], "application/json");
    let params = json!({ "uri": "echo://progress", "_meta": { "progressToken": "p1" } });
    let streamed = http.modern("resources/read", params).await;
    assert_eq!(streamed.headers["content-type"], "text/event-stream");
    expect![[r#"
        event: message
        data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p1","progress":1.0,"total":3.0,"message":"step 1"}}

        event: message
        data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p1","progress":2.0,"total":3.0,"message":"step 2"}}

        event: message
        data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p1","progress":3.0,"total":3.0,"message":"step 3"}}

        event: message
        data: {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","contents":[{"uri":"echo://progress","mimeType":"text/plain","text":"done, cancelled: false"}],"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"larder","version":"0.1.0","title":"Test"}}}}

    "#]].assert_eq(&streamed.body);
    let params = json!({ "uri": "echo://hello", "_meta": { "progressToken": "p1" } });
    let without_progress = http.modern("resources/read", params).await;
    assert_eq!(without_progress.headers["content-type"], "application/json");
}
