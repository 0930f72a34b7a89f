//! The stdio endpoint on a pair of pipes, as for a client that starts the server itself.

use std::time::Duration;

use expect_test::expect;
use larder_mcp::auth::Authenticator;
use larder_mcp::{self as endpoint, Endpoint, EndpointParts};
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};

use crate::changes::change_detector::signals_only;
use crate::support::harness::{TestServer, TestServerBuilder};
use crate::support::http_server::{config, meta};
use crate::support::revision::{NOW, revision, text};

/// A server with a stdio endpoint, and the client's ends of its pipes.
pub(crate) struct StdioTestServer {
    pub(crate) server: TestServer,
    input: WriteHalf<DuplexStream>,
    output: Lines<BufReader<ReadHalf<DuplexStream>>>,
}

impl StdioTestServer {
    async fn from_builder(builder: TestServerBuilder) -> Self {
        Self::with_config(builder, config()).await
    }

    /// Starts a server whose endpoint has this configuration.
    pub(crate) async fn with_config(builder: TestServerBuilder, config: endpoint::Config) -> Self {
        let server = builder.start().await;
        let authenticator = Authenticator::new(
            config.auth.clone(),
            config.caller.clone(),
            server.drain.clone(),
        );
        let (gateway, drain, metrics) = (
            server.gateway.clone(),
            server.drain.clone(),
            server.metrics.clone(),
        );
        let endpoint = Endpoint::new(
            config,
            EndpointParts::new(authenticator, gateway, drain, metrics),
        );
        let (client_end, server_end) = tokio::io::duplex(64 * 1024);
        let (read, write) = tokio::io::split(server_end);
        server
            .drain
            .spawn(async move { endpoint.serve_stdio(read, write).await });
        let (read, input) = tokio::io::split(client_end);
        Self {
            server,
            input,
            output: BufReader::new(read).lines(),
        }
    }

    async fn line(&mut self, line: &str) {
        self.input
            .write_all(format!("{line}\n").as_bytes())
            .await
            .unwrap();
    }

    pub(crate) async fn send(&mut self, message: Value) {
        self.line(&message.to_string()).await;
    }

    pub(crate) async fn next(&mut self) -> Option<Value> {
        let line = tokio::time::timeout(Duration::from_secs(30), self.output.next_line()).await;
        let line = line.expect("no message within 30 seconds").unwrap()?;
        Some(serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}")))
    }

    /// Sends a message, and returns the next one that arrives.
    pub(crate) async fn request(&mut self, message: Value) -> Value {
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
async fn serves_both_eras_on_one_pipe() {
    let mut stdio = StdioTestServer::from_builder(TestServer::builder("echo")).await;
    let early = stdio
        .request(legacy(json!(9), "resources/list", json!({})))
        .await;
    assert!(
        early["error"]["code"].is_i64(),
        "before initialize: {early}"
    );
    assert_eq!(
        stdio.request(initialize()).await["result"]["protocolVersion"],
        "2025-11-25"
    );
    stdio
        .send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))
        .await;
    let old = stdio
        .request(legacy(
            json!(1),
            "resources/read",
            json!({ "uri": "echo://blob" }),
        ))
        .await;
    assert!(
        old["result"].get("resultType").is_none() && old["result"]["contents"].is_array(),
        "{old}"
    );
    let new = stdio
        .request(modern(
            json!("m"),
            "resources/read",
            json!({ "uri": "echo://blob" }),
        ))
        .await;
    assert_eq!(
        (&new["id"], &new["result"]["resultType"]),
        (&json!("m"), &json!("complete"))
    );
    let missing = |id| json!({ "uri": "echo://nothing/here", "id": id });
    let old = stdio
        .request(legacy(json!(2), "resources/read", missing(2)))
        .await;
    let new = stdio
        .request(modern(json!(3), "resources/read", missing(3)))
        .await;
    assert_eq!(
        (&old["error"]["code"], &new["error"]["code"]),
        (&json!(-32002), &json!(-32602))
    );
}

#[tokio::test]
async fn answers_invalid_lines_and_continues() {
    let mut stdio = StdioTestServer::from_builder(TestServer::builder("echo")).await;
    let mut results = String::new();
    let long = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{}\"}}",
        "x".repeat(2 << 20)
    );
    for line in [
        "{",
        "[]",
        "1",
        r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1}"#,
        &long,
    ] {
        stdio.line(line).await;
        results += &format!(
            "{}: {}\n",
            &line[..line.len().min(40)],
            stdio.next().await.unwrap()["error"]["code"]
        );
    }
    expect![[r#"
        {: -32700
        []: -32600
        1: -32600
        {"jsonrpc":"2.0","id":null,"method":"pin: -32600
        {"jsonrpc":"2.0","id":1}: -32600
        {"jsonrpc":"2.0","id":1,"method":"xxxxxx: -32700
    "#]]
    .assert_eq(&results);
    stdio.line("").await;
    let answer = stdio
        .request(modern(json!(1), "server/discover", json!({})))
        .await;
    assert!(answer["result"].is_object(), "{answer}");
}

#[tokio::test]
async fn a_slow_read_blocks_no_other_and_can_be_cancelled() {
    let builder = TestServer::builder("echo sleep").provider("sleep", |grant, _| {
        grant.limits.concurrency = 1;
        grant.limits.timeout = Duration::from_secs(3_600);
    });
    let mut stdio = StdioTestServer::from_builder(builder).await;
    stdio.request(initialize()).await;
    stdio
        .send(legacy(
            json!("slow"),
            "resources/read",
            json!({ "uri": "sleep://hour" }),
        ))
        .await;
    assert_eq!(
        stdio.request(legacy(json!(1), "ping", json!({}))).await,
        json!({ "jsonrpc": "2.0", "id": 1, "result": {} })
    );
    stdio.send(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": "slow" } })).await;
    // The only permit is free again, and the cancelled request gets no response.
    let answer = stdio
        .request(modern(
            json!(2),
            "resources/read",
            json!({ "uri": "sleep://ms/1" }),
        ))
        .await;
    assert_eq!(
        (&answer["id"], &answer["result"]["contents"][0]["text"]),
        (&json!(2), &json!("slept"))
    );
}

#[tokio::test]
async fn sends_notifications_on_the_same_pipe() {
    let mut stdio = StdioTestServer::from_builder(TestServer::builder("echo")).await;
    let requested = json!({ "notifications": { "resourceSubscriptions": ["echo://hello"] } });
    let first = stdio
        .request(modern(json!(7), "subscriptions/listen", requested))
        .await;
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    stdio.server.run_reconciler();
    stdio
        .send(modern(
            json!(8),
            "resources/read",
            json!({ "uri": "echo://touch/echo://hello" }),
        ))
        .await;
    let (one, other) = (stdio.next().await.unwrap(), stdio.next().await.unwrap());
    let updated = if one.get("method").is_some() {
        one
    } else {
        other
    };
    assert_eq!(
        updated["method"], "notifications/resources/updated",
        "{updated}"
    );
    assert_eq!(
        updated["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"],
        7
    );
    stdio.server.drain.stop();
    let end = stdio.next().await.unwrap();
    assert_eq!(
        (&end["id"], &end["result"]["resultType"]),
        (&json!(7), &json!("complete")),
        "{end}"
    );
    assert!(stdio.next().await.is_none());
}

async fn check_update_after_reload(subscribe: Value) {
    let mut stdio =
        StdioTestServer::from_builder(TestServer::builder("").file("revision.wasm", &revision(1)))
            .await;
    stdio.server.run_reconciler();
    if subscribe["params"].get("_meta").is_none() {
        stdio.request(initialize()).await;
    }
    let answer = stdio.request(subscribe).await;
    assert!(answer.get("error").is_none(), "{answer}");
    let mut known_count = stdio.server.start_change_detector(signals_only());
    known_count.wait_for(|count| *count == 1).await.unwrap();
    let plugins = stdio.server.plugins.clone();
    std::fs::write(plugins.join("new"), revision(2)).unwrap();
    std::fs::rename(plugins.join("new"), plugins.join("revision.wasm")).unwrap();
    let mut message = stdio.next().await.unwrap();
    while message["method"] != "notifications/resources/updated" {
        message = stdio.next().await.unwrap();
    }
    assert_eq!(message["params"]["uri"], NOW, "{message}");
    assert_eq!(stdio.server.text(NOW).await, text(2));
}

#[tokio::test]
async fn sends_updates_after_a_reload_in_both_eras() {
    check_update_after_reload(legacy(
        json!(1),
        "resources/subscribe",
        json!({ "uri": NOW }),
    ))
    .await;
    let requested = json!({ "notifications": { "resourceSubscriptions": [NOW] } });
    check_update_after_reload(modern(json!(1), "subscriptions/listen", requested)).await;
}

#[tokio::test]
async fn stops_all_work_when_the_output_is_closed() {
    let builder = TestServer::builder("sleep").provider("sleep", |grant, _| {
        grant.limits.timeout = Duration::from_secs(3_600)
    });
    let server = builder.start().await;
    let config = config();
    let authenticator = Authenticator::new(
        config.auth.clone(),
        config.caller.clone(),
        server.drain.clone(),
    );
    let (gateway, drain, metrics) = (
        server.gateway.clone(),
        server.drain.clone(),
        server.metrics.clone(),
    );
    let endpoint = Endpoint::new(
        config,
        EndpointParts::new(authenticator, gateway, drain, metrics),
    );
    let (input, read) = tokio::io::duplex(64 * 1024);
    let (write, output) = tokio::io::duplex(64 * 1024);
    let serving = server
        .drain
        .spawn(async move { endpoint.serve_stdio(read, write).await });
    // The input stays open, but the client stops reading the output.
    let mut input = BufReader::new(input);
    let mut output = BufReader::new(output).lines();
    let mut send = async |message: Value| {
        input
            .write_all(format!("{message}\n").as_bytes())
            .await
            .unwrap();
    };
    send(modern(
        json!(1),
        "subscriptions/listen",
        json!({ "notifications": {} }),
    ))
    .await;
    let reading = json!({ "uri": "sleep://hour", "_meta": {} });
    send(modern(json!(2), "resources/read", reading)).await;
    assert!(
        output
            .next_line()
            .await
            .unwrap()
            .unwrap()
            .contains("acknowledged")
    );
    drop(output);
    send(modern(json!(3), "server/discover", json!({}))).await;
    assert!(serving.await.unwrap().unwrap().is_err());
    assert!(
        server.drain.finish(Duration::from_secs(30)).await,
        "the work for the client ends with the connection"
    );
}

#[tokio::test]
async fn stops_at_the_end_of_the_input() {
    let mut stdio = StdioTestServer::from_builder(TestServer::builder("echo")).await;
    assert!(
        stdio
            .request(modern(json!(1), "server/discover", json!({})))
            .await["result"]
            .is_object()
    );
    stdio.input.shutdown().await.unwrap();
    assert!(stdio.next().await.is_none());
    assert!(stdio.server.drain.finish(Duration::from_secs(30)).await);
}
