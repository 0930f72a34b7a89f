//! Listeners that do not read. They do not delay other listeners, miss only repeated notifications, and are closed
//! after some time.

use std::path::Path;
use std::time::Duration;

use larder_core::change_detector;
use larder_mcp::Config;
use larder_model::policy::{Access, Dir};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

use crate::protocol::subscriptions::{Events, acknowledged, listen};
use crate::support::harness::{SLOW_WAIT, TestServer, eventually_within};
use crate::support::http_server::{HttpTestServer, config, meta};

/// The number of URIs that each listener watches. Their text is so long that a few waves of notifications
/// fill the socket buffers of the system.
const URIS: usize = 100;
/// The length of each URI.
const URI_LENGTH: usize = 1_800;
/// The number of changes. The notifications of about 15 changes fill the socket buffers of a connection.
const WAVES: usize = 80;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Era {
    Modern,
    Legacy,
}

fn uris() -> Vec<String> {
    (0..URIS)
        .map(|n| format!("same-content:{}{n:03}", "x".repeat(URI_LENGTH)))
        .collect()
}

/// Starts a server whose URIs all change when the file changes, and which allows two streams.
async fn open(folder: &Path, stall: Duration) -> HttpTestServer {
    let dir = Dir {
        host: folder.to_owned(),
        guest: "/data".into(),
        access: Access::Write,
        is_canonical: false,
    };
    std::fs::write(folder.join("same_content"), "0").unwrap();
    let builder = TestServer::builder("same_content")
        .provider("same_content", |grant, _| grant.dirs.push(dir));
    // Keep-alive comments would also fill the streams.
    let keep_alive = Duration::from_secs(3_600);
    let mut http = HttpTestServer::with_config(
        builder,
        Config {
            streams: 2,
            stall_timeout: stall,
            keep_alive,
            ..config()
        },
    )
    .await;
    http.run_reconciler();
    http
}

/// Opens a stream that the client does not read.
async fn open_unread_stream(http: &HttpTestServer, era: Era) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4_096).unwrap();
    let mut stream = socket.connect(http.address).await.unwrap();
    let request = match era {
        Era::Modern => {
            let params =
                json!({ "_meta": meta(), "notifications": { "resourceSubscriptions": uris() } });
            let body = json!({ "jsonrpc": "2.0", "id": "l-1", "method": "subscriptions/listen", "params": params });
            let body = body.to_string();
            format!(
                "POST /mcp HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n\
                 accept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\n\
                 mcp-method: subscriptions/listen\r\ncontent-length: {}\r\n\r\n{body}",
                http.address,
                body.len()
            )
        }
        Era::Legacy => {
            let session = http.session("2025-11-25").await;
            for uri in uris() {
                let answer = http
                    .legacy(&session, "resources/subscribe", json!({ "uri": uri }))
                    .await;
                assert_eq!(answer.verdict(), "200 ok", "{}", answer.body);
            }
            format!(
                "GET /mcp HTTP/1.1\r\nhost: {}\r\naccept: text/event-stream\r\nmcp-session-id: {session}\r\n\r\n",
                http.address
            )
        }
    };
    stream.write_all(request.as_bytes()).await.unwrap();
    // The stream holds its permit once the response starts.
    let mut first = [0; 15];
    stream.read_exact(&mut first).await.unwrap();
    assert_eq!(&first, b"HTTP/1.1 200 OK");
    stream
}

/// Changes all watched URIs again and again. A healthy listener gets each change, and reads are served.
async fn change_repeatedly(http: &HttpTestServer, folder: &Path, healthy: &mut Events) {
    let uri = &uris()[0];
    for wave in 1..=WAVES {
        std::fs::write(folder.join("new"), wave.to_string()).unwrap();
        std::fs::rename(folder.join("new"), folder.join("same_content")).unwrap();
        let message = healthy.next().await.expect("the stream ended");
        assert_eq!(message["params"]["uri"], **uri, "{message}");
        let answer = http.read(uri).await;
        assert_eq!(
            answer.json()["result"]["contents"][0]["text"],
            wave.to_string(),
            "{}",
            answer.body
        );
    }
}

/// Opens a stream that is read, and waits until all watched URIs are known.
async fn open_healthy_stream(http: &HttpTestServer) -> Events {
    let known_count = http.server.start_change_detector(change_detector::Config {
        version_interval: Duration::from_millis(5),
        read_interval: None,
    });
    let mut events = Events::of(listen(
        http,
        &json!({ "resourceSubscriptions": [uris()[0]] }),
    ))
    .await;
    acknowledged(&events.next().await.unwrap());
    eventually_within(SLOW_WAIT, "all watched URIs are known", async || {
        *known_count.borrow() == URIS
    })
    .await;
    events
}

/// Counts the notifications for this URI, up to the end of the stream or until nothing arrives for the
/// duration `quiet`.
async fn count_notifications(mut stream: TcpStream, uri: &str, quiet: Duration) -> usize {
    let (mut all, mut part) = (Vec::new(), vec![0; 64 << 10]);
    while let Ok(Ok(read @ 1..)) = tokio::time::timeout(quiet, stream.read(&mut part)).await {
        all.extend_from_slice(&part[..read]);
    }
    let text = String::from_utf8_lossy(&all);
    let events = text.lines().filter_map(|line| line.strip_prefix("data: "));
    let messages = events.filter_map(|data| serde_json::from_str::<Value>(data).ok());
    messages
        .filter(|message| message["params"]["uri"] == uri)
        .count()
}

async fn check_unread_stream_is_closed(era: Era) {
    let folder = TempDir::new().unwrap();
    let http = open(folder.path(), Duration::from_millis(500)).await;
    let unread = open_unread_stream(&http, era).await;
    let mut events = open_healthy_stream(&http).await;
    let requested = json!({ "resourcesListChanged": true });
    assert_eq!(
        http.send(listen(&http, &requested)).await.status,
        503,
        "both streams are in use"
    );
    change_repeatedly(&http, folder.path(), &mut events).await;
    eventually_within(
        SLOW_WAIT,
        "the unread stream is closed, and its permit is free",
        async || {
            listen(&http, &requested)
                .send()
                .await
                .unwrap()
                .status()
                .as_u16()
                == 200
        },
    )
    .await;
    let count = count_notifications(unread, &uris()[0], Duration::from_secs(60)).await;
    println!("{count} of {WAVES}");
    assert!(
        count < WAVES,
        "{count} of {WAVES} notifications were stored for an unread stream"
    );
}

#[tokio::test]
async fn an_unread_modern_stream_delays_no_other_and_is_closed() {
    check_unread_stream_is_closed(Era::Modern).await;
}

#[tokio::test]
async fn an_unread_legacy_stream_delays_no_other_and_is_closed() {
    check_unread_stream_is_closed(Era::Legacy).await;
}

async fn check_late_reader_gets_merged_updates(era: Era) {
    let folder = TempDir::new().unwrap();
    let http = open(folder.path(), Duration::from_secs(3_600)).await;
    let unread = open_unread_stream(&http, era).await;
    let mut events = open_healthy_stream(&http).await;
    change_repeatedly(&http, folder.path(), &mut events).await;
    let count = count_notifications(unread, &uris()[URIS - 1], Duration::from_secs(2)).await;
    println!("{count} notifications for {WAVES} changes");
    assert!(
        (1..WAVES / 2).contains(&count),
        "{count} notifications for {WAVES} changes"
    );
}

#[tokio::test]
async fn a_late_reader_of_a_modern_stream_gets_merged_updates() {
    check_late_reader_gets_merged_updates(Era::Modern).await;
}

#[tokio::test]
async fn a_late_reader_of_a_legacy_stream_gets_merged_updates() {
    check_late_reader_gets_merged_updates(Era::Legacy).await;
}
