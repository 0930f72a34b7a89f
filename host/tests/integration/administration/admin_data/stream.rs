//! The stream of events.

use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use serde_json::Value;
use tokio::time::timeout;

use super::DataServer;
use crate::support::harness::{SLOW_WAIT, eventually_within};

/// A client of the stream.
pub(super) struct Stream {
    chunks: BoxStream<'static, reqwest::Result<bytes::Bytes>>,
    received: String,
}

/// A server-sent event.
pub(super) struct Message {
    pub(super) name: String,
    pub(super) id: Option<u64>,
    pub(super) data: Value,
}

impl Stream {
    pub(super) async fn open(server: &DataServer, query: &str) -> Self {
        let request = server.request("GET", &format!("/api/events/stream{query}"));
        let response = request
            .timeout(Duration::from_secs(600))
            .send()
            .await
            .unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self {
            chunks: response.bytes_stream().boxed(),
            received: String::new(),
        }
    }

    /// Returns the next message; none at the end of the stream.
    pub(super) async fn next(&mut self) -> Option<Message> {
        loop {
            if let Some((message, rest)) = self.received.split_once("\n\n") {
                let (message, rest) = (parse(message), rest.to_owned());
                self.received = rest;
                match message {
                    Some(message) => return Some(message),
                    // A comment, which keeps the connection open.
                    None => continue,
                }
            }
            let chunk = timeout(SLOW_WAIT, self.chunks.next())
                .await
                .expect("the stream sends something")?
                .ok()?;
            self.received += std::str::from_utf8(&chunk).unwrap();
        }
    }

    /// Returns the next event of this kind.
    pub(super) async fn next_event(&mut self, kind: &str) -> Message {
        loop {
            let message = self.next().await.expect("the stream goes on");
            if message.name == "event" && message.data["kind"] == kind {
                return message;
            }
        }
    }
}

fn parse(text: &str) -> Option<Message> {
    let field = |name: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    };
    let id = field("id").map(|id| id.parse().unwrap());
    Some(Message {
        name: field("event")?.to_owned(),
        id,
        data: serde_json::from_str(field("data")?).unwrap(),
    })
}

#[tokio::test]
async fn sends_events_as_they_happen_and_the_overview() {
    let server = DataServer::start("echo trap_reads", "");
    let mut stream = Stream::open(&server, "").await;
    // The first message is the overview, so the stream is connected now; the loads before it are not sent.
    let first = stream.next().await.unwrap();
    assert_eq!(
        (first.name.as_str(), &first.data["ready"]),
        ("overview", &true.into())
    );
    server.read("trap-reads://listed").expect_exit(1);
    let fault = stream.next_event("fault").await;
    assert_eq!(fault.data["provider"], "trap_reads");
    assert!(
        fault.data["details"]["stderr"]
            .as_str()
            .unwrap()
            .contains("not today"),
        "{}",
        fault.data
    );
    assert_eq!(fault.id, fault.data["id"].as_u64());
    std::fs::remove_file(server.work_dir.path("plugins/echo.wasm")).unwrap();
    let removal = stream.next_event("removal").await;
    assert_eq!(removal.data["provider"], "echo");
    // A client that connects again gets the events that it missed.
    let mut again = Stream::open(&server, &format!("?after={}", fault.id.unwrap())).await;
    assert_eq!(again.next_event("removal").await.id, removal.id);
    let mut resumed = {
        let request = server
            .request("GET", "/api/events/stream")
            .header("last-event-id", fault.id.unwrap());
        let response = request.send().await.unwrap();
        Stream {
            chunks: response.bytes_stream().boxed(),
            received: String::new(),
        }
    };
    assert_eq!(resumed.next_event("removal").await.id, removal.id);
    while stream.next().await.unwrap().name != "overview" {}
}

#[tokio::test]
async fn the_number_of_streams_is_limited() {
    let server = DataServer::start("echo", "");
    let mut streams = Vec::new();
    for _ in 0..8 {
        let mut stream = Stream::open(&server, "").await;
        stream.next().await.unwrap();
        streams.push(stream);
    }
    let refused = server
        .request("GET", "/api/events/stream")
        .send()
        .await
        .unwrap();
    assert_eq!(
        (refused.status().as_u16(), &refused.headers()["retry-after"]),
        (503, &"5".parse().unwrap())
    );
    let body: Value = refused.json().await.unwrap();
    assert_eq!(body["error"]["code"], "too-many-streams");
    // Other requests are answered, and a closed stream makes room.
    server.json("/api/overview").await;
    drop(streams.pop());
    eventually_within(SLOW_WAIT, "there is room for a stream", async || {
        server
            .request("GET", "/api/events/stream")
            .send()
            .await
            .unwrap()
            .status()
            == 200
    })
    .await;
}

#[tokio::test]
async fn ends_at_shutdown() {
    let server = DataServer::start("echo", "");
    let mut stream = Stream::open(&server, "").await;
    stream.next().await.unwrap();
    server.admin.process.signal("TERM");
    while stream.next().await.is_some() {}
    let began = std::time::Instant::now();
    let output = server.admin.process.wait();
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert!(began.elapsed() < SLOW_WAIT / 2, "{:?}", began.elapsed());
    assert!(!output.stderr.contains("abandoned"), "{}", output.stderr);
}
