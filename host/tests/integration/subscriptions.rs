//! Those who listen: what they are told, in both eras, and how their streams begin and end.

use std::time::Duration;

use serde_json::{Value, json};

use crate::change_detector::by_events;
use crate::house::Plan;
use crate::revision::{NOW, revision, text};
use crate::wire::{ACCEPT, JSON, MODERN, Wire, meta};

/// A stream of events that is being read.
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
        Self { response, text: String::new() }
    }

    /// The next message, or none at the end. Comments that keep the stream alive are passed over.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        let next = tokio::time::timeout(Duration::from_secs(30), self.message()).await;
        next.expect("nothing within half a minute")
    }

    /// Waits for a sign of life that comes from now on.
    pub(crate) async fn alive(&mut self) {
        let sign = async {
            loop {
                let chunk = self.response.chunk().await.unwrap().unwrap();
                if chunk.starts_with(b":") {
                    return;
                }
                self.text += std::str::from_utf8(&chunk).unwrap();
            }
        };
        tokio::time::timeout(Duration::from_secs(30), sign).await.expect("no sign of life");
    }

    async fn message(&mut self) -> Option<Value> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let data: String = event.lines().filter_map(|line| line.strip_prefix("data:")).collect();
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

pub(crate) fn listen(wire: &Wire, notifications: &Value) -> reqwest::RequestBuilder {
    let params = json!({ "_meta": meta(), "notifications": notifications });
    let body = json!({ "jsonrpc": "2.0", "id": "l-1", "method": "subscriptions/listen", "params": params });
    [JSON, ACCEPT, MODERN, ("mcp-method", "subscriptions/listen")]
        .into_iter()
        .fold(wire.client.post(&wire.url), |request, (name, value)| request.header(name, value))
        .body(body.to_string())
}

pub(crate) fn acknowledged(message: &Value) -> &Value {
    assert_eq!(message["method"], "notifications/subscriptions/acknowledged", "{message}");
    assert_eq!(message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], "l-1", "{message}");
    &message["params"]["notifications"]
}

#[tokio::test]
async fn the_acknowledgement_names_what_will_be_honoured() {
    let wire = Wire::of("echo").await;
    let wanted = json!({
        "resourcesListChanged": true,
        "toolsListChanged": true,
        "resourceSubscriptions": ["echo://hello", "echo://say/x", "nobody:x", "not a uri"],
    });
    let mut events = Events::of(listen(&wire, &wanted)).await;
    let first = events.next().await.unwrap();
    let honoured = json!({
        "resourcesListChanged": true,
        "resourceSubscriptions": ["echo://hello", "echo://say/x"],
    });
    assert_eq!(acknowledged(&first), &honoured);
}

#[tokio::test]
async fn a_modern_listener_hears_what_a_provider_says_and_how_it_ends() {
    let mut wire = Wire::of("echo").await;
    wire.run();
    let wanted = json!({ "resourceSubscriptions": ["echo://hello"] });
    let mut events = Events::of(listen(&wire, &wanted)).await;
    acknowledged(&events.next().await.unwrap());
    for touched in ["echo://say/other", "echo://hello"] {
        assert_eq!(wire.read(&format!("echo://touch/{touched}")).await.verdict(), "200 ok");
    }
    let updated = events.next().await.unwrap();
    assert_eq!(updated["method"], "notifications/resources/updated");
    assert_eq!(updated["params"]["uri"], "echo://hello");
    assert_eq!(updated["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], "l-1");

    let drain = wire.house.drain.clone();
    let (in_time, end) = tokio::join!(drain.finish(Duration::from_secs(30)), events.next());
    let end = end.unwrap();
    assert_eq!((&end["id"], &end["result"]["resultType"]), (&json!("l-1"), &json!("complete")), "{end}");
    assert!(events.next().await.is_none());
    assert!(in_time);
}

#[tokio::test]
async fn a_legacy_subscriber_hears_it_on_its_newest_stream() {
    let mut wire = Wire::of("echo").await;
    wire.run();
    let session = wire.session("2025-11-25").await;
    let get = || {
        let request = wire.client.get(&wire.url).header("accept", "text/event-stream");
        request.header("mcp-session-id", &session)
    };
    let mut old = Events::of(get()).await;
    let mut new = Events::of(get()).await;
    let uri = json!({ "uri": "echo://hello" });
    assert_eq!(wire.legacy(&session, "resources/subscribe", uri.clone()).await.verdict(), "200 ok");
    wire.read("echo://touch/echo://hello").await;
    let updated = json!({
        "jsonrpc": "2.0", "method": "notifications/resources/updated", "params": { "uri": "echo://hello" },
    });
    assert_eq!(new.next().await.unwrap(), updated);
    assert!(old.next().await.is_none(), "a message goes to one stream only");

    // Another session that subscribed to nothing hears nothing of it.
    let other = wire.session("2025-11-25").await;
    let request = wire.client.get(&wire.url).header("accept", "text/event-stream");
    let mut silent = Events::of(request.header("mcp-session-id", &other)).await;
    wire.read("echo://touch/echo://hello").await;
    assert_eq!(new.next().await.unwrap(), updated);
    assert_eq!(wire.legacy(&session, "resources/unsubscribe", uri).await.verdict(), "200 ok");
    wire.read("echo://touch/echo://hello").await;
    let delete = |id: &str| wire.client.delete(&wire.url).header("mcp-session-id", id.to_owned());
    wire.send(delete(&session)).await;
    wire.send(delete(&other)).await;
    assert!(new.next().await.is_none() && silent.next().await.is_none());
}

#[tokio::test]
async fn a_list_that_differs_is_told_to_both_eras() {
    let mut wire = Wire::of("echo").await;
    let session = wire.session("2025-11-25").await;
    let request = wire.client.get(&wire.url).header("accept", "text/event-stream");
    let mut legacy = Events::of(request.header("mcp-session-id", &session)).await;
    let mut modern = Events::of(listen(&wire, &json!({ "resourcesListChanged": true }))).await;
    acknowledged(&modern.next().await.unwrap());
    std::fs::copy(crate::house::component("full"), wire.house.folder.path().join("full.wasm")).unwrap();
    wire.house.reconcile().run_pass().await;
    let method = "notifications/resources/list_changed";
    assert_eq!(modern.next().await.unwrap()["method"], method);
    assert_eq!(legacy.next().await.unwrap()["method"], method);
}

#[tokio::test]
async fn a_reload_that_changed_the_answer_is_told_to_both_eras() {
    let mut wire = Wire::open(Plan::of("").file("revision.wasm", &revision(1))).await;
    wire.run();
    let session = wire.session("2025-11-25").await;
    let request = wire.client.get(&wire.url).header("accept", "text/event-stream");
    let mut legacy = Events::of(request.header("mcp-session-id", &session)).await;
    let answer = wire.legacy(&session, "resources/subscribe", json!({ "uri": NOW })).await;
    assert_eq!(answer.verdict(), "200 ok");
    let mut modern = Events::of(listen(&wire, &json!({ "resourceSubscriptions": [NOW] }))).await;
    acknowledged(&modern.next().await.unwrap());
    let mut known = wire.house.look_out(by_events());
    known.wait_for(|known| *known == 1).await.unwrap();
    // A subscription outlives a reload, so it is told of the next one too.
    for number in 2..=3 {
        std::fs::write(wire.house.plugins.join("new"), revision(number)).unwrap();
        std::fs::rename(wire.house.plugins.join("new"), wire.house.plugins.join("revision.wasm")).unwrap();
        let updated = "notifications/resources/updated";
        for events in [&mut modern, &mut legacy] {
            let mut told = events.next().await.unwrap();
            // A legacy session always hears of lists as well.
            while told["method"] != updated {
                told = events.next().await.unwrap();
            }
            assert_eq!(told["params"]["uri"], NOW, "{told}");
        }
        assert_eq!(wire.house.text(NOW).await, text(number));
    }
}

#[tokio::test]
async fn a_silent_stream_is_kept_alive() {
    let wire = Wire::of("echo").await;
    let mut response = listen(&wire, &json!({ "resourcesListChanged": true })).send().await.unwrap();
    let mut text = String::new();
    while !text.contains("\n\n:") && !text.starts_with(':') {
        text += std::str::from_utf8(&response.chunk().await.unwrap().unwrap()).unwrap();
    }
}

#[tokio::test]
async fn streams_are_bounded() {
    let wire = Wire::of("echo").await;
    let wanted = json!({ "resourcesListChanged": true });
    let mut open = Vec::new();
    for _ in 0..8 {
        let mut events = Events::of(listen(&wire, &wanted)).await;
        acknowledged(&events.next().await.unwrap());
        open.push(events);
    }
    let refused = wire.send(listen(&wire, &wanted)).await;
    assert_ne!(refused.status, 200, "{}", refused.body);
    // Room comes back when somebody leaves.
    drop(open);
    let again = tokio::time::timeout(Duration::from_secs(30), async {
        while listen(&wire, &wanted).send().await.unwrap().status().as_u16() != 200 {}
    });
    again.await.unwrap();
}
