//! Tools that ask their client for input, and log messages for the client, in both eras.

use std::time::Duration;

use larder_model::policy::ToolGrant;
use serde_json::{Value, json};

use super::{call, granted};
use crate::harness::TestServerBuilder;
use crate::http_server::{ACCEPT, HttpTestServer, JSON};

/// The metadata of a client that can show forms.
fn with_forms() -> Value {
    json!({ "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} } })
}

async fn ask(server: &HttpTestServer, more: Value) -> Value {
    let mut params = json!({ "name": "ask", "arguments": {}, "_meta": with_forms() });
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    server.modern("tools/call", params).await.json()
}

#[tokio::test]
async fn a_modern_client_calls_again_with_the_answers() {
    let server = HttpTestServer::from_builder(granted("interactive")).await;
    let asked = ask(&server, json!({})).await;
    let question = &asked["result"];
    assert_eq!(question["resultType"], "input_required", "{asked}");
    assert_eq!(
        question["inputRequests"],
        json!({ "name": { "method": "elicitation/create", "params": { "message": "Who are you?" } } })
    );
    let state = question["requestState"].as_str().unwrap();
    assert!(!state.contains("asked"), "the state is encrypted");
    let answer = json!({ "name": { "action": "accept", "content": { "name": "Ada" } } });
    let answered = ask(&server, json!({ "inputResponses": answer, "requestState": state })).await;
    let text = answered["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answered}"));
    assert_eq!(text, "asked; name: {\"action\":\"accept\",\"content\":{\"name\":\"Ada\"}}");
    // The state is of no use for anything else.
    for (params, expected) in [
        (json!({ "inputResponses": answer }), "`requestState` is missing"),
        (json!({ "inputResponses": answer, "requestState": "x" }), "is not valid for this call"),
        (json!({ "inputResponses": answer, "requestState": state, "arguments": { "a": 1 } }), "is not valid"),
        (json!({ "inputResponses": answer, "requestState": state, "name": "tell" }), "is not valid"),
    ] {
        let refused = ask(&server, params).await;
        let message = refused["error"]["message"].as_str().unwrap_or_else(|| panic!("{refused}"));
        assert!(message.contains(expected) && refused["error"]["code"] == -32602, "{refused}");
    }
}

#[tokio::test]
async fn a_state_ends_with_its_component() {
    let server = HttpTestServer::from_builder(granted("interactive")).await;
    let asked = ask(&server, json!({})).await;
    let state = asked["result"]["requestState"].clone();
    let mut server = server;
    server.run_reconciler();
    // Another component with the same name and the same tools.
    let path = server.server.plugins.join("interactive.wasm");
    let bytes = std::fs::read(&path).unwrap();
    // An empty custom section named `x`.
    std::fs::write(&path, [bytes, vec![0, 2, 1, b'x']].concat()).unwrap();
    let before = server.server.reader.snapshot().offers()[0].provider.digest();
    crate::harness::eventually_within(crate::harness::SLOW_WAIT, "the new revision is served", async || {
        server.server.reader.snapshot().offers()[0].provider.digest() != before
    })
    .await;
    let refused = ask(&server, json!({ "inputResponses": {}, "requestState": state })).await;
    let message = refused["error"]["message"].as_str().unwrap_or_else(|| panic!("{refused}"));
    assert!(message.contains("was replaced since it asked for input: start again"), "{message}");
}

#[tokio::test]
async fn a_client_without_the_capability_gets_an_error() {
    let server = HttpTestServer::from_builder(granted("interactive")).await;
    let response = call(&server, "ask", json!({})).await;
    let refused = response.json();
    assert_eq!((response.status, &refused["error"]["code"]), (400, &json!(-32021)), "{refused}");
    assert_eq!(refused["error"]["data"]["requiredCapabilities"], json!({ "elicitation": { "form": {} } }));
    let session = server.session("2025-11-25").await;
    let refused = server.legacy(&session, "tools/call", json!({ "name": "ask" })).await.json();
    assert_eq!(refused["error"]["code"], -32600, "{refused}");
}

#[tokio::test]
async fn log_messages_reach_clients_that_ask_for_them() {
    let server = HttpTestServer::from_builder(granted("interactive")).await;
    let params = json!({
        "name": "tell",
        "arguments": {},
        "_meta": { "io.modelcontextprotocol/logLevel": "warning" },
    });
    let response = server.modern("tools/call", params).await;
    assert_eq!(response.headers["content-type"], "text/event-stream");
    let events = events(&response.body);
    assert_eq!(
        events[0],
        json!({
            "jsonrpc": "2.0",
            "method": "notifications/message",
            "params": { "level": "warning", "logger": "alogger", "data": { "n": 1 } },
        })
    );
    assert_eq!(events[1]["params"]["level"], "error");
    assert_eq!(events[2]["result"]["content"][0]["text"], "false false Some(Severity::Warning)");
    // Without a level there are none.
    let response = call(&server, "tell", json!({})).await;
    assert_eq!(response.headers["content-type"], "application/json");
    // A legacy client sets a level for its session.
    let session = server.session("2025-11-25").await;
    let set = server.legacy(&session, "logging/setLevel", json!({ "level": "error" })).await.json();
    assert_eq!(set["result"], json!({}));
    let told = server.legacy(&session, "tools/call", json!({ "name": "tell" })).await;
    let levels: Vec<_> =
        self::events(&told.body).iter().map(|event| event["params"]["level"].clone()).collect();
    assert_eq!(levels, [json!("error"), Value::Null], "{}", told.body);
    let wrong = server.legacy(&session, "logging/setLevel", json!({ "level": "loud" })).await.json();
    assert_eq!(wrong["error"]["code"], -32602, "{wrong}");
}

/// The messages of an event stream.
fn events(body: &str) -> Vec<Value> {
    let data = body.lines().filter_map(|line| line.strip_prefix("data: "));
    data.filter(|data| !data.is_empty()).map(|data| serde_json::from_str(data).unwrap()).collect()
}

/// A legacy client that can show forms.
struct LegacyClient {
    server: HttpTestServer,
    session: String,
}

impl LegacyClient {
    async fn start(builder: TestServerBuilder) -> Self {
        let server = HttpTestServer::from_builder(builder).await;
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": { "elicitation": {} },
            "clientInfo": { "name": "t", "version": "1" },
        });
        let body = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        let response = server.post(&[JSON, ACCEPT], body.to_string()).await;
        let session = response.headers["mcp-session-id"].to_str().unwrap().to_owned();
        Self { server, session }
    }

    /// Starts a call, and returns its stream.
    async fn call(&self, id: u32, name: &str) -> EventStream {
        let params = json!({ "name": name, "arguments": {} });
        let body = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
        let request = self.server.client.post(&self.server.url).header("mcp-session-id", &self.session);
        let request = request.header(JSON.0, JSON.1).header(ACCEPT.0, ACCEPT.1).body(body.to_string());
        let response = request.timeout(Duration::from_secs(60)).send().await.unwrap();
        EventStream { response, text: String::new() }
    }

    async fn answer(&self, id: &Value, outcome: Value) {
        let mut body = json!({ "jsonrpc": "2.0", "id": id });
        body.as_object_mut().unwrap().extend(outcome.as_object().unwrap().clone());
        let headers = [JSON, ACCEPT, ("mcp-session-id", self.session.as_str())];
        let response = self.server.post(&headers, body.to_string()).await;
        assert_eq!(response.status, 202, "{}", response.body);
    }
}

struct EventStream {
    response: reqwest::Response,
    text: String,
}

impl EventStream {
    async fn next(&mut self) -> Value {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let found = events(event).pop();
                self.text = rest.to_owned();
                if let Some(message) = found {
                    return message;
                }
                continue;
            }
            let chunk = self.response.chunk().await.unwrap();
            let chunk = chunk.unwrap_or_else(|| panic!("the stream ended after {}", self.text));
            self.text += std::str::from_utf8(&chunk).unwrap();
        }
    }
}

#[tokio::test]
async fn a_legacy_client_is_asked_on_the_stream_of_the_call() {
    let client = LegacyClient::start(granted("interactive")).await;
    for (outcome, expected) in [
        (
            json!({ "result": { "action": "accept", "content": { "name": "Ada" } } }),
            "asked; name: {\"action\":\"accept\",\"content\":{\"name\":\"Ada\"}}",
        ),
        (json!({ "result": { "action": "decline" } }), "asked; name: {\"action\":\"decline\"}"),
        (
            json!({ "error": { "code": -1, "message": "no" } }),
            "asked; name failed: {\"code\":-1,\"message\":\"no\"}",
        ),
    ] {
        let mut stream = client.call(1, "ask").await;
        let request = stream.next().await;
        assert_eq!(request["method"], "elicitation/create", "{request}");
        assert_eq!(request["params"], json!({ "message": "Who are you?" }));
        client.answer(&request["id"], outcome).await;
        let response = stream.next().await;
        assert_eq!(response["result"]["content"][0]["text"], expected, "{response}");
    }
}

#[tokio::test]
async fn a_waiting_call_holds_neither_guest_nor_permit() {
    let builder = granted("interactive").provider("interactive", |grant, _| {
        grant.limits.concurrency = 1;
        grant.tools = ToolGrant::All;
    });
    let quota = larder_model::policy::Quota { calls: 1, ..Default::default() };
    let client = LegacyClient::start(builder.quota(quota)).await;
    let (mut one, mut other) = (client.call(1, "ask").await, client.call(2, "ask").await);
    let (first, second) = (one.next().await, other.next().await);
    assert_ne!(first["id"], second["id"]);
    let provider = client.server.server.reader.snapshot().offers()[0].provider.clone();
    assert_eq!(provider.metrics().memory(), 0, "no guest is open");
    for (request, stream) in [(second, &mut other), (first, &mut one)] {
        client.answer(&request["id"], json!({ "result": { "action": "cancel" } })).await;
        let response = stream.next().await;
        assert_eq!(response["result"]["content"][0]["text"], "asked; name: {\"action\":\"cancel\"}");
    }
}
