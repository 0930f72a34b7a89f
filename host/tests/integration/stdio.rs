//! The endpoint on a pair of pipes, as a client that starts its servers has it.

use std::time::Duration;

use expect_test::expect;
use larder_core::telemetry::Telemetry;
use larder_mcp::auth::Authenticator;
use larder_mcp::{self as endpoint, Endpoint};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};

use crate::change_detector::by_events;
use crate::house::{House, Plan};
use crate::revision::{NOW, revision, text};
use crate::wire::{config, meta};

pub(crate) struct Pipes {
    pub(crate) house: House,
    input: WriteHalf<DuplexStream>,
    output: Lines<BufReader<ReadHalf<DuplexStream>>>,
}

impl Pipes {
    async fn open(plan: Plan) -> Self {
        Self::with(plan, config()).await
    }

    /// With an endpoint that is set up in another way.
    pub(crate) async fn with(plan: Plan, config: endpoint::Config) -> Self {
        let house = plan.open().await;
        let authenticator =
            Authenticator::new(config.auth.clone(), config.caller.clone(), house.drain.clone());
        let (gateway, drain, metrics) = (house.gateway.clone(), house.drain.clone(), house.metrics.clone());
        let endpoint = Endpoint::new(config, authenticator, gateway, drain, (metrics, Telemetry::default()));
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let (read, write) = tokio::io::split(theirs);
        house.drain.spawn(async move { endpoint.serve_stdio(read, write).await });
        let (read, input) = tokio::io::split(ours);
        Self { house, input, output: BufReader::new(read).lines() }
    }

    async fn line(&mut self, line: &str) {
        self.input.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    pub(crate) async fn send(&mut self, message: Value) {
        self.line(&message.to_string()).await;
    }

    pub(crate) async fn next(&mut self) -> Option<Value> {
        let line = tokio::time::timeout(Duration::from_secs(30), self.output.next_line()).await;
        let line = line.expect("nothing within half a minute").unwrap()?;
        Some(serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}")))
    }

    pub(crate) async fn ask(&mut self, message: Value) -> Value {
        self.send(message).await;
        self.next().await.unwrap()
    }
}

pub(crate) fn modern(id: Value, method: &str, mut params: Value) -> Value {
    params["_meta"] = meta();
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

pub(crate) fn legacy(id: Value, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

pub(crate) fn initialize() -> Value {
    let info = json!({ "name": "t", "version": "1" });
    legacy(
        json!(0),
        "initialize",
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info }),
    )
}

#[tokio::test]
async fn both_eras_on_one_pipe() {
    let mut pipes = Pipes::open(Plan::of("echo")).await;
    let early = pipes.ask(legacy(json!(9), "resources/list", json!({}))).await;
    assert!(early["error"]["code"].is_i64(), "before initialize: {early}");
    assert_eq!(pipes.ask(initialize()).await["result"]["protocolVersion"], "2025-11-25");
    pipes.send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
    let old = pipes.ask(legacy(json!(1), "resources/read", json!({ "uri": "echo://blob" }))).await;
    assert!(old["result"].get("resultType").is_none() && old["result"]["contents"].is_array(), "{old}");
    let new = pipes.ask(modern(json!("m"), "resources/read", json!({ "uri": "echo://blob" }))).await;
    assert_eq!((&new["id"], &new["result"]["resultType"]), (&json!("m"), &json!("complete")));
    let missing = |id| json!({ "uri": "echo://nothing/here", "id": id });
    let old = pipes.ask(legacy(json!(2), "resources/read", missing(2))).await;
    let new = pipes.ask(modern(json!(3), "resources/read", missing(3))).await;
    assert_eq!((&old["error"]["code"], &new["error"]["code"]), (&json!(-32002), &json!(-32602)));
}

#[tokio::test]
async fn bad_lines_are_answered_and_passed() {
    let mut pipes = Pipes::open(Plan::of("echo")).await;
    let mut seen = String::new();
    let long = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{}\"}}", "x".repeat(2 << 20));
    for line in [
        "{",
        "[]",
        "1",
        r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1}"#,
        &long,
    ] {
        pipes.line(line).await;
        seen +=
            &format!("{}: {}\n", &line[..line.len().min(40)], pipes.next().await.unwrap()["error"]["code"]);
    }
    expect![[r#"
        {: -32700
        []: -32600
        1: -32600
        {"jsonrpc":"2.0","id":null,"method":"pin: -32600
        {"jsonrpc":"2.0","id":1}: -32600
        {"jsonrpc":"2.0","id":1,"method":"xxxxxx: -32700
    "#]]
    .assert_eq(&seen);
    pipes.line("").await;
    let answer = pipes.ask(modern(json!(1), "server/discover", json!({}))).await;
    assert!(answer["result"].is_object(), "{answer}");
}

#[tokio::test]
async fn a_slow_read_blocks_nobody_and_can_be_cancelled() {
    let plan = Plan::of("echo sleep").terms("sleep", |grant, _| {
        grant.limits.concurrency = 1;
        grant.limits.timeout = Duration::from_secs(3_600);
    });
    let mut pipes = Pipes::open(plan).await;
    pipes.ask(initialize()).await;
    pipes.send(legacy(json!("slow"), "resources/read", json!({ "uri": "sleep://hour" }))).await;
    assert_eq!(
        pipes.ask(legacy(json!(1), "ping", json!({}))).await,
        json!({ "jsonrpc": "2.0", "id": 1, "result": {} })
    );
    pipes.send(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": "slow" } })).await;
    // The only turn is free again, and nothing more is said of the cancelled request.
    let answer = pipes.ask(modern(json!(2), "resources/read", json!({ "uri": "sleep://ms/1" }))).await;
    assert_eq!((&answer["id"], &answer["result"]["contents"][0]["text"]), (&json!(2), &json!("slept")));
}

#[tokio::test]
async fn listeners_are_told_on_the_same_pipe() {
    let mut pipes = Pipes::open(Plan::of("echo")).await;
    let wanted = json!({ "notifications": { "resourceSubscriptions": ["echo://hello"] } });
    let first = pipes.ask(modern(json!(7), "subscriptions/listen", wanted)).await;
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    pipes.house.run();
    pipes.send(modern(json!(8), "resources/read", json!({ "uri": "echo://touch/echo://hello" }))).await;
    let (one, other) = (pipes.next().await.unwrap(), pipes.next().await.unwrap());
    let updated = if one.get("method").is_some() { one } else { other };
    assert_eq!(updated["method"], "notifications/resources/updated", "{updated}");
    assert_eq!(updated["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 7);
    pipes.house.drain.stop();
    let end = pipes.next().await.unwrap();
    assert_eq!((&end["id"], &end["result"]["resultType"]), (&json!(7), &json!("complete")), "{end}");
    assert!(pipes.next().await.is_none());
}

async fn a_reload_is_told(subscribe: Value) {
    let mut pipes = Pipes::open(Plan::of("").file("revision.wasm", &revision(1))).await;
    pipes.house.run();
    if subscribe["params"].get("_meta").is_none() {
        pipes.ask(initialize()).await;
    }
    let answer = pipes.ask(subscribe).await;
    assert!(answer.get("error").is_none(), "{answer}");
    let mut known = pipes.house.look_out(by_events());
    known.wait_for(|known| *known == 1).await.unwrap();
    let plugins = pipes.house.plugins.clone();
    std::fs::write(plugins.join("new"), revision(2)).unwrap();
    std::fs::rename(plugins.join("new"), plugins.join("revision.wasm")).unwrap();
    let mut told = pipes.next().await.unwrap();
    while told["method"] != "notifications/resources/updated" {
        told = pipes.next().await.unwrap();
    }
    assert_eq!(told["params"]["uri"], NOW, "{told}");
    assert_eq!(pipes.house.text(NOW).await, text(2));
}

#[tokio::test]
async fn a_reload_that_changed_the_answer_is_told_to_both_eras() {
    a_reload_is_told(legacy(json!(1), "resources/subscribe", json!({ "uri": NOW }))).await;
    let wanted = json!({ "notifications": { "resourceSubscriptions": [NOW] } });
    a_reload_is_told(modern(json!(1), "subscriptions/listen", wanted)).await;
}

#[tokio::test]
async fn where_nobody_can_be_answered_nothing_goes_on() {
    let plan = Plan::of("sleep").terms("sleep", |grant, _| grant.limits.timeout = Duration::from_secs(3_600));
    let house = plan.open().await;
    let config = config();
    let authenticator = Authenticator::new(config.auth.clone(), config.caller.clone(), house.drain.clone());
    let (gateway, drain, metrics) = (house.gateway.clone(), house.drain.clone(), house.metrics.clone());
    let endpoint = Endpoint::new(config, authenticator, gateway, drain, (metrics, Telemetry::default()));
    let (input, read) = tokio::io::duplex(64 * 1024);
    let (write, output) = tokio::io::duplex(64 * 1024);
    let serving = house.drain.spawn(async move { endpoint.serve_stdio(read, write).await });
    // Its input stays open, and nobody reads what it says.
    let mut input = BufReader::new(input);
    let mut output = BufReader::new(output).lines();
    let mut say = async |message: Value| {
        input.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    };
    say(modern(json!(1), "subscriptions/listen", json!({ "notifications": {} }))).await;
    let reading = json!({ "uri": "sleep://hour", "_meta": {} });
    say(modern(json!(2), "resources/read", reading)).await;
    assert!(output.next_line().await.unwrap().unwrap().contains("acknowledged"));
    drop(output);
    say(modern(json!(3), "server/discover", json!({}))).await;
    assert!(serving.await.unwrap().unwrap().is_err());
    assert!(house.drain.finish(Duration::from_secs(30)).await, "what ran for the client goes with it");
}

#[tokio::test]
async fn the_end_of_the_input_is_the_end() {
    let mut pipes = Pipes::open(Plan::of("echo")).await;
    assert!(pipes.ask(modern(json!(1), "server/discover", json!({}))).await["result"].is_object());
    pipes.input.shutdown().await.unwrap();
    assert!(pipes.next().await.is_none());
    assert!(pipes.house.drain.finish(Duration::from_secs(30)).await);
}
