//! The dialect `resources-get`: what it adds where the operator wants it, and that nobody notices it where not.

use std::time::Duration;

use expect_test::expect;
use larder_mcp::{self as endpoint, Extension};
use serde_json::{Value, json};

use crate::house::Plan;
use crate::listening::Events;
use crate::stdio::{Pipes, initialize, legacy};
use crate::wire::{Wire, config};

const GET: &str = "resources/get";

pub(crate) fn spoken() -> endpoint::Config {
    endpoint::Config { extensions: [Extension::ResourcesGet].into(), ..config() }
}

/// A URI that takes an hour to be read, and a house in which it may.
pub(crate) fn slow() -> (&'static str, Plan) {
    let plan = Plan::of("echo fresh").terms("fresh", |grant, _| {
        grant.limits.timeout = Duration::from_secs(7_200);
    });
    ("fresh://everyone/0/3600000/slow", plan)
}

#[tokio::test]
async fn where_it_is_off_nobody_notices_it() {
    let wire = Wire::of("full").await;
    let session = wire.session("2025-11-25").await;
    let modern = wire.modern(GET, json!({ "uri": "full://one" })).await;
    let mut seen = format!("{} {}\n", modern.status, modern.body);
    for (method, params) in [
        (GET, json!({ "uri": "full://one" })),
        (GET, json!([])),
        ("resources/subscribe", json!({ "uris": ["full://one"] })),
        ("resources/unsubscribe", json!({ "uris": 1 })),
    ] {
        let answer = wire.legacy(&session, method, params).await;
        seen += &format!("{} {}\n", answer.status, answer.body);
    }
    expect![[r#"
        404 {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"unknown method `resources/get`"}}
        200 {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"unknown method `resources/get`"}}
        200 {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"unknown method `resources/get`"}}
        200 {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"`uri` is missing"}}
        200 {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"`uri` is missing"}}
    "#]]
    .assert_eq(&seen);
}

#[tokio::test]
async fn a_resource_comes_with_what_it_holds() {
    let wire = Wire::with(Plan::of("full echo"), spoken()).await;
    let session = wire.session("2025-11-25").await;
    let mut seen = String::new();
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
        let answer = wire.legacy(&session, GET, params.clone()).await;
        let answer = answer.json();
        let said = answer.get("result").or_else(|| answer.get("error")).unwrap();
        seen += &format!("{params}: {said}\n");
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
    "#]].assert_eq(&seen);
    let modern = wire.modern(GET, json!({ "uri": "full://one" })).await.body;
    let modern = regex_lite::Regex::new(r#""ttlMs":\d+"#).unwrap().replace(&modern, r#""ttlMs":0"#);
    expect![[r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","resource":{"uri":"full://one","kind":"file","name":"one","title":"One","description":"the first","version":"1","metadata":{"example.com/colour":{"name":"blue"}}},"contents":{"contentType":"text/plain","content":"one"},"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"larder","version":"0.1.0","title":"Test"},"dev.larder/version":"1"}}}"#]].assert_eq(&modern);
    assert_eq!(wire.modern(GET, json!({ "uri": "nobody:x" })).await.verdict(), "200 -32602");
}

#[tokio::test]
async fn updates_carry_the_resource_to_those_who_asked_so() {
    let mut wire = Wire::with(Plan::of("full echo"), spoken()).await;
    wire.run();
    let session = wire.session("2025-11-25").await;
    let request = wire.client.get(&wire.url).header("accept", "text/event-stream");
    let mut events = Events::of(request.header("mcp-session-id", &session)).await;
    let ask = async |method: &str, params: Value| wire.legacy(&session, method, params).await.verdict();
    let touch = async |uri: &str| {
        assert_eq!(ask("resources/read", json!({ "uri": format!("echo://touch/{uri}") })).await, "200 ok");
    };
    let both = json!({ "uris": ["echo://hello", "echo://say/x"] });
    assert_eq!(ask("resources/subscribe", both).await, "200 ok");
    assert_eq!(ask("resources/subscribe", json!({ "uri": "echo://blob" })).await, "200 ok");
    touch("echo://hello").await;
    expect![[r#"{"jsonrpc":"2.0","method":"notifications/resources/content_changed","params":{"resource":{"name":"echo://hello","uri":"echo://hello"}}}"#]].assert_eq(&events.next().await.unwrap().to_string());
    touch("echo://blob").await;
    expect![[
        r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"echo://blob"}}"#
    ]]
    .assert_eq(&events.next().await.unwrap().to_string());
    // Of two that are told of, the one that was given up is not.
    assert_eq!(ask("resources/unsubscribe", json!({ "uris": ["echo://hello"] })).await, "200 ok");
    touch("echo://hello").await;
    touch("echo://say/x").await;
    assert_eq!(events.next().await.unwrap()["params"]["resource"]["uri"], "echo://say/x");
}

#[tokio::test]
async fn a_slow_provider_holds_back_no_other_news() {
    let (slow, plan) = slow();
    let mut wire = Wire::with(plan, spoken()).await;
    wire.run();
    let session = wire.session("2025-11-25").await;
    let all = json!({ "uris": [slow, "echo://say/x"] });
    let touch = async |uri: &str| wire.read(&format!("echo://touch/{uri}")).await;
    assert_eq!(wire.legacy(&session, "resources/subscribe", all).await.verdict(), "200 ok");
    let plain = json!({ "uri": "echo://hello" });
    assert_eq!(wire.legacy(&session, "resources/subscribe", plain).await.verdict(), "200 ok");
    let request = wire.client.get(&wire.url).header("accept", "text/event-stream");
    let mut events = Events::of(request.header("mcp-session-id", &session)).await;
    wire.read(&format!("fresh://everyone/0/0/touch/{slow}")).await;
    for _ in 0..2 {
        events.alive().await;
        touch("echo://hello").await;
        assert_eq!(events.next().await.unwrap()["params"]["uri"], "echo://hello");
        touch("echo://say/x").await;
        assert_eq!(events.next().await.unwrap()["params"]["resource"]["uri"], "echo://say/x");
    }
}

#[tokio::test]
async fn a_slow_provider_holds_back_no_other_news_on_a_pipe() {
    let (slow, plan) = slow();
    let mut pipes = Pipes::with(plan, spoken()).await;
    pipes.house.run();
    pipes.ask(initialize()).await;
    pipes.ask(legacy(json!(1), "resources/subscribe", json!({ "uris": [slow, "echo://say/x"] }))).await;
    pipes.ask(legacy(json!(2), "resources/subscribe", json!({ "uri": "echo://hello" }))).await;
    pipes.house.text(&format!("fresh://everyone/0/0/touch/{slow}")).await;
    for _ in 0..2 {
        pipes.house.text("echo://touch/echo://hello").await;
        assert_eq!(pipes.next().await.unwrap()["params"]["uri"], "echo://hello");
        pipes.house.text("echo://touch/echo://say/x").await;
        assert_eq!(pipes.next().await.unwrap()["params"]["resource"]["uri"], "echo://say/x");
    }
}

fn many(count: usize) -> impl Iterator<Item = String> {
    (0..count).map(|n| format!("echo://say/{n}"))
}

#[tokio::test]
async fn several_are_subscribed_to_or_none() {
    let mut wire = Wire::with(Plan::of("echo"), spoken()).await;
    wire.run();
    let session = wire.session("2025-11-25").await;
    let one = wire.legacy(&session, "resources/subscribe", json!({ "uri": "echo://hello" })).await;
    assert_eq!(one.verdict(), "200 ok");
    for (uris, verdict) in [
        (json!(["echo://hello", "nobody:x"]), "200 -32002"),
        (json!(["echo://hello", "no uri"]), "200 -32602"),
        (json!("echo://hello"), "200 -32602"),
        (
            json!(["echo://hello"].into_iter().map(str::to_owned).chain(many(200)).collect::<Vec<_>>()),
            "200 -32603",
        ),
        (json!(many(1_025).collect::<Vec<_>>()), "200 -32602"),
        (json!([]), "200 ok"),
    ] {
        let answer = wire.legacy(&session, "resources/subscribe", json!({ "uris": uris })).await;
        assert_eq!(answer.verdict(), verdict, "{}", answer.body);
    }
    // What was subscribed to before stays as it was, and nothing else is left of what failed.
    let request = wire.client.get(&wire.url).header("accept", "text/event-stream");
    let mut events = Events::of(request.header("mcp-session-id", &session)).await;
    let touch = json!({ "uri": "echo://touch/echo://hello" });
    wire.legacy(&session, "resources/read", touch).await;
    assert_eq!(events.next().await.unwrap()["method"], "notifications/resources/updated");
    let all: Vec<_> = many(99).collect();
    let answer = wire.legacy(&session, "resources/subscribe", json!({ "uris": all })).await;
    assert_eq!(answer.verdict(), "200 ok", "{}", answer.body);
}

#[tokio::test]
async fn it_is_spoken_on_a_pipe_too() {
    let mut pipes = Pipes::with(Plan::of("echo"), spoken()).await;
    pipes.house.run();
    pipes.ask(initialize()).await;
    let got = pipes.ask(legacy(json!(1), GET, json!({ "uri": "echo://blob" }))).await;
    assert_eq!(got["result"]["contents"]["blob"], "AJ+Slg==", "{got}");
    let subscribed =
        pipes.ask(legacy(json!(2), "resources/subscribe", json!({ "uris": ["echo://hello"] }))).await;
    assert_eq!(subscribed, json!({ "jsonrpc": "2.0", "id": 2, "result": {} }));
    pipes.send(legacy(json!(3), "resources/read", json!({ "uri": "echo://touch/echo://hello" }))).await;
    let (one, other) = (pipes.next().await.unwrap(), pipes.next().await.unwrap());
    let told = if one.get("method").is_some() { one } else { other };
    assert_eq!(told["method"], "notifications/resources/content_changed", "{told}");
    assert_eq!(told["params"]["resource"]["uri"], "echo://hello");
}
