//! Lists of tools and prompts in both eras.

use std::collections::BTreeSet;

use expect_test::expect;
use larder_model::policy::ToolGrant;
use serde_json::{Value, json};

use super::{granted, names};
use crate::support::harness::TestServer;
use crate::support::http_server::HttpTestServer;

#[tokio::test]
async fn nothing_is_offered_without_a_grant() {
    let server = HttpTestServer::start("interactive").await;
    assert_eq!(names(&server, "tools").await, [""; 0]);
    assert_eq!(names(&server, "prompts").await, [""; 0]);
    let called = server
        .modern("tools/call", json!({ "name": "tell", "arguments": {} }))
        .await
        .json();
    assert_eq!(
        called["error"],
        json!({ "code": -32602, "message": "Unknown tool: tell" })
    );
    let got = server
        .modern("prompts/get", json!({ "name": "greet" }))
        .await
        .json();
    assert_eq!(
        got["error"],
        json!({ "code": -32602, "message": "Unknown prompt: greet" })
    );
}

#[tokio::test]
async fn both_eras_advertise_and_answer_the_lists() {
    let server = HttpTestServer::from_builder(granted("interactive")).await;
    let capabilities = server.modern("server/discover", json!({})).await.json();
    assert_eq!(
        capabilities["result"]["capabilities"]["tools"],
        json!({ "listChanged": true })
    );
    assert_eq!(
        capabilities["result"]["capabilities"]["prompts"],
        json!({ "listChanged": true })
    );
    let session = server.session("2025-11-25").await;
    for kind in ["tools", "prompts"] {
        let modern = server
            .modern(&format!("{kind}/list"), json!({}))
            .await
            .json();
        let legacy = server
            .legacy(&session, &format!("{kind}/list"), json!({}))
            .await
            .json();
        assert_eq!(modern["result"][kind], legacy["result"][kind]);
        assert_eq!(
            (&modern["result"]["ttlMs"], &legacy["result"]["ttlMs"]),
            (&json!(0), &Value::Null)
        );
    }
}

#[tokio::test]
async fn lists_every_field() {
    let server = HttpTestServer::from_builder(granted("interactive")).await;
    let tools = server.modern("tools/list", json!({})).await.json();
    let tool = |name: &str| {
        let tools = tools["result"]["tools"].as_array().unwrap();
        tools
            .iter()
            .find(|tool| tool["name"] == name)
            .unwrap()
            .to_string()
    };
    expect![[r#"{"_meta":{"example.com/x":1},"annotations":{"destructiveHint":false,"idempotentHint":true,"openWorldHint":false,"readOnlyHint":true},"description":"Returns every kind of content.","inputSchema":{"properties":{"a":{},"z":{}},"type":"object"},"name":"everything","outputSchema":{"type":"object"},"title":"Everything"}"#]].assert_eq(&tool("everything"));
    expect![[r#"{"inputSchema":{"properties":{},"type":"object"},"name":"tell"}"#]]
        .assert_eq(&tool("tell"));
    let prompts = server.modern("prompts/list", json!({})).await.json();
    expect![[r#"[{"arguments":[{"name":"name","required":true},{"name":"tone","required":false}],"name":"greet"},{"name":"interview"}]"#]].assert_eq(&prompts["result"]["prompts"].to_string());
}

#[tokio::test]
async fn grants_name_tools_and_add_a_prefix() {
    let named: BTreeSet<String> = ["tell", "gone"].map(str::to_owned).into();
    let builder = TestServer::builder("interactive").provider("interactive", |grant, _| {
        (grant.tools, grant.prompts) = (ToolGrant::Names(named), true);
        grant.name_prefix = "my_".to_owned();
    });
    let server = HttpTestServer::from_builder(builder).await;
    assert_eq!(names(&server, "tools").await, ["my_tell"]);
    assert_eq!(
        names(&server, "prompts").await,
        ["my_greet", "my_interview"]
    );
    let got = json!({ "name": "my_greet", "arguments": { "name": "Ada" } });
    let got = server.modern("prompts/get", got).await.json();
    assert_eq!(
        got["result"]["messages"][0]["content"]["text"], "Greet Ada.",
        "{got}"
    );
    let omitted = server.server.reader.snapshot().offers()[0]
        .omitted
        .join("; ");
    assert!(
        omitted.contains("the tool \"gone\": it has no such tool"),
        "{omitted}"
    );
}

#[tokio::test]
async fn a_list_that_depends_on_the_caller_is_not_offered() {
    let server =
        HttpTestServer::from_builder(granted("defined").setting("defined", "personal", "yes"))
            .await;
    assert_eq!(names(&server, "tools").await, [""; 0]);
    assert_eq!(names(&server, "prompts").await, ["double"]);
    let omitted = server.server.reader.snapshot().offers()[0]
        .omitted
        .join("; ");
    assert!(
        omitted.contains("all tools: the list depends on the caller"),
        "{omitted}"
    );
}
