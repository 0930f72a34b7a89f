//! Calls of legacy clients that wait for the answer to a request. They only hold a limited amount of memory, and end
//! with their client.

use larder_model::policy::{Quota, ToolGrant};
use larder_runtime::memory_budget::MemoryUse;
use serde_json::{Value, json};

use super::granted;
use crate::protocol::subscriptions::Events;
use crate::support::harness::{SLOW_WAIT, TestServerBuilder, eventually, eventually_within};
use crate::support::http_server::{ACCEPT, HttpTestServer, JSON, config};

/// A legacy client that can show forms.
struct LegacyClient {
    server: HttpTestServer,
    session: String,
}

impl LegacyClient {
    async fn start(builder: TestServerBuilder) -> Self {
        let config = larder_mcp::Config {
            connections: 256,
            ..config()
        };
        let server = HttpTestServer::with_config(builder, config).await;
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": { "elicitation": {} },
            "clientInfo": { "name": "t", "version": "1" },
        });
        let body = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        let response = server.post(&[JSON, ACCEPT], body.to_string()).await;
        let session = response.headers["mcp-session-id"]
            .to_str()
            .unwrap()
            .to_owned();
        Self { server, session }
    }

    fn call(&self, id: u32, arguments: &Value) -> reqwest::RequestBuilder {
        let params = json!({ "name": "ask", "arguments": arguments });
        let body = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
        let request = self
            .server
            .client
            .post(&self.server.url)
            .header("mcp-session-id", &self.session);
        request
            .header(JSON.0, JSON.1)
            .header(ACCEPT.0, ACCEPT.1)
            .body(body.to_string())
    }

    /// Starts a call that requests input, and returns its stream and the request.
    async fn ask(&self, id: u32) -> (Events, Value) {
        let mut stream = Events::of(self.call(id, &json!({}))).await;
        let question = stream.next().await.unwrap();
        assert_eq!(question["method"], "elicitation/create", "{question}");
        (stream, question)
    }

    async fn answer(&self, question: &Value, outcome: Value) {
        let mut body = json!({ "jsonrpc": "2.0", "id": question["id"] });
        body.as_object_mut()
            .unwrap()
            .extend(outcome.as_object().unwrap().clone());
        let headers = [JSON, ACCEPT, ("mcp-session-id", self.session.as_str())];
        let response = self.server.post(&headers, body.to_string()).await;
        assert_eq!(response.status, 202, "{}", response.body);
    }

    /// The memory of waiting calls.
    fn waiting_bytes(&self) -> u64 {
        self.server
            .server
            .gateway
            .memory()
            .used_for(MemoryUse::Questions)
    }
}

fn text(response: &Value) -> &str {
    response["result"]["content"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("{response}"))
}

#[tokio::test]
async fn a_legacy_client_is_asked_on_the_stream_of_the_call() {
    let client = LegacyClient::start(granted("interactive")).await;
    for (outcome, expected) in [
        (
            json!({ "result": { "action": "accept", "content": { "name": "Ada" } } }),
            "asked; name: {\"action\":\"accept\",\"content\":{\"name\":\"Ada\"}}",
        ),
        (
            json!({ "result": { "action": "decline" } }),
            "asked; name: {\"action\":\"decline\"}",
        ),
        (
            json!({ "error": { "code": -1, "message": "no" } }),
            "asked; name failed: {\"code\":-1,\"message\":\"no\"}",
        ),
    ] {
        let (mut stream, question) = client.ask(1).await;
        let schema = json!({ "type": "object", "properties": { "name": { "type": "string" } } });
        assert_eq!(
            question["params"],
            json!({ "message": "Who are you?", "requestedSchema": schema })
        );
        client.answer(&question, outcome).await;
        assert_eq!(text(&stream.next().await.unwrap()), expected);
    }
    assert_eq!(client.waiting_bytes(), 0);
}

#[tokio::test]
async fn a_waiting_call_holds_neither_guest_nor_permit() {
    let builder = granted("interactive").provider("interactive", |grant, _| {
        grant.limits.concurrency = 1;
        grant.tools = ToolGrant::All;
    });
    let quota = Quota {
        calls: 1,
        ..Default::default()
    };
    let client = LegacyClient::start(builder.quota(quota)).await;
    let ((mut one, first), (mut other, second)) = (client.ask(11).await, client.ask(12).await);
    assert_ne!(first["id"], second["id"]);
    let provider = client.server.server.reader.snapshot().offers()[0]
        .provider
        .clone();
    assert_eq!(provider.metrics().memory(), 0, "no guest is open");
    assert!(client.waiting_bytes() > 0);
    // Other callers can call the same provider in the meantime.
    let legacy = client
        .server
        .legacy(
            &client.session,
            "tools/call",
            json!({ "name": "everything" }),
        )
        .await;
    assert_eq!(text(&legacy.json()), "a text");
    let modern = super::call(&client.server, "everything", json!({}))
        .await
        .json();
    assert_eq!(modern["result"]["resultType"], "complete", "{modern}");
    for (question, stream) in [(second, &mut other), (first, &mut one)] {
        client
            .answer(&question, json!({ "result": { "action": "cancel" } }))
            .await;
        assert_eq!(
            text(&stream.next().await.unwrap()),
            "asked; name: {\"action\":\"cancel\"}"
        );
    }
    assert_eq!(client.waiting_bytes(), 0);
}

#[tokio::test]
async fn the_questions_of_a_session_are_limited() {
    let client = LegacyClient::start(granted("interactive")).await;
    let mut open = Vec::new();
    for id in 0..64 {
        open.push(client.ask(id).await);
    }
    let refused = client.server.send(client.call(64, &json!({}))).await;
    assert!(
        refused
            .body
            .contains("more than 64 requests wait for answers of the client"),
        "{}",
        refused.body
    );
    let (mut stream, question) = open.pop().unwrap();
    client
        .answer(&question, json!({ "result": { "action": "cancel" } }))
        .await;
    assert!(text(&stream.next().await.unwrap()).starts_with("asked"));
    client.ask(65).await;
}

#[tokio::test]
async fn waiting_calls_are_charged_to_the_memory_budget() {
    // Room for guests, and for some of the arguments.
    let client = LegacyClient::start(granted("interactive").memory(48 << 20)).await;
    let large = json!({ "text": "x".repeat(900_000) });
    let mut open = Vec::new();
    let refused = loop {
        let response = client.call(open.len() as u32, &large).send().await.unwrap();
        if response.headers()["content-type"] != "text/event-stream" {
            break response.text().await.unwrap();
        }
        open.push(Events::from(response));
        assert!(open.len() < 64, "{} are charged", client.waiting_bytes());
    };
    assert!(refused.contains("overloaded"), "{refused}");
    assert!(open.len() >= 4, "{refused}");
    assert!(client.waiting_bytes() >= 4 * 1_800_000);
    let end = client
        .server
        .client
        .delete(&client.server.url)
        .header("mcp-session-id", &client.session);
    assert_eq!(client.server.send(end).await.status, 204);
    eventually("nothing is kept", async || client.waiting_bytes() == 0).await;
}

#[tokio::test]
async fn a_call_does_not_wait_for_a_client_that_left() {
    let client = LegacyClient::start(granted("interactive")).await;
    let (stream, question) = client.ask(1).await;
    let (mut stays, other) = client.ask(2).await;
    drop(stream);
    let one_is_left = async || client.waiting_bytes() < 1_500;
    eventually_within(
        SLOW_WAIT,
        "the call of the client that left has ended",
        one_is_left,
    )
    .await;
    // An answer that comes too late has no effect.
    client
        .answer(&question, json!({ "result": { "action": "accept" } }))
        .await;
    client
        .answer(&other, json!({ "result": { "action": "decline" } }))
        .await;
    assert!(text(&stays.next().await.unwrap()).contains("decline"));
    assert_eq!(client.waiting_bytes(), 0);
}

#[tokio::test]
async fn the_server_stops_although_calls_wait() {
    let client = LegacyClient::start(granted("interactive")).await;
    let (mut stream, _question) = client.ask(1).await;
    let drain = client.server.server.drain.clone();
    let (in_time, message) = tokio::join!(drain.finish(SLOW_WAIT), stream.next());
    assert!(
        in_time,
        "a call still waited at the end of the grace period"
    );
    let message = message.unwrap()["error"]["message"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(message.contains("the server is stopping"), "{message}");
}
