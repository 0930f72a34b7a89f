//! The extension `resources-get` of the real server.

use expect_test::expect;
use larder_mcp::{self as endpoint, Extension};
use serde_json::{Value, json};

use crate::protocol::stdio::{StdioTestServer, initialize, legacy};
use crate::protocol::subscriptions::Events;
use crate::support::harness::TestServer;
use crate::support::http_server::{HttpTestServer, config};

const GET: &str = "resources/get";

pub(crate) fn extension_config() -> endpoint::Config {
    endpoint::Config {
        extensions: [Extension::ResourcesGet].into(),
        ..config()
    }
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
