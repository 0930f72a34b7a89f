//! Resuming legacy streams: after a broken connection, a client sends the id of the last event that it got,
//! and receives the events that it missed.

use std::time::Duration;

use serde_json::{Value, json};

use crate::protocol::extension::extension_config;
use crate::support::harness::TestServer;
use crate::support::http_server::{ACCEPT, HttpTestServer, JSON};

/// An SSE response whose events are read with their ids.
struct EventStream {
    response: reqwest::Response,
    text: String,
}

impl EventStream {
    /// Opens the stream of a session, after the event `last` if there is one.
    async fn open(http: &HttpTestServer, session: &str, last: Option<&str>) -> Self {
        let response = stream_request(http, session, last).send().await.unwrap();
        assert_eq!(response.status().as_u16(), 200);
        Self {
            response,
            text: String::new(),
        }
    }

    /// Returns the id and, if it has one, the message of the next event. Comments are skipped.
    async fn event(&mut self) -> Option<(String, Option<Value>)> {
        let next = tokio::time::timeout(Duration::from_secs(30), self.raw_event()).await;
        let event = next.expect("no event within 30 seconds")?;
        let field = |name: &str| {
            event
                .lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
        };
        let data = field("data").filter(|data| !data.is_empty());
        let message = data.map(|data| serde_json::from_str(data).unwrap());
        Some((field("id").unwrap_or_default().trim().to_owned(), message))
    }

    /// Returns the next message and the id of its event.
    async fn message(&mut self) -> Option<(String, Value)> {
        loop {
            if let (id, Some(message)) = self.event().await? {
                return Some((id, message));
            }
        }
    }

    /// Returns the URI of the next message, or the last part of its method if it has none.
    async fn next_subject(&mut self) -> String {
        let (_, message) = self.message().await.unwrap();
        let method = message["method"]
            .as_str()
            .unwrap()
            .rsplit('/')
            .next()
            .unwrap()
            .to_owned();
        message["params"]["uri"]
            .as_str()
            .map(ToOwned::to_owned)
            .unwrap_or(method)
    }

    /// Receives the changes of all lists.
    async fn all_lists_changed(&mut self) {
        for list in ["resources", "tools", "prompts"] {
            let (_, message) = self.message().await.unwrap();
            assert_eq!(
                message["method"],
                format!("notifications/{list}/list_changed")
            );
        }
    }

    async fn raw_event(&mut self) -> Option<String> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let event = event.to_owned();
                self.text = rest.to_owned();
                if !event.starts_with(':') {
                    return Some(event);
                }
                continue;
            }
            self.text += std::str::from_utf8(&self.response.chunk().await.unwrap()?).unwrap();
        }
    }
}

fn stream_request(
    http: &HttpTestServer,
    session: &str,
    last: Option<&str>,
) -> reqwest::RequestBuilder {
    let get = http
        .client
        .get(&http.url)
        .header("accept", "text/event-stream");
    let get = get.header("mcp-session-id", session.to_owned());
    last.into_iter().fold(get, |get, last| {
        get.header("last-event-id", last.to_owned())
    })
}

async fn subscribe(http: &HttpTestServer, session: &str, uris: &[&str]) {
    for uri in uris {
        let answer = http
            .legacy(session, "resources/subscribe", json!({ "uri": uri }))
            .await;
        assert_eq!(answer.verdict(), "200 ok");
    }
}

async fn touch(http: &HttpTestServer, uri: &str) {
    assert_eq!(
        http.read(&format!("echo://touch/{uri}")).await.verdict(),
        "200 ok"
    );
}

async fn start_running() -> HttpTestServer {
    let mut http = HttpTestServer::start("echo").await;
    http.run_reconciler();
    http
}

#[tokio::test]
async fn a_resumed_stream_delivers_missed_events_once_and_in_order() {
    let http = start_running().await;
    let session = http.session("2025-11-25").await;
    subscribe(&http, &session, &["echo://hello", "echo://many"]).await;
    let mut stream = EventStream::open(&http, &session, None).await;
    let (priming_id, message) = stream.event().await.unwrap();
    assert_eq!(message, None, "the stream starts with an id and no message");
    touch(&http, "echo://hello").await;
    let (first, message) = stream.message().await.unwrap();
    assert_eq!(message["params"]["uri"], "echo://hello");
    touch(&http, "echo://many").await;
    let (second, _) = stream.message().await.unwrap();
    drop(stream);
    // The first of these URIs has no subscription.
    touch(&http, "echo://blob").await;
    touch(&http, "echo://hello").await;

    let mut resumed = EventStream::open(&http, &session, Some(&second)).await;
    assert_eq!(resumed.next_subject().await, "echo://hello");
    touch(&http, "echo://many").await;
    assert_eq!(resumed.next_subject().await, "echo://many");
    // Events that were sent may not have arrived. They are sent again, after any earlier event.
    let all = ["echo://hello", "echo://many", "echo://hello", "echo://many"];
    for (last, missed) in [(&priming_id, &all[..]), (&first, &all[1..])] {
        let mut resumed = EventStream::open(&http, &session, Some(last)).await;
        for uri in missed {
            assert_eq!(resumed.next_subject().await, *uri);
        }
    }
    touch(&http, "echo://hello").await;
    let mut resumed = EventStream::open(&http, &session, Some(&first)).await;
    for uri in ["echo://many", "echo://hello", "echo://many", "echo://hello"] {
        assert_eq!(resumed.next_subject().await, uri);
    }
}

#[tokio::test]
async fn rejects_event_ids_of_another_session() {
    let http = start_running().await;
    let (mine, other) = (
        http.session("2025-11-25").await,
        http.session("2025-11-25").await,
    );
    subscribe(&http, &other, &["echo://hello"]).await;
    let mut other_stream = EventStream::open(&http, &other, None).await;
    let (priming_id, _) = other_stream.event().await.unwrap();
    touch(&http, "echo://hello").await;
    let (event_id, _) = other_stream.message().await.unwrap();
    let invented = event_id.replace(char::is_numeric, "9");
    for last in [&priming_id, &event_id, &invented, "1", "0", "../0", "ä"] {
        let answer = http.send(stream_request(&http, &mine, Some(last))).await;
        assert_eq!(answer.verdict(), "400 -32600", "{last}");
        assert!(answer.body.contains("Last-Event-ID"), "{}", answer.body);
    }
    assert_eq!(
        http.send(stream_request(&http, "never-was", Some(&event_id)))
            .await
            .status,
        404
    );
    // An empty id counts as no id.
    let mut stream = EventStream::open(&http, &mine, Some("")).await;
    assert_eq!(stream.event().await.unwrap().1, None);
    // The stream of the other session still works.
    touch(&http, "echo://hello").await;
    assert_eq!(other_stream.next_subject().await, "echo://hello");
}

#[tokio::test]
async fn reports_everything_as_changed_if_too_much_was_missed() {
    let http = start_running().await;
    let session = http.session("2025-11-25").await;
    let long = format!("echo://say/{}", "y".repeat(7_000));
    subscribe(&http, &session, &["echo://hello", &long]).await;
    let mut stream = EventStream::open(&http, &session, None).await;
    let (priming_id, _) = stream.event().await.unwrap();
    let mut newest = String::new();
    for _ in 0..12 {
        touch(&http, &long).await;
        newest = stream.message().await.unwrap().0;
    }
    drop(stream);
    let mut resumed = EventStream::open(&http, &session, Some(&priming_id)).await;
    resumed.all_lists_changed().await;
    let subjects = [resumed.next_subject().await, resumed.next_subject().await];
    assert_eq!(
        subjects,
        ["echo://hello", &long],
        "all subscriptions are reported"
    );
    drop(resumed);
    let mut resumed = EventStream::open(&http, &session, Some(&newest)).await;
    assert_eq!(
        resumed.next_subject().await,
        "list_changed",
        "events that are still in the log are replayed one by one"
    );
}

#[tokio::test]
async fn resumes_the_stream_of_a_request_on_another_connection() {
    let http = HttpTestServer::start("echo").await;
    let (session, other) = (
        http.session("2025-11-25").await,
        http.session("2025-11-25").await,
    );
    let params = json!({ "uri": "echo://progress", "_meta": { "progressToken": "p" } });
    let body = json!({ "jsonrpc": "2.0", "id": "r", "method": "resources/read", "params": params });
    let post = [JSON, ACCEPT, ("mcp-session-id", &session)]
        .into_iter()
        .fold(http.client.post(&http.url), |post, (name, value)| {
            post.header(name, value)
        });
    let response = post.body(body.to_string()).send().await.unwrap();
    let mut stream = EventStream {
        response,
        text: String::new(),
    };
    let (first, progress) = stream.message().await.unwrap();
    assert_eq!(progress["params"]["progress"], 1.0);
    drop(stream);

    let foreign = http.send(stream_request(&http, &other, Some(&first))).await;
    assert_eq!(foreign.verdict(), "400 -32600");
    // The remaining events can be read more than once.
    let mut last = String::new();
    for _ in 0..2 {
        let mut rest = EventStream::open(&http, &session, Some(&first)).await;
        for step in [2.0, 3.0] {
            assert_eq!(rest.message().await.unwrap().1["params"]["progress"], step);
        }
        let (id, answer) = rest.message().await.unwrap();
        last = id;
        assert_eq!(answer["id"], "r");
        assert_eq!(
            answer["result"]["contents"][0]["text"],
            "done, cancelled: false"
        );
        assert!(
            rest.message().await.is_none(),
            "the stream ends after the response"
        );
    }
    let done = http
        .send(stream_request(&http, &session, Some(&last)))
        .await;
    assert_eq!(
        (done.status, done.body.as_str()),
        (204, ""),
        "nothing is left to resume"
    );
}

#[tokio::test]
async fn older_versions_get_no_priming_event() {
    let http = HttpTestServer::start("echo").await;
    for (version, first) in [("2025-06-18", ":\n\n"), ("2025-11-25", "id: ")] {
        let session = http.session(version).await;
        let mut response = stream_request(&http, &session, None).send().await.unwrap();
        let chunk = response.chunk().await.unwrap().unwrap();
        assert!(chunk.starts_with(first.as_bytes()), "{version}: {chunk:?}");
    }
}

#[tokio::test]
async fn does_not_replay_updates_after_unsubscribing() {
    let http = start_running().await;
    let session = http.session("2025-11-25").await;
    subscribe(&http, &session, &["echo://hello", "echo://many"]).await;
    let mut stream = EventStream::open(&http, &session, None).await;
    let (priming_id, _) = stream.event().await.unwrap();
    for uri in ["echo://hello", "echo://many"] {
        touch(&http, uri).await;
        assert_eq!(stream.next_subject().await, uri);
    }
    let unsubscribed = http
        .legacy(
            &session,
            "resources/unsubscribe",
            json!({ "uri": "echo://hello" }),
        )
        .await;
    assert_eq!(unsubscribed.verdict(), "200 ok");
    let mut resumed = EventStream::open(&http, &session, Some(&priming_id)).await;
    assert_eq!(resumed.next_subject().await, "echo://many");
}

#[tokio::test]
async fn reconnecting_without_an_event_id_reports_everything_as_changed() {
    let http = start_running().await;
    let session = http.session("2025-11-25").await;
    subscribe(&http, &session, &["echo://hello"]).await;
    // No event was sent yet, so none can have been missed.
    let stream = EventStream::open(&http, &session, None).await;
    drop(stream);
    let mut stream = EventStream::open(&http, &session, None).await;
    touch(&http, "echo://hello").await;
    assert_eq!(stream.next_subject().await, "echo://hello");
    drop(stream);
    let mut resumed = EventStream::open(&http, &session, None).await;
    resumed.all_lists_changed().await;
    assert_eq!(resumed.next_subject().await, "echo://hello");
}

#[tokio::test]
async fn an_event_that_overtakes_a_pending_update_has_no_id_of_its_own() {
    let slow = "fresh://everyone/0/3600000/slow";
    let builder = TestServer::builder("echo fresh").provider("fresh", |grant, _| {
        grant.limits.timeout = Duration::from_secs(7_200);
    });
    let mut http = HttpTestServer::with_config(builder, extension_config()).await;
    http.run_reconciler();
    let session = http.session("2025-11-25").await;
    let both = json!({ "uris": [slow, "echo://say/x"] });
    assert_eq!(
        http.legacy(&session, "resources/subscribe", both)
            .await
            .verdict(),
        "200 ok"
    );
    subscribe(&http, &session, &["echo://hello"]).await;
    let mut stream = EventStream::open(&http, &session, None).await;
    let (priming_id, _) = stream.event().await.unwrap();
    touch(&http, "echo://hello").await;
    let (first, _) = stream.message().await.unwrap();
    http.read(&format!("fresh://everyone/0/0/touch/{slow}"))
        .await;
    // The update of `slow` waits for an hour. The other updates are sent: the next one without content, the last one
    // with content.
    touch(&http, "echo://hello").await;
    let (event_id, message) = stream.message().await.unwrap();
    assert_eq!(
        (event_id.as_str(), &message["params"]["uri"]),
        ("", &json!("echo://hello"))
    );
    touch(&http, "echo://say/x").await;
    let (event_id, message) = stream.message().await.unwrap();
    assert_eq!(message["params"]["resource"]["uri"], "echo://say/x");
    assert_eq!(event_id, first, "all events up to this one were sent");
    drop(stream);
    // The resumed stream repeats the event that was sent without an id.
    let mut resumed = EventStream::open(&http, &session, Some(&event_id)).await;
    assert_eq!(resumed.next_subject().await, "echo://hello");
    assert_ne!(priming_id, first);
}
