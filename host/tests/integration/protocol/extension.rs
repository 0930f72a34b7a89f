//! The extension `resources-get`: what it adds if it is enabled, and that it changes nothing if it is disabled.

use std::time::Duration;

use expect_test::expect;
use larder_mcp::{self as endpoint, Extension};
use serde_json::{Value, json};

use crate::protocol::stdio::{StdioTestServer, initialize, legacy};
use crate::protocol::subscriptions::Events;
use crate::support::harness::{TestServer, TestServerBuilder};
use crate::support::http_server::{HttpTestServer, config};

const GET: &str = "resources/get";

pub(crate) fn extension_config() -> endpoint::Config {
    endpoint::Config {
        extensions: [Extension::ResourcesGet].into(),
        ..config()
    }
}

/// A URI whose read takes an hour, and a server whose limits allow that.
pub(crate) fn slow_read() -> (&'static str, TestServerBuilder) {
    let plan = TestServer::builder("echo fresh").provider("fresh", |grant, _| {
        grant.limits.timeout = Duration::from_secs(7_200);
    });
    ("fresh://everyone/0/3600000/slow", plan)
}

#[tokio::test]
async fn has_no_effect_if_it_is_disabled() {
    let http = HttpTestServer::start("full").await;
    let session = http.session("2025-11-25").await;
    let modern = http.modern(GET, json!({ "uri": "full://one" })).await;
    let mut responses = format!("{} {}\n", modern.status, modern.body);
    for (method, params) in [
        (GET, json!({ "uri": "full://one" })),
        (GET, json!([])),
        ("resources/subscribe", json!({ "uris": ["full://one"] })),
        ("resources/unsubscribe", json!({ "uris": 1 })),
    ] {
        let answer = http.legacy(&session, method, params).await;
        responses += &format!("{} {}\n", answer.status, answer.body);
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
    let http =
        HttpTestServer::with_config(TestServer::builder("full echo"), extension_config()).await;
    let session = http.session("2025-11-25").await;
    let mut responses = String::new();
    for params in [
        json!({ "uri": "full://one" }),
        json!({ "uri": "full://one", "version": "0" }),
        json!({ "uri": "full://one", "version": "1" }),
        json!({ "uri": "full://word/x" }),
        json!({ "uri": "echo://blob" }),
        json!({ "uri": "echo://many" }),
        json!({ "uri": "nobody:x" }),
        json!({ "uri": "full://one", "version": 1 }),
        json!({}),
    ] {
        let answer = http.legacy(&session, GET, params.clone()).await;
        let answer = answer.json();
        let result = answer
            .get("result")
            .or_else(|| answer.get("error"))
            .unwrap();
        responses += &format!("{params}: {result}\n");
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
    "#]].assert_eq(&responses);
    let modern = http.modern(GET, json!({ "uri": "full://one" })).await.body;
    let modern = regex_lite::Regex::new(r#""ttlMs":\d+"#)
        .unwrap()
        .replace(&modern, r#""ttlMs":0"#);
    expect![[r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","resource":{"uri":"full://one","kind":"file","name":"one","title":"One","description":"the first","version":"1","metadata":{"example.com/colour":{"name":"blue"}}},"contents":{"contentType":"text/plain","content":"one"},"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"larder","version":"0.1.0","title":"Test"},"dev.larder/version":"1"}}}"#]].assert_eq(&modern);
    assert_eq!(
        http.modern(GET, json!({ "uri": "nobody:x" }))
            .await
            .verdict(),
        "200 -32602"
    );
}

#[tokio::test]
async fn updates_carry_the_resource_for_subscriptions_with_uris() {
    let mut http =
        HttpTestServer::with_config(TestServer::builder("full echo"), extension_config()).await;
    http.run_reconciler();
    let session = http.session("2025-11-25").await;
    let request = http
        .client
        .get(&http.url)
        .header("accept", "text/event-stream");
    let mut events = Events::of(request.header("mcp-session-id", &session)).await;
    let request =
        async |method: &str, params: Value| http.legacy(&session, method, params).await.verdict();
    let touch = async |uri: &str| {
        assert_eq!(
            request(
                "resources/read",
                json!({ "uri": format!("echo://touch/{uri}") })
            )
            .await,
            "200 ok"
        );
    };
    let both = json!({ "uris": ["echo://hello", "echo://say/x"] });
    assert_eq!(request("resources/subscribe", both).await, "200 ok");
    assert_eq!(
        request("resources/subscribe", json!({ "uri": "echo://blob" })).await,
        "200 ok"
    );
    touch("echo://hello").await;
    expect![[r#"{"jsonrpc":"2.0","method":"notifications/resources/content_changed","params":{"resource":{"name":"echo://hello","uri":"echo://hello"}}}"#]].assert_eq(&events.next().await.unwrap().to_string());
    touch("echo://blob").await;
    expect![[
        r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"echo://blob"}}"#
    ]]
    .assert_eq(&events.next().await.unwrap().to_string());
    // Of the two updates, only the update of the unsubscribed URI is not sent.
    assert_eq!(
        request("resources/unsubscribe", json!({ "uris": ["echo://hello"] })).await,
        "200 ok"
    );
    touch("echo://hello").await;
    touch("echo://say/x").await;
    assert_eq!(
        events.next().await.unwrap()["params"]["resource"]["uri"],
        "echo://say/x"
    );
}

#[tokio::test]
async fn a_slow_provider_does_not_delay_other_updates() {
    let (slow, plan) = slow_read();
    let mut http = HttpTestServer::with_config(plan, extension_config()).await;
    http.run_reconciler();
    let session = http.session("2025-11-25").await;
    let all = json!({ "uris": [slow, "echo://say/x"] });
    let touch = async |uri: &str| http.read(&format!("echo://touch/{uri}")).await;
    assert_eq!(
        http.legacy(&session, "resources/subscribe", all)
            .await
            .verdict(),
        "200 ok"
    );
    let plain = json!({ "uri": "echo://hello" });
    assert_eq!(
        http.legacy(&session, "resources/subscribe", plain)
            .await
            .verdict(),
        "200 ok"
    );
    let request = http
        .client
        .get(&http.url)
        .header("accept", "text/event-stream");
    let mut events = Events::of(request.header("mcp-session-id", &session)).await;
    http.read(&format!("fresh://everyone/0/0/touch/{slow}"))
        .await;
    for _ in 0..2 {
        events.next_keep_alive().await;
        touch("echo://hello").await;
        assert_eq!(
            events.next().await.unwrap()["params"]["uri"],
            "echo://hello"
        );
        touch("echo://say/x").await;
        assert_eq!(
            events.next().await.unwrap()["params"]["resource"]["uri"],
            "echo://say/x"
        );
    }
}

#[tokio::test]
async fn a_slow_provider_does_not_delay_other_updates_over_stdio() {
    let (slow, plan) = slow_read();
    let mut stdio = StdioTestServer::with_config(plan, extension_config()).await;
    stdio.server.run_reconciler();
    stdio.request(initialize()).await;
    stdio
        .request(legacy(
            json!(1),
            "resources/subscribe",
            json!({ "uris": [slow, "echo://say/x"] }),
        ))
        .await;
    stdio
        .request(legacy(
            json!(2),
            "resources/subscribe",
            json!({ "uri": "echo://hello" }),
        ))
        .await;
    stdio
        .server
        .text(&format!("fresh://everyone/0/0/touch/{slow}"))
        .await;
    for _ in 0..2 {
        stdio.server.text("echo://touch/echo://hello").await;
        assert_eq!(stdio.next().await.unwrap()["params"]["uri"], "echo://hello");
        stdio.server.text("echo://touch/echo://say/x").await;
        assert_eq!(
            stdio.next().await.unwrap()["params"]["resource"]["uri"],
            "echo://say/x"
        );
    }
}

fn many(count: usize) -> impl Iterator<Item = String> {
    (0..count).map(|n| format!("echo://say/{n}"))
}

#[tokio::test]
async fn subscribes_to_all_uris_or_none() {
    let mut http =
        HttpTestServer::with_config(TestServer::builder("echo"), extension_config()).await;
    http.run_reconciler();
    let session = http.session("2025-11-25").await;
    let one = http
        .legacy(
            &session,
            "resources/subscribe",
            json!({ "uri": "echo://hello" }),
        )
        .await;
    assert_eq!(one.verdict(), "200 ok");
    for (uris, verdict) in [
        (json!(["echo://hello", "nobody:x"]), "200 -32002"),
        (json!(["echo://hello", "no uri"]), "200 -32602"),
        (json!("echo://hello"), "200 -32602"),
        (
            json!(
                ["echo://hello"]
                    .into_iter()
                    .map(str::to_owned)
                    .chain(many(200))
                    .collect::<Vec<_>>()
            ),
            "200 -32603",
        ),
        (json!(many(1_025).collect::<Vec<_>>()), "200 -32602"),
        (json!([]), "200 ok"),
    ] {
        let answer = http
            .legacy(&session, "resources/subscribe", json!({ "uris": uris }))
            .await;
        assert_eq!(answer.verdict(), verdict, "{}", answer.body);
    }
    // The earlier subscription is unchanged, and the failed subscriptions have not added any.
    let request = http
        .client
        .get(&http.url)
        .header("accept", "text/event-stream");
    let mut events = Events::of(request.header("mcp-session-id", &session)).await;
    let touch = json!({ "uri": "echo://touch/echo://hello" });
    http.legacy(&session, "resources/read", touch).await;
    assert_eq!(
        events.next().await.unwrap()["method"],
        "notifications/resources/updated"
    );
    let all: Vec<_> = many(99).collect();
    let answer = http
        .legacy(&session, "resources/subscribe", json!({ "uris": all }))
        .await;
    assert_eq!(answer.verdict(), "200 ok", "{}", answer.body);
}

#[tokio::test]
async fn works_over_stdio() {
    let mut stdio =
        StdioTestServer::with_config(TestServer::builder("echo"), extension_config()).await;
    stdio.server.run_reconciler();
    stdio.request(initialize()).await;
    let got = stdio
        .request(legacy(json!(1), GET, json!({ "uri": "echo://blob" })))
        .await;
    assert_eq!(got["result"]["contents"]["blob"], "AJ+Slg==", "{got}");
    let subscribed = stdio
        .request(legacy(
            json!(2),
            "resources/subscribe",
            json!({ "uris": ["echo://hello"] }),
        ))
        .await;
    assert_eq!(
        subscribed,
        json!({ "jsonrpc": "2.0", "id": 2, "result": {} })
    );
    stdio
        .send(legacy(
            json!(3),
            "resources/read",
            json!({ "uri": "echo://touch/echo://hello" }),
        ))
        .await;
    let (one, other) = (stdio.next().await.unwrap(), stdio.next().await.unwrap());
    let notification = if one.get("method").is_some() {
        one
    } else {
        other
    };
    assert_eq!(
        notification["method"], "notifications/resources/content_changed",
        "{notification}"
    );
    assert_eq!(notification["params"]["resource"]["uri"], "echo://hello");
}
