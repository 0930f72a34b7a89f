//! Functions that are read as resources.

use std::time::Duration;

use larder_model::policy::{FunctionResource, ToolGrant};
use serde_json::json;

use super::omitted;
use crate::changes::change_detector::{next_changes, reads_only, watch_uris};
use crate::support::harness::{TestServer, TestServerBuilder};
use crate::support::http_server::HttpTestServer;

fn with_resource(guest: &str, template: &str, function: &str) -> TestServerBuilder {
    TestServer::builder(guest).provider(guest, |grant, _| {
        let resource = FunctionResource {
            function: function.into(),
            mime_type: None,
            ttl: Duration::from_secs(60),
        };
        grant.functions.resources.insert(template.into(), resource);
    })
}

#[tokio::test]
async fn a_function_is_a_template_of_resources() {
    let builder = with_resource("function_types", "greeting://{name}", "greet");
    let server = HttpTestServer::from_builder(builder).await;
    let templates = server
        .modern("resources/templates/list", json!({}))
        .await
        .json();
    let template = &templates["result"]["resourceTemplates"][0];
    assert_eq!(template["uriTemplate"], "greeting://{name}", "{templates}");
    assert_eq!(template["mimeType"], "text/plain");
    let content = server.read("greeting://Ada%20L.").await.json();
    let content = &content["result"]["contents"][0];
    assert_eq!(content["text"], r#"{"hello": "Ada L."}"#, "{content}");
    // The grant of a tool is another one.
    let tools = server.modern("tools/list", json!({})).await.json();
    assert_eq!(tools["result"]["tools"], json!([]), "{tools}");
}

#[tokio::test]
async fn values_of_uris_are_converted_to_the_types_of_parameters() {
    let builder = with_resource("function_types", "quotient://{a}/{b}", "values_divide");
    let builder = builder.provider("function_types", |grant, _| {
        let resource = FunctionResource {
            function: "values_echo-char".into(),
            mime_type: Some("text/x-char".into()),
            ttl: Duration::ZERO,
        };
        let resources = &mut grant.functions.resources;
        resources.insert("char://{character}".into(), resource);
    });
    let server = HttpTestServer::from_builder(builder).await;
    let content = server.read("quotient://1/8").await.json();
    let content = &content["result"]["contents"][0];
    assert_eq!(content["text"], "0.125", "{content}");
    assert_eq!(content["mimeType"], "application/json");
    let content = server.read("char://x").await.json();
    assert_eq!(content["result"]["contents"][0]["mimeType"], "text/x-char");
    let error = server.read("quotient://1/many").await.json().to_string();
    assert!(
        error.contains(r#"the variable `b`: expected a number, found \"many\""#),
        "{error}"
    );
}

#[tokio::test]
async fn watchers_receive_changes_of_what_a_function_returns() {
    let server = with_resource("function_time", "clock:now", "time_get-current-time")
        .start()
        .await;
    let watch = watch_uris(&server, reads_only(), &["clock:now"]).await;
    assert_eq!(next_changes(&watch).await, ["clock:now"]);
    assert_eq!(next_changes(&watch).await, ["clock:now"]);
    server.drain.finish(Duration::from_secs(10)).await;
}

#[tokio::test]
async fn templates_that_do_not_fit_are_reported() {
    for (template, function, expected) in [
        ("a://{name}", "gone", "it has no function \"gone\""),
        ("a://{other}", "greet", "has no parameter `other`"),
        ("a://b", "greet", "no variable is the parameter `name`"),
        ("a://{text}", "note", "\"note\" returns nothing to read"),
        (
            "a://{place}",
            "values_echo-place",
            "the parameter `place` cannot be a part of a URI",
        ),
    ] {
        let builder = with_resource("function_types", template, function);
        let builder = builder.provider("function_types", |grant, _| grant.tools = ToolGrant::All);
        let server = builder.start().await;
        let notes = omitted(&server, "function_types");
        assert!(
            notes.iter().any(|note| note.contains(expected)),
            "{notes:#?}"
        );
    }
}
