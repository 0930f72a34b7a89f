//! Listeners that do not read, each on its own TCP connection. They do not delay other listeners, miss only repeated
//! notifications, and are closed after some time.

use std::net::{Ipv4Addr, SocketAddr};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use super::endpoint::{Events, TestEndpoint, config, meta};
use super::subscriptions::listen;
use crate::{Config, Duration};
use larder_core::test_team;
use larder_provider::fake::FakeContent;

/// The number of URIs that each listener watches. Their text is so long that a few waves of notifications
/// fill the socket buffers of the system.
const URIS: usize = 100;
/// The length of each URI.
const URI_LENGTH: usize = 1_800;
/// The number of changes. The notifications of about 15 changes fill the socket buffers of a connection.
const WAVES: usize = 80;
/// How long a test waits for something that has to happen.
const SLOW_WAIT: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Era {
    Modern,
    Legacy,
}

fn uris() -> Vec<String> {
    (0..URIS)
        .map(|n| format!("x:{}{n:03}", "x".repeat(URI_LENGTH)))
        .collect()
}

/// An endpoint with two streams, at this address.
struct Server {
    http: TestEndpoint,
    address: SocketAddr,
}

impl Server {
    async fn start(stall_timeout: Duration) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let content = uris().iter().fold(FakeContent::default(), |content, uri| {
            content.with_text(uri, "0")
        });
        let config = Config {
            listen: address.into(),
            streams: 2,
            stall_timeout,
            // Keep-alive comments would also fill the streams.
            keep_alive: Duration::from_secs(3_600),
            ..config()
        };
        let gateway = test_team::config(1_000);
        let http = TestEndpoint::with_config([("x", content)], gateway, config).await;
        let endpoint = http.endpoint.clone();
        http.drain
            .spawn(async move { endpoint.serve_http(listener).await });
        Self { http, address }
    }

    /// Opens a stream that the client does not read.
    async fn open_unread_stream(&self, era: Era) -> TcpStream {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4_096).unwrap();
        let mut stream = socket.connect(self.address).await.unwrap();
        let request = match era {
            Era::Modern => self.modern_request(),
            Era::Legacy => self.legacy_request().await,
        };
        stream.write_all(request.as_bytes()).await.unwrap();
        // The stream holds its permit once the response starts.
        let mut first = [0; 15];
        stream.read_exact(&mut first).await.unwrap();
        assert_eq!(&first, b"HTTP/1.1 200 OK");
        stream
    }

    fn modern_request(&self) -> String {
        let params = json!({"_meta": meta(), "notifications": {"resourceSubscriptions": uris()}});
        let method = "subscriptions/listen";
        let body = json!({"jsonrpc": "2.0", "id": "l-1", "method": method, "params": params});
        let body = body.to_string();
        format!(
            "POST /mcp HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\n\
             mcp-method: {method}\r\ncontent-length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        )
    }

    async fn legacy_request(&self) -> String {
        let session = self.http.session("2025-11-25").await;
        for uri in uris() {
            let uri = json!({"uri": uri});
            let answer = self.http.legacy(&session, "resources/subscribe", uri).await;
            assert_eq!(answer.verdict(), "200 ok", "{}", answer.body);
        }
        format!(
            "GET /mcp HTTP/1.1\r\nhost: {}\r\naccept: text/event-stream\r\nmcp-session-id: {session}\r\n\r\n",
            self.address
        )
    }

    async fn open_healthy_stream(&self) -> Events {
        listen(&self.http, &json!({"resourceSubscriptions": [uris()[0]]})).await
    }

    /// Changes all watched URIs but the last again and again. A healthy listener gets each change, and reads are served.
    async fn change_repeatedly(&self, healthy: &mut Events) {
        let uris = uris();
        for wave in 1..=WAVES {
            let text = wave.to_string();
            let _ = self.http.content.clone().with_text(&uris[0], &text);
            self.report_updates(&uris);
            let message = healthy.next().await.expect("the stream ended");
            assert_eq!(message["params"]["uri"], *uris[0], "{message}");
            let read = self.http.read(&uris[0]).await;
            assert_eq!(read["contents"][0]["text"], *text, "{read}");
            // The server writes what the socket buffers of the unread stream hold.
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Reports a change of each of these URIs but the last.
    fn report_updates(&self, uris: &[String]) {
        for uri in &uris[..URIS - 1] {
            self.http.report_update(uri);
        }
    }
}

/// Reads notifications until `is_last` holds for one, or until the end of the stream. Returns their URIs.
async fn read_uris(mut stream: TcpStream, is_last: impl Fn(&str) -> bool) -> Vec<String> {
    let mut uris = Vec::new();
    let mut text = String::new();
    let mut part = vec![0; 64 << 10];
    loop {
        let read = tokio::time::timeout(SLOW_WAIT, stream.read(&mut part)).await;
        // A closed connection ends with an error.
        let Ok(count @ 1..) = read.expect("nothing arrived") else {
            return uris;
        };
        text += str::from_utf8(&part[..count]).unwrap();
        while let Some((line, rest)) = text.split_once('\n') {
            let data = line.strip_prefix("data: ").unwrap_or_default();
            let message: Value = serde_json::from_str(data).unwrap_or_default();
            text = rest.to_owned();
            if let Some(uri) = message["params"]["uri"].as_str() {
                uris.push(uri.to_owned());
                if is_last(uri) {
                    return uris;
                }
            }
        }
    }
}

fn count(found: &[String], uri: &str) -> usize {
    found.iter().filter(|found| *found == uri).count()
}

async fn check_unread_stream_is_closed(era: Era) {
    let server = Server::start(Duration::from_millis(500)).await;
    let unread = server.open_unread_stream(era).await;
    let mut events = server.open_healthy_stream().await;
    let requested = json!({"resourcesListChanged": true});
    let refused = server.http.listen(&requested).await;
    assert_eq!(refused.status(), 503, "both streams are in use");
    server.change_repeatedly(&mut events).await;
    let uris = uris();
    let closed = async {
        while server.http.listen(&requested).await.status() != 200 {
            server.report_updates(&uris);
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(SLOW_WAIT, closed)
        .await
        .expect("the unread stream is closed, and its permit is free");
    let count = count(&read_uris(unread, |_| false).await, &uris[0]);
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
    let server = Server::start(Duration::from_secs(3_600)).await;
    let unread = server.open_unread_stream(era).await;
    let mut events = server.open_healthy_stream().await;
    server.change_repeatedly(&mut events).await;
    // The last URI changes only now, so its notification is the last one.
    let uris = uris();
    let last = &uris[URIS - 1];
    server.http.report_update(last);
    let found = read_uris(unread, |uri| uri == last).await;
    assert_eq!(count(&found, last), 1);
    let count = count(&found, &uris[URIS - 2]);
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
