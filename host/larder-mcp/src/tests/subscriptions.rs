//! Subscriptions in both eras: which notifications are sent, and how the streams start and end.

use serde_json::{Value, json};

use super::endpoint::{Events, TestEndpoint};
use super::guests::echo;
use crate::Duration;

async fn serve() -> TestEndpoint {
    TestEndpoint::serve([("echo", echo())]).await
}

/// Opens a stream of the modern era, and reads its acknowledgement.
pub(super) async fn listen(http: &TestEndpoint, notifications: &Value) -> Events {
    let mut events = Events::of(http.listen(notifications).await);
    acknowledged(&events.next().await.unwrap());
    events
}

/// Returns the honoured subscriptions of an acknowledgement.
fn acknowledged(message: &Value) -> &Value {
    assert_eq!(
        message["method"], "notifications/subscriptions/acknowledged",
        "{message}"
    );
    let meta = &message["params"]["_meta"];
    assert_eq!(meta["io.modelcontextprotocol/subscriptionId"], "l-1");
    &message["params"]["notifications"]
}

#[tokio::test]
async fn the_acknowledgement_lists_the_honoured_subscriptions() {
    let http = serve().await;
    let requested = json!({
        "resourcesListChanged": true,
        "toolsListChanged": true,
        "resourceSubscriptions": ["echo://hello", "echo://say/x", "nobody:x", "not a uri"],
    });
    let mut events = Events::of(http.listen(&requested).await);
    let honoured = json!({
        "resourcesListChanged": true,
        "toolsListChanged": true,
        "resourceSubscriptions": ["echo://hello", "echo://say/x"],
    });
    assert_eq!(acknowledged(&events.next().await.unwrap()), &honoured);
}

#[tokio::test]
async fn a_legacy_session_gets_updates_on_its_newest_stream() {
    let http = serve().await;
    let session = http.session("2025-11-25").await;
    let mut old = http.stream(&session).await;
    let mut new = http.stream(&session).await;
    let uri = json!({"uri": "echo://hello"});
    let request = async |method: &str| http.legacy(&session, method, uri.clone()).await.verdict();
    assert_eq!(request("resources/subscribe").await, "200 ok");
    http.report_update("echo://hello");
    let updated = json!({
        "jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": "echo://hello"},
    });
    assert_eq!(new.next().await.unwrap(), updated);
    assert!(
        old.next().await.is_none(),
        "each message is sent on one stream only"
    );

    // A session without subscriptions receives no update.
    let other = http.session("2025-11-25").await;
    let mut unsubscribed = http.stream(&other).await;
    http.report_update("echo://hello");
    assert_eq!(new.next().await.unwrap(), updated);
    assert_eq!(request("resources/unsubscribe").await, "200 ok");
    http.report_update("echo://hello");
    http.delete(&session).await;
    http.delete(&other).await;
    assert!(new.next().await.is_none() && unsubscribed.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn an_idle_stream_gets_keep_alive_comments() {
    let http = serve().await;
    let mut events = listen(&http, &json!({"resourcesListChanged": true})).await;
    let began = tokio::time::Instant::now();
    for number in 1..=2 {
        let part = events.next_part().await.unwrap();
        assert!(part.starts_with(':'), "{part}");
        let interval = Duration::from_secs(15);
        assert_eq!(began.elapsed().as_secs(), (interval * number).as_secs());
    }
}

#[tokio::test]
async fn limits_the_number_of_streams() {
    let http = serve().await;
    let requested = json!({"resourcesListChanged": true});
    let mut open = Vec::new();
    for _ in 0..8 {
        open.push(listen(&http, &requested).await);
    }
    assert_eq!(http.listen(&requested).await.status(), 503);
    // Closed streams release their permits.
    open.pop();
    assert_eq!(http.listen(&requested).await.status(), 200);
}
