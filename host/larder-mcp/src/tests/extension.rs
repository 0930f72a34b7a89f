//! The extension `resources-get`: what it adds if it is enabled, and that it changes nothing if it is disabled.

use std::fmt::Write as _;

use expect_test::expect;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

use super::endpoint::{TestEndpoint, config};
use super::guests::{echo, full};
use crate::{Config, Extension};
use larder_core::test_team;
use larder_provider::fake::FakeContent;

const GET: &str = "resources/get";
const SUBSCRIBE: &str = "resources/subscribe";

/// Serves these providers with the extension.
async fn serve<'a>(providers: impl IntoIterator<Item = (&'a str, FakeContent)>) -> TestEndpoint {
    let config = Config {
        extensions: [Extension::ResourcesGet].into(),
        ..config()
    };
    TestEndpoint::with_config(providers, test_team::config(1_000), config).await
}

/// The JSON of a stdio message.
fn message(id: u32, method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string() + "\n"
}

#[tokio::test]
async fn has_no_effect_if_it_is_disabled() {
    let http = TestEndpoint::serve([("full", full())]).await;
    let session = http.session("2025-11-25").await;
    let modern = http.modern(GET, json!({"uri": "full://one"})).await;
    let mut responses = format!("{} {}\n", modern.status, modern.body);
    for (method, params) in [
        (GET, json!({"uri": "full://one"})),
        (GET, json!([])),
        (SUBSCRIBE, json!({"uris": ["full://one"]})),
        ("resources/unsubscribe", json!({"uris": 1})),
    ] {
        let answer = http.legacy(&session, method, params).await;
        writeln!(responses, "{} {}", answer.status, answer.body).unwrap();
    }
    expect![[r#"
        404 {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"unknown method `resources/get`"}}
        200 {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"unknown method `resources/get`"}}
        200 {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"unknown method `resources/get`"}}
        200 {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"`uri` is missing"}}
        200 {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"`uri` is missing"}}
    "#]]
    .assert_eq(&responses);
}

#[tokio::test]
async fn get_returns_the_resource_and_its_content() {
    let http = serve([("full", full()), ("echo", echo())]).await;
    let session = http.session("2025-11-25").await;
    let mut responses = String::new();
    for params in [
        json!({"uri": "full://one"}),
        json!({"uri": "full://one", "version": "0"}),
        json!({"uri": "full://one", "version": "1"}),
        json!({"uri": "full://word/x"}),
        json!({"uri": "echo://blob"}),
        json!({"uri": "echo://many"}),
        json!({"uri": "nobody:x"}),
        json!({"uri": "full://one", "version": 1}),
        json!({}),
    ] {
        let answer = http.legacy(&session, GET, params.clone()).await.json();
        let result = answer.get("result").or_else(|| answer.get("error"));
        writeln!(responses, "{params}: {}", result.unwrap()).unwrap();
    }
    expect![[r#"
        {"uri":"full://one"}: {"_meta":{"dev.larder/version":"1"},"contents":{"content":"one","contentType":"text/plain"},"resource":{"description":"the first","kind":"file","metadata":{"example.com/colour":{"name":"blue"}},"name":"one","title":"One","uri":"full://one","version":"1"}}
        {"uri":"full://one","version":"0"}: {"_meta":{"dev.larder/version":"1"},"contents":{"content":"one","contentType":"text/plain"},"resource":{"description":"the first","kind":"file","metadata":{"example.com/colour":{"name":"blue"}},"name":"one","title":"One","uri":"full://one","version":"1"}}
        {"uri":"full://one","version":"1"}: {"code":-31001,"data":{"uri":"full://one","version":"1"},"message":"not modified: the client has the current version"}
        {"uri":"full://word/x"}: {"_meta":{"dev.larder/version":"1"},"contents":{"content":"one","contentType":"text/plain"},"resource":{"uri":"full://word/x","version":"1"}}
        {"uri":"echo://blob"}: {"contents":{"blob":"AJ+Slg==","contentType":"application/octet-stream"},"resource":{"name":"echo://blob","uri":"echo://blob"}}
        {"uri":"echo://many"}: {"contents":[{"content":"first","contentType":"text/plain","uri":"echo://many/1"},{"blob":"c2Vjb25k","contentType":"text/plain","uri":"echo://many/2"},{"content":"third","contentType":"text/markdown","uri":"echo://many"}],"resource":{"name":"echo://many","uri":"echo://many"}}
        {"uri":"nobody:x"}: {"code":-32002,"data":{"uri":"nobody:x"},"message":"Resource not found"}
        {"uri":"full://one","version":1}: {"code":-32602,"message":"`version` must be a string"}
        {}: {"code":-32602,"message":"`uri` is missing"}
    "#]]
    .assert_eq(&responses);
    let mut modern = http.modern(GET, json!({"uri": "full://one"})).await.json();
    modern["result"]["ttlMs"] = json!(0);
    let modern = &modern["result"];
    expect![[r#"{"_meta":{"dev.larder/version":"1","io.modelcontextprotocol/serverInfo":{"name":"larder","title":"Test","version":"0.1.0"}},"cacheScope":"private","contents":{"content":"one","contentType":"text/plain"},"resource":{"description":"the first","kind":"file","metadata":{"example.com/colour":{"name":"blue"}},"name":"one","title":"One","uri":"full://one","version":"1"},"resultType":"complete","ttlMs":0}"#]]
        .assert_eq(&modern.to_string());
    let missing = http.modern(GET, json!({"uri": "nobody:x"})).await;
    assert_eq!(missing.verdict(), "200 -32602");
}

/// A read of `slow:x` does not end.
async fn serve_slow() -> TestEndpoint {
    let slow = FakeContent::default().with_text("slow:x", "");
    let http = serve([("slow", slow), ("echo", echo())]).await;
    http.content.pause();
    http
}

/// The resource of a notification: with its content, or only its URI.
fn subject(message: &Value) -> [&Value; 2] {
    let params = &message["params"];
    [&params["uri"], &params["resource"]["uri"]]
}

#[tokio::test(start_paused = true)]
async fn a_slow_provider_does_not_delay_other_updates() {
    let http = serve_slow().await;
    let session = http.session("2025-11-25").await;
    for params in [
        json!({"uris": ["slow:x", "echo://say/x"]}),
        json!({"uri": "echo://hello"}),
    ] {
        let answer = http.legacy(&session, SUBSCRIBE, params).await;
        assert_eq!(answer.verdict(), "200 ok", "{}", answer.body);
    }
    let mut events = http.stream(&session).await;
    http.report_update("slow:x");
    for _ in 0..2 {
        // The keep-alive comments are sent in the meantime.
        while !events.next_part().await.unwrap().starts_with(':') {}
        http.report_update("echo://hello");
        let hello = events.next().await.unwrap();
        assert_eq!(subject(&hello), [&json!("echo://hello"), &Value::Null]);
        http.report_update("echo://say/x");
        let said = events.next().await.unwrap();
        assert_eq!(subject(&said), [&Value::Null, &json!("echo://say/x")]);
    }
    assert_eq!(http.content.running(), 1, "the update still waits");
}

#[tokio::test]
async fn a_slow_provider_does_not_delay_other_updates_over_stdio() {
    let http = serve_slow().await;
    let (client, server) = tokio::io::duplex(64 << 10);
    let (input, output) = tokio::io::split(server);
    let endpoint = http.endpoint.clone();
    http.drain
        .spawn(async move { endpoint.serve_stdio(input, output).await });
    let (output, mut input) = tokio::io::split(client);
    let mut lines = BufReader::new(output).lines();
    let mut next = async || {
        let line = lines.next_line().await.unwrap().unwrap();
        serde_json::from_str::<Value>(&line).unwrap()
    };
    let client = json!({"name": "t", "version": "1"});
    for (method, params) in [
        (
            "initialize",
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}),
        ),
        (SUBSCRIBE, json!({"uris": ["slow:x", "echo://say/x"]})),
        (SUBSCRIBE, json!({"uri": "echo://hello"})),
    ] {
        let line = message(1, method, &params);
        input.write_all(line.as_bytes()).await.unwrap();
        let answer = next().await;
        assert!(answer["result"].is_object(), "{answer}");
    }
    http.report_update("slow:x");
    for _ in 0..2 {
        http.report_update("echo://hello");
        let hello = next().await;
        assert_eq!(subject(&hello), [&json!("echo://hello"), &Value::Null]);
        http.report_update("echo://say/x");
        let said = next().await;
        assert_eq!(subject(&said), [&Value::Null, &json!("echo://say/x")]);
    }
    assert_eq!(http.content.running(), 1, "the update still waits");
}

fn many(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("echo://say/{n}")).collect()
}

#[tokio::test]
async fn subscribes_to_all_uris_or_none() {
    let http = serve([("echo", echo())]).await;
    let session = http.session("2025-11-25").await;
    let subscribe = async |params| http.legacy(&session, SUBSCRIBE, params).await.verdict();
    assert_eq!(subscribe(json!({"uri": "echo://hello"})).await, "200 ok");
    for (uris, verdict) in [
        (json!(["echo://blob", "nobody:x"]), "200 -32002"),
        (json!(["echo://blob", "no uri"]), "200 -32602"),
        (json!("echo://blob"), "200 -32602"),
        (json!(many(200)), "200 -32603"),
        (json!(many(1_025)), "200 -32602"),
        (json!([]), "200 ok"),
    ] {
        assert_eq!(subscribe(json!({"uris": uris})).await, verdict, "{uris}");
    }
    // The earlier subscription is unchanged, and the failed subscriptions have not added any.
    let mut events = http.stream(&session).await;
    for uri in ["echo://blob", "echo://say/0", "echo://hello"] {
        http.report_update(uri);
    }
    let updated = events.next().await.unwrap();
    assert_eq!(updated["method"], "notifications/resources/updated");
    assert_eq!(updated["params"]["uri"], "echo://hello");
    assert_eq!(subscribe(json!({"uris": many(99)})).await, "200 ok");
}
