//! Clients of legacy sessions whose connection breaks: they name the last event that they got, and hear the rest.

use std::time::Duration;

use serde_json::{Value, json};

use crate::wire::{ACCEPT, JSON, Wire};

/// A stream whose events are read with their names.
struct Stream {
    response: reqwest::Response,
    text: String,
}

impl Stream {
    /// The stream of a session, from an event on.
    async fn open(wire: &Wire, session: &str, last: Option<&str>) -> Self {
        let response = get(wire, session, last).send().await.unwrap();
        assert_eq!(response.status().as_u16(), 200);
        Self { response, text: String::new() }
    }

    /// The next part of the stream that is not a comment: its name, and its message if it has one.
    async fn event(&mut self) -> Option<(String, Option<Value>)> {
        let next = tokio::time::timeout(Duration::from_secs(30), self.part()).await;
        let part = next.expect("nothing within half a minute")?;
        let field = |name: &str| part.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let data = field("data").filter(|data| !data.is_empty());
        let message = data.map(|data| serde_json::from_str(data).unwrap());
        Some((field("id").unwrap_or_default().trim().to_owned(), message))
    }

    /// The next message, with the name of its event.
    async fn message(&mut self) -> Option<(String, Value)> {
        loop {
            if let (id, Some(message)) = self.event().await? {
                return Some((id, message));
            }
        }
    }

    /// What the next message is about.
    async fn heard(&mut self) -> String {
        let (_, message) = self.message().await.unwrap();
        let method = message["method"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
        message["params"]["uri"].as_str().map(ToOwned::to_owned).unwrap_or(method)
    }

    async fn part(&mut self) -> Option<String> {
        loop {
            if let Some((part, rest)) = self.text.split_once("\n\n") {
                let part = part.to_owned();
                self.text = rest.to_owned();
                if !part.starts_with(':') {
                    return Some(part);
                }
                continue;
            }
            self.text += std::str::from_utf8(&self.response.chunk().await.unwrap()?).unwrap();
        }
    }
}

fn get(wire: &Wire, session: &str, last: Option<&str>) -> reqwest::RequestBuilder {
    let get = wire.client.get(&wire.url).header("accept", "text/event-stream");
    let get = get.header("mcp-session-id", session.to_owned());
    last.into_iter().fold(get, |get, last| get.header("last-event-id", last.to_owned()))
}

async fn subscribe(wire: &Wire, session: &str, uris: &[&str]) {
    for uri in uris {
        let answer = wire.legacy(session, "resources/subscribe", json!({ "uri": uri })).await;
        assert_eq!(answer.verdict(), "200 ok");
    }
}

async fn touch(wire: &Wire, uri: &str) {
    assert_eq!(wire.read(&format!("echo://touch/{uri}")).await.verdict(), "200 ok");
}

async fn running() -> Wire {
    let mut wire = Wire::of("echo").await;
    wire.run();
    wire
}

#[tokio::test]
async fn who_comes_back_hears_what_was_missed_once_and_in_order() {
    let wire = running().await;
    let session = wire.session("2025-11-25").await;
    subscribe(&wire, &session, &["echo://hello", "echo://many"]).await;
    let mut stream = Stream::open(&wire, &session, None).await;
    let (beginning, nothing) = stream.event().await.unwrap();
    assert_eq!(nothing, None, "the stream begins with a name and no message");
    touch(&wire, "echo://hello").await;
    let (first, message) = stream.message().await.unwrap();
    assert_eq!(message["params"]["uri"], "echo://hello");
    touch(&wire, "echo://many").await;
    let (second, _) = stream.message().await.unwrap();
    drop(stream);
    // Nobody subscribed to the first of these.
    touch(&wire, "echo://blob").await;
    touch(&wire, "echo://hello").await;

    let mut again = Stream::open(&wire, &session, Some(&second)).await;
    assert_eq!(again.heard().await, "echo://hello");
    touch(&wire, "echo://many").await;
    assert_eq!(again.heard().await, "echo://many");
    // What was sent and may not have arrived is sent again, however far back.
    let all = ["echo://hello", "echo://many", "echo://hello", "echo://many"];
    for (last, missed) in [(&beginning, &all[..]), (&first, &all[1..])] {
        let mut again = Stream::open(&wire, &session, Some(last)).await;
        for uri in missed {
            assert_eq!(again.heard().await, *uri);
        }
    }
    touch(&wire, "echo://hello").await;
    let mut again = Stream::open(&wire, &session, Some(&first)).await;
    for uri in ["echo://many", "echo://hello", "echo://many", "echo://hello"] {
        assert_eq!(again.heard().await, uri);
    }
}

#[tokio::test]
async fn a_name_of_another_session_is_of_no_use() {
    let wire = running().await;
    let (mine, other) = (wire.session("2025-11-25").await, wire.session("2025-11-25").await);
    subscribe(&wire, &other, &["echo://hello"]).await;
    let mut theirs = Stream::open(&wire, &other, None).await;
    let (beginning, _) = theirs.event().await.unwrap();
    touch(&wire, "echo://hello").await;
    let (name, _) = theirs.message().await.unwrap();
    let made_up = name.replace(char::is_numeric, "9");
    for last in [&beginning, &name, &made_up, "1", "0", "../0", "ä"] {
        let answer = wire.send(get(&wire, &mine, Some(last))).await;
        assert_eq!(answer.verdict(), "400 -32600", "{last}");
        assert!(answer.body.contains("Last-Event-ID"), "{}", answer.body);
    }
    assert_eq!(wire.send(get(&wire, "never-was", Some(&name))).await.status, 404);
    // An empty one is none.
    let mut stream = Stream::open(&wire, &mine, Some("")).await;
    assert_eq!(stream.event().await.unwrap().1, None);
    // The other's stream was not disturbed.
    touch(&wire, "echo://hello").await;
    assert_eq!(theirs.heard().await, "echo://hello");
}

#[tokio::test]
async fn where_too_much_was_missed_everything_is_told() {
    let wire = running().await;
    let session = wire.session("2025-11-25").await;
    let long = format!("echo://say/{}", "y".repeat(7_000));
    subscribe(&wire, &session, &["echo://hello", &long]).await;
    let mut stream = Stream::open(&wire, &session, None).await;
    let (beginning, _) = stream.event().await.unwrap();
    let mut newest = String::new();
    for _ in 0..12 {
        touch(&wire, &long).await;
        newest = stream.message().await.unwrap().0;
    }
    drop(stream);
    let mut again = Stream::open(&wire, &session, Some(&beginning)).await;
    let told = [again.heard().await, again.heard().await, again.heard().await];
    assert_eq!(told, ["list_changed", "echo://hello", &long], "nothing is lost silently");
    drop(again);
    let mut again = Stream::open(&wire, &session, Some(&newest)).await;
    assert_eq!(again.heard().await, "list_changed", "what is still kept is told by itself");
}

#[tokio::test]
async fn the_rest_of_a_request_is_heard_on_another_connection() {
    let wire = Wire::of("echo").await;
    let (session, other) = (wire.session("2025-11-25").await, wire.session("2025-11-25").await);
    let params = json!({ "uri": "echo://progress", "_meta": { "progressToken": "p" } });
    let body = json!({ "jsonrpc": "2.0", "id": "r", "method": "resources/read", "params": params });
    let post = [JSON, ACCEPT, ("mcp-session-id", &session)]
        .into_iter()
        .fold(wire.client.post(&wire.url), |post, (name, value)| post.header(name, value));
    let response = post.body(body.to_string()).send().await.unwrap();
    let mut stream = Stream { response, text: String::new() };
    let (first, report) = stream.message().await.unwrap();
    assert_eq!(report["params"]["progress"], 1.0);
    drop(stream);

    let stolen = wire.send(get(&wire, &other, Some(&first))).await;
    assert_eq!(stolen.verdict(), "400 -32600");
    // As often as it takes.
    let mut last = String::new();
    for _ in 0..2 {
        let mut rest = Stream::open(&wire, &session, Some(&first)).await;
        for step in [2.0, 3.0] {
            assert_eq!(rest.message().await.unwrap().1["params"]["progress"], step);
        }
        let (id, answer) = rest.message().await.unwrap();
        last = id;
        assert_eq!(answer["id"], "r");
        assert_eq!(answer["result"]["contents"][0]["text"], "done, cancelled: false");
        assert!(rest.message().await.is_none(), "and then it ends");
    }
    let done = wire.send(get(&wire, &session, Some(&last))).await;
    assert_eq!((done.status, done.body.as_str()), (204, ""), "who has all of it has no reason to come back");
}

#[tokio::test]
async fn older_revisions_get_no_empty_event() {
    let wire = Wire::of("echo").await;
    for (version, first) in [("2025-06-18", ":\n\n"), ("2025-11-25", "id: ")] {
        let session = wire.session(version).await;
        let mut response = get(&wire, &session, None).send().await.unwrap();
        let chunk = response.chunk().await.unwrap().unwrap();
        assert!(chunk.starts_with(first.as_bytes()), "{version}: {chunk:?}");
    }
}

#[tokio::test]
async fn what_was_given_up_meanwhile_is_not_told_again() {
    let wire = running().await;
    let session = wire.session("2025-11-25").await;
    subscribe(&wire, &session, &["echo://hello", "echo://many"]).await;
    let mut stream = Stream::open(&wire, &session, None).await;
    let (beginning, _) = stream.event().await.unwrap();
    for uri in ["echo://hello", "echo://many"] {
        touch(&wire, uri).await;
        assert_eq!(stream.heard().await, uri);
    }
    let given_up = wire.legacy(&session, "resources/unsubscribe", json!({ "uri": "echo://hello" })).await;
    assert_eq!(given_up.verdict(), "200 ok");
    let mut again = Stream::open(&wire, &session, Some(&beginning)).await;
    assert_eq!(again.heard().await, "echo://many");
}

#[tokio::test]
async fn who_comes_back_without_a_name_may_have_missed_everything() {
    let wire = running().await;
    let session = wire.session("2025-11-25").await;
    subscribe(&wire, &session, &["echo://hello"]).await;
    // Nothing was told yet, so nothing can have been missed.
    let stream = Stream::open(&wire, &session, None).await;
    drop(stream);
    let mut stream = Stream::open(&wire, &session, None).await;
    touch(&wire, "echo://hello").await;
    assert_eq!(stream.heard().await, "echo://hello");
    drop(stream);
    let mut again = Stream::open(&wire, &session, None).await;
    assert_eq!([again.heard().await, again.heard().await], ["list_changed", "echo://hello"]);
}

#[tokio::test]
async fn what_overtakes_an_update_on_its_way_has_no_name_of_its_own() {
    let (slow, plan) = crate::dialect::slow();
    let mut wire = Wire::with(plan, crate::dialect::spoken()).await;
    wire.run();
    let session = wire.session("2025-11-25").await;
    let both = json!({ "uris": [slow, "echo://say/x"] });
    assert_eq!(wire.legacy(&session, "resources/subscribe", both).await.verdict(), "200 ok");
    subscribe(&wire, &session, &["echo://hello"]).await;
    let mut stream = Stream::open(&wire, &session, None).await;
    let (beginning, _) = stream.event().await.unwrap();
    touch(&wire, "echo://hello").await;
    let (first, _) = stream.message().await.unwrap();
    wire.read(&format!("fresh://everyone/0/0/touch/{slow}")).await;
    // The one is on its way for an hour, and the others are told: the next one plainly, the last one with what it holds.
    touch(&wire, "echo://hello").await;
    let (name, message) = stream.message().await.unwrap();
    assert_eq!((name.as_str(), &message["params"]["uri"]), ("", &json!("echo://hello")));
    touch(&wire, "echo://say/x").await;
    let (name, message) = stream.message().await.unwrap();
    assert_eq!(message["params"]["resource"]["uri"], "echo://say/x");
    assert_eq!(name, first, "up to there everything was told");
    drop(stream);
    // Who comes back hears again what he heard, as he does not know of the one between.
    let mut again = Stream::open(&wire, &session, Some(&name)).await;
    assert_eq!(again.heard().await, "echo://hello");
    assert_ne!(beginning, first);
}
