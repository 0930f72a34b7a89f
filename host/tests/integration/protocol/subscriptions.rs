//! Subscriptions in both eras: which notifications are sent, and how the streams start and end.

use std::time::Duration;

use serde_json::{Value, json};

use crate::changes::change_detector::signals_only;
use crate::support::harness::TestServer;
use crate::support::http_server::{ACCEPT, HttpTestServer, JSON, MODERN, meta};
use crate::support::revision::{NOW, revision, text};

/// An SSE response that is read message by message.
pub(crate) struct Events {
    response: reqwest::Response,
    text: String,
}

impl Events {
    pub(crate) async fn of(request: reqwest::RequestBuilder) -> Self {
        Self::from(request.send().await.unwrap())
    }

    pub(crate) fn from(response: reqwest::Response) -> Self {
        assert_eq!(response.status().as_u16(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        assert_eq!(response.headers()["x-accel-buffering"], "no");
        Self {
            response,
            text: String::new(),
        }
    }

    /// Returns the next message, or `None` at the end of the stream. Keep-alive comments are skipped.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        let next = tokio::time::timeout(Duration::from_secs(30), self.message()).await;
        next.expect("no message within 30 seconds")
    }

    async fn message(&mut self) -> Option<Value> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let data: String = event
                    .lines()
                    .filter_map(|line| line.strip_prefix("data:"))
                    .collect();
                self.text = rest.to_owned();
                if !data.trim().is_empty() {
                    return Some(serde_json::from_str(&data).unwrap());
                }
                continue;
            }
            let chunk = self.response.chunk().await.unwrap()?;
            self.text += std::str::from_utf8(&chunk).unwrap();
        }
    }
}

/// Builds a `subscriptions/listen` request.
pub(crate) fn listen(http: &HttpTestServer, notifications: &Value) -> reqwest::RequestBuilder {
    let params = json!({ "_meta": meta(), "notifications": notifications });
    let body = json!({ "jsonrpc": "2.0", "id": "l-1", "method": "subscriptions/listen", "params": params });
    [JSON, ACCEPT, MODERN, ("mcp-method", "subscriptions/listen")]
        .into_iter()
        .fold(http.client.post(&http.url), |request, (name, value)| {
            request.header(name, value)
        })
        .body(body.to_string())
}

/// Returns the honoured subscriptions of an acknowledgement.
pub(crate) fn acknowledged(message: &Value) -> &Value {
    assert_eq!(
        message["method"], "notifications/subscriptions/acknowledged",
        "{message}"
    );
    assert_eq!(
        message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], "l-1",
        "{message}"
    );
    &message["params"]["notifications"]
}

#[tokio::test]
async fn a_modern_stream_gets_updates_and_a_final_result() {
    let mut http = HttpTestServer::start("echo").await;
    http.run_reconciler();
    let requested = json!({ "resourceSubscriptions": ["echo://hello"] });
    let mut events = Events::of(listen(&http, &requested)).await;
    acknowledged(&events.next().await.unwrap());
    for touched in ["echo://say/other", "echo://hello"] {
        assert_eq!(
            http.read(&format!("echo://touch/{touched}"))
                .await
                .verdict(),
            "200 ok"
        );
    }
    let updated = events.next().await.unwrap();
    assert_eq!(updated["method"], "notifications/resources/updated");
    assert_eq!(updated["params"]["uri"], "echo://hello");
    assert_eq!(
        updated["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"],
        "l-1"
    );

    let drain = http.server.drain.clone();
    let (in_time, end) = tokio::join!(drain.finish(Duration::from_secs(30)), events.next());
    let end = end.unwrap();
    assert_eq!(
        (&end["id"], &end["result"]["resultType"]),
        (&json!("l-1"), &json!("complete")),
        "{end}"
    );
    assert!(events.next().await.is_none());
    assert!(in_time);
}

#[tokio::test]
async fn sends_list_changes_in_both_eras() {
    let mut http = HttpTestServer::start("echo").await;
    let session = http.session("2025-11-25").await;
    let request = http
        .client
        .get(&http.url)
        .header("accept", "text/event-stream");
    let mut legacy = Events::of(request.header("mcp-session-id", &session)).await;
    let mut modern = Events::of(listen(&http, &json!({ "resourcesListChanged": true }))).await;
    acknowledged(&modern.next().await.unwrap());
    std::fs::copy(
        crate::support::harness::component_path("full"),
        http.server.folder.path().join("full.wasm"),
    )
    .unwrap();
    http.server.reconciler().run_pass().await;
    let method = "notifications/resources/list_changed";
    assert_eq!(modern.next().await.unwrap()["method"], method);
    assert_eq!(legacy.next().await.unwrap()["method"], method);
}

#[tokio::test]
async fn sends_updates_after_a_reload_in_both_eras() {
    let mut http =
        HttpTestServer::from_builder(TestServer::builder("").file("revision.wasm", &revision(1)))
            .await;
    http.run_reconciler();
    let session = http.session("2025-11-25").await;
    let request = http
        .client
        .get(&http.url)
        .header("accept", "text/event-stream");
    let mut legacy = Events::of(request.header("mcp-session-id", &session)).await;
    let answer = http
        .legacy(&session, "resources/subscribe", json!({ "uri": NOW }))
        .await;
    assert_eq!(answer.verdict(), "200 ok");
    let mut modern = Events::of(listen(&http, &json!({ "resourceSubscriptions": [NOW] }))).await;
    acknowledged(&modern.next().await.unwrap());
    let mut known_count = http.server.start_change_detector(signals_only());
    known_count.wait_for(|count| *count == 1).await.unwrap();
    // A subscription continues after a reload, so the next reload is reported as well.
    for number in 2..=3 {
        std::fs::write(http.server.plugins.join("new"), revision(number)).unwrap();
        std::fs::rename(
            http.server.plugins.join("new"),
            http.server.plugins.join("revision.wasm"),
        )
        .unwrap();
        let updated = "notifications/resources/updated";
        for events in [&mut modern, &mut legacy] {
            let mut message = events.next().await.unwrap();
            // A legacy session also receives all list changes.
            while message["method"] != updated {
                message = events.next().await.unwrap();
            }
            assert_eq!(message["params"]["uri"], NOW, "{message}");
        }
        assert_eq!(http.server.text(NOW).await, text(number));
    }
}
