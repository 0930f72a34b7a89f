//! Listeners that do not read: they hold nobody up, miss nothing but repetitions, and are closed in the end.

use std::path::Path;
use std::time::Duration;

use larder_core::change_detector;
use larder_mcp::Config;
use larder_model::policy::{Access, Dir};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

use crate::house::Plan;
use crate::listening::{Events, acknowledged, listen};
use crate::revision::until;
use crate::wire::{Wire, config, meta};

/// What is watched by each; so much text that a few rounds of it are more than the system keeps for a connection.
const URIS: usize = 100;
const LETTERS: usize = 1_800;
/// Some fifteen of them are as much as a system keeps for a connection that nobody reads.
const WAVES: usize = 80;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Era {
    Modern,
    Legacy,
}

fn uris() -> Vec<String> {
    (0..URIS).map(|n| format!("wave:{}{n:03}", "x".repeat(LETTERS))).collect()
}

/// A house whose URIs all change when the file does, and which has places for two who listen.
async fn open(folder: &Path, stall: Duration) -> Wire {
    let dir =
        Dir { host: folder.to_owned(), guest: "/data".into(), access: Access::Write, is_canonical: false };
    std::fs::write(folder.join("wave"), "0").unwrap();
    let plan = Plan::of("wave").terms("wave", |grant, _| grant.dirs.push(dir));
    // Nothing but news on the streams: signs of life would fill them as well.
    let keep_alive = Duration::from_secs(3_600);
    let mut wire =
        Wire::with(plan, Config { streams: 2, stall_timeout: stall, keep_alive, ..config() }).await;
    wire.run();
    wire
}

/// Somebody who listens and reads nothing at all.
async fn silent(wire: &Wire, era: Era) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4_096).unwrap();
    let mut stream = socket.connect(wire.address).await.unwrap();
    let request = match era {
        Era::Modern => {
            let params = json!({ "_meta": meta(), "notifications": { "resourceSubscriptions": uris() } });
            let body =
                json!({ "jsonrpc": "2.0", "id": "l-1", "method": "subscriptions/listen", "params": params });
            let body = body.to_string();
            format!(
                "POST /mcp HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n\
                 accept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\n\
                 mcp-method: subscriptions/listen\r\ncontent-length: {}\r\n\r\n{body}",
                wire.address,
                body.len()
            )
        }
        Era::Legacy => {
            let session = wire.session("2025-11-25").await;
            for uri in uris() {
                let answer = wire.legacy(&session, "resources/subscribe", json!({ "uri": uri })).await;
                assert_eq!(answer.verdict(), "200 ok", "{}", answer.body);
            }
            format!(
                "GET /mcp HTTP/1.1\r\nhost: {}\r\naccept: text/event-stream\r\nmcp-session-id: {session}\r\n\r\n",
                wire.address
            )
        }
    };
    stream.write_all(request.as_bytes()).await.unwrap();
    // Its place is taken once it listens.
    let mut first = [0; 15];
    stream.read_exact(&mut first).await.unwrap();
    assert_eq!(&first, b"HTTP/1.1 200 OK");
    stream
}

/// Changes everything that is watched again and again. Whoever reads hears of each change, and reads go on.
async fn waves(wire: &Wire, folder: &Path, healthy: &mut Events) {
    let uri = &uris()[0];
    for wave in 1..=WAVES {
        std::fs::write(folder.join("new"), wave.to_string()).unwrap();
        std::fs::rename(folder.join("new"), folder.join("wave")).unwrap();
        let told = healthy.next().await.expect("the stream goes on");
        assert_eq!(told["params"]["uri"], **uri, "{told}");
        let answer = wire.read(uri).await;
        assert_eq!(answer.json()["result"]["contents"][0]["text"], wave.to_string(), "{}", answer.body);
    }
}

async fn healthy(wire: &Wire) -> Events {
    let known = wire.house.look_out(change_detector::Config {
        version_interval: Duration::from_millis(5),
        read_interval: None,
    });
    let mut events = Events::of(listen(wire, &json!({ "resourceSubscriptions": [uris()[0]] }))).await;
    acknowledged(&events.next().await.unwrap());
    until("all that is watched is known", async || *known.borrow() == URIS).await;
    events
}

/// How often a stream tells of this URI, up to its end or until nothing has come for a while.
async fn told(mut stream: TcpStream, uri: &str, quiet: Duration) -> usize {
    let (mut all, mut part) = (Vec::new(), vec![0; 64 << 10]);
    while let Ok(Ok(read @ 1..)) = tokio::time::timeout(quiet, stream.read(&mut part)).await {
        all.extend_from_slice(&part[..read]);
    }
    let text = String::from_utf8_lossy(&all);
    let events = text.lines().filter_map(|line| line.strip_prefix("data: "));
    let messages = events.filter_map(|data| serde_json::from_str::<Value>(data).ok());
    messages.filter(|message| message["params"]["uri"] == uri).count()
}

async fn who_reads_nothing_is_closed(era: Era) {
    let folder = TempDir::new().unwrap();
    let wire = open(folder.path(), Duration::from_millis(500)).await;
    let stalled = silent(&wire, era).await;
    let mut events = healthy(&wire).await;
    let wanted = json!({ "resourcesListChanged": true });
    assert_eq!(wire.send(listen(&wire, &wanted)).await.status, 503, "both places are taken");
    waves(&wire, folder.path(), &mut events).await;
    until("it is closed, and its place is free", async || {
        listen(&wire, &wanted).send().await.unwrap().status().as_u16() == 200
    })
    .await;
    let told = told(stalled, &uris()[0], Duration::from_secs(60)).await;
    println!("{told} of {WAVES}");
    assert!(told < WAVES, "{told} of {WAVES} were kept for one who does not read");
}

#[tokio::test]
async fn a_modern_listener_that_reads_nothing_holds_nobody_up_and_is_closed() {
    who_reads_nothing_is_closed(Era::Modern).await;
}

#[tokio::test]
async fn a_legacy_stream_that_is_not_read_holds_nobody_up_and_is_closed() {
    who_reads_nothing_is_closed(Era::Legacy).await;
}

async fn who_reads_late_is_told_once(era: Era) {
    let folder = TempDir::new().unwrap();
    let wire = open(folder.path(), Duration::from_secs(3_600)).await;
    let late = silent(&wire, era).await;
    let mut events = healthy(&wire).await;
    waves(&wire, folder.path(), &mut events).await;
    let told = told(late, &uris()[URIS - 1], Duration::from_secs(2)).await;
    println!("told {told} times of {WAVES} changes");
    assert!((1..WAVES / 2).contains(&told), "told {told} times of {WAVES} changes");
}

#[tokio::test]
async fn a_modern_listener_that_reads_late_is_told_once_of_what_changed_often() {
    who_reads_late_is_told_once(Era::Modern).await;
}

#[tokio::test]
async fn a_legacy_stream_that_is_read_late_tells_once_of_what_changed_often() {
    who_reads_late_is_told_once(Era::Legacy).await;
}
