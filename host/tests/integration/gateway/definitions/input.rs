//! Tools that request input from modern clients, and log messages for clients of both eras.

use serde_json::{Value, json};

use super::{call, granted};
use crate::support::http_server::{ACCEPT, HttpTestServer, JSON};

/// The metadata of a client that can show forms.
fn with_forms() -> Value {
    json!({ "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} } })
}

async fn ask(server: &HttpTestServer, more: Value) -> Value {
    let mut params = json!({ "name": "ask", "arguments": {}, "_meta": with_forms() });
    params
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
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
        json!({ "name": { "method": "elicitation/create", "params": {
            "message": "Who are you?",
            "requestedSchema": { "type": "object", "properties": { "name": { "type": "string" } } },
        } } })
    );
    let state = question["requestState"].as_str().unwrap();
    assert!(!state.contains("asked"), "the state is encrypted");
    let answer = json!({ "name": { "action": "accept", "content": { "name": "Ada" } } });
    let answered = ask(
        &server,
        json!({ "inputResponses": answer, "requestState": state }),
    )
    .await;
    let text = answered["result"]["content"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("{answered}"));
    assert_eq!(
        text,
        "asked; name: {\"action\":\"accept\",\"content\":{\"name\":\"Ada\"}}"
    );
    // The state cannot be used for any other call.
    for (params, expected) in [
        (
            json!({ "inputResponses": answer, "requestState": "x" }),
            "is not valid for this call",
        ),
        (
            json!({ "inputResponses": answer, "requestState": state, "arguments": { "a": 1 } }),
            "is not valid",
        ),
        (
            json!({ "inputResponses": answer, "requestState": state, "name": "tell" }),
            "is not valid",
        ),
    ] {
        let refused = ask(&server, params).await;
        let message = refused["error"]["message"]
            .as_str()
            .unwrap_or_else(|| panic!("{refused}"));
        assert!(
            message.contains(expected) && refused["error"]["code"] == -32602,
            "{refused}"
        );
    }
}

#[tokio::test]
async fn answers_without_a_state_serve_the_first_question() {
    let server = HttpTestServer::from_builder(granted("interactive")).await;
    let answer = json!({ "action": "accept", "content": { "name": "Ada" } });
    let complete = ask(
        &server,
        json!({ "inputResponses": { "name": answer, "other": { "x": 1 } } }),
    )
    .await;
    let text = complete["result"]["content"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("{complete}"));
    // The provider requested input in this call, and gets its own state.
    assert_eq!(
        text,
        "asked; name: {\"action\":\"accept\",\"content\":{\"name\":\"Ada\"}}"
    );
    // Missing answers are requested again.
    for responses in [json!({}), json!({ "wrong": answer })] {
        let asked = ask(&server, json!({ "inputResponses": responses })).await;
        assert_eq!(
            asked["result"]["inputRequests"]["name"]["method"], "elicitation/create",
            "{asked}"
        );
    }
    let no_capability =
        json!({ "name": "ask", "arguments": {}, "inputResponses": { "name": answer } });
    let refused = server.modern("tools/call", no_capability).await.json();
    assert_eq!(refused["error"]["code"], -32021, "{refused}");
}

#[tokio::test]
async fn what_a_client_must_not_follow_is_an_error_of_the_provider() {
    let schema = json!({ "type": "object", "properties": { "a": { "type": "object" } } });
    let page = |url: &str| json!({ "mode": "url", "message": "Open this.", "url": url });
    for bad in [
        page("javascript:alert(1)"),
        page("file:///etc/passwd"),
        page("http://127.0.0.1:7879/"),
        page(&format!("https://example.com/{}", "x".repeat(100_000))),
        json!({ "message": "Who?", "requestedSchema": schema }),
        json!({}),
    ] {
        let builder = granted("interactive").setting("interactive", "question", &bad.to_string());
        let server = HttpTestServer::from_builder(builder).await;
        let url = json!({ "io.modelcontextprotocol/clientCapabilities": { "elicitation": { "form": {}, "url": {} } } });
        let refused = ask(&server, json!({ "_meta": url })).await.to_string();
        assert!(
            !refused.contains("inputRequests") && refused.contains("error"),
            "{refused}"
        );
        assert!(
            !refused.contains("javascript") && !refused.contains("xxxx"),
            "{refused}"
        );
        let provider = server.server.reader.snapshot().offers()[0].provider.clone();
        let fault = provider.metrics().last_error().unwrap();
        assert!(
            fault.message.contains("the request `name` to the client: "),
            "{}",
            fault.message
        );
    }
}

#[tokio::test]
async fn a_state_is_of_no_use_for_another_caller() {
    let tokens = ["ann", "ben"]
        .map(|name| crate::access::auth::static_token(name, name))
        .into();
    let auth = larder_mcp::auth::Config {
        tokens,
        oauth: None,
    };
    let config = larder_mcp::Config {
        auth,
        ..crate::support::http_server::config()
    };
    let server = HttpTestServer::with_config(granted("interactive"), config).await;
    let ask = async |caller: &str, more: Value| {
        let mut params =
            json!({ "name": "ask", "arguments": {}, "_meta": crate::support::http_server::meta() });
        params["_meta"]
            .as_object_mut()
            .unwrap()
            .extend(with_forms().as_object().unwrap().clone());
        params
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let authorization = format!("Bearer {caller}");
        let own = [
            ("mcp-method", "tools/call"),
            ("mcp-name", "ask"),
            ("authorization", &*authorization),
        ];
        let headers = [
            &[JSON, ACCEPT, crate::support::http_server::MODERN][..],
            &own,
        ]
        .concat();
        server.post(&headers, body.to_string()).await.json()
    };
    let asked = ask("ann", json!({})).await;
    let retried = json!({
        "inputResponses": { "name": { "action": "decline" } },
        "requestState": asked["result"]["requestState"],
    });
    let refused = ask("ben", retried.clone()).await;
    let message = refused["error"]["message"]
        .as_str()
        .unwrap_or_else(|| panic!("{refused}"));
    assert!(message.contains("is not valid for this call"), "{message}");
    assert_eq!(
        ask("ann", retried).await["result"]["resultType"],
        "complete"
    );
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
    let before = server.server.reader.snapshot().offers()[0]
        .provider
        .digest();
    crate::support::harness::eventually_within(
        crate::support::harness::SLOW_WAIT,
        "the new revision is served",
        async || {
            server.server.reader.snapshot().offers()[0]
                .provider
                .digest()
                != before
        },
    )
    .await;
    let refused = ask(
        &server,
        json!({ "inputResponses": {}, "requestState": state }),
    )
    .await;
    let message = refused["error"]["message"]
        .as_str()
        .unwrap_or_else(|| panic!("{refused}"));
    assert!(
        message.contains("was replaced since it asked for input: start again"),
        "{message}"
    );
}

#[tokio::test]
async fn a_client_without_the_capability_gets_an_error() {
    let server = HttpTestServer::from_builder(granted("interactive")).await;
    let response = call(&server, "ask", json!({})).await;
    let refused = response.json();
    assert_eq!(
        (response.status, &refused["error"]["code"]),
        (400, &json!(-32021)),
        "{refused}"
    );
    assert_eq!(
        refused["error"]["data"]["requiredCapabilities"],
        json!({ "elicitation": { "form": {} } })
    );
    let session = server.session("2025-11-25").await;
    let refused = server
        .legacy(&session, "tools/call", json!({ "name": "ask" }))
        .await
        .json();
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
    assert_eq!(
        events[2]["result"]["content"][0]["text"],
        "false false Some(Severity::Warning)"
    );
    // Without a level, there are no log messages.
    let response = call(&server, "tell", json!({})).await;
    assert_eq!(response.headers["content-type"], "application/json");
    // A legacy client sets a level for its session.
    let session = server.session("2025-11-25").await;
    let set = server
        .legacy(&session, "logging/setLevel", json!({ "level": "error" }))
        .await
        .json();
    assert_eq!(set["result"], json!({}));
    let told = server
        .legacy(&session, "tools/call", json!({ "name": "tell" }))
        .await;
    let levels: Vec<_> = self::events(&told.body)
        .iter()
        .map(|event| event["params"]["level"].clone())
        .collect();
    assert_eq!(levels, [json!("error"), Value::Null], "{}", told.body);
    let wrong = server
        .legacy(&session, "logging/setLevel", json!({ "level": "loud" }))
        .await
        .json();
    assert_eq!(wrong["error"]["code"], -32602, "{wrong}");
}

/// The messages of an event stream.
fn events(body: &str) -> Vec<Value> {
    let data = body.lines().filter_map(|line| line.strip_prefix("data: "));
    data.filter(|data| !data.is_empty())
        .map(|data| serde_json::from_str(data).unwrap())
        .collect()
}
