//! Connections without a valid request so far: they get few resources, and other connections replace them.

use std::io::ErrorKind;
use std::time::Duration;

use larder_mcp::Config;
use larder_mcp::auth;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpStream, ToSocketAddrs};
use tokio::time::Instant;

use super::{raw_read, send, status};
use crate::access::auth::static_token;
use crate::administration::admin::AdminClient;
use crate::support::harness::{SLOW_WAIT, TestServer, eventually, eventually_within};
use crate::support::http_server::{HttpTestServer, config};
use crate::support::process::WorkDir;

const TOKEN: &str = "authorization: Bearer a\r\n";

/// Starts a server with this many connections. With `tokens`, each request needs the token `a`.
async fn open(connections: usize, tokens: bool) -> HttpTestServer {
    let tokens = tokens
        .then(|| static_token("ann", "a"))
        .into_iter()
        .collect();
    let auth = auth::Config {
        tokens,
        oauth: None,
    };
    let config = Config {
        connections,
        auth,
        ..config()
    };
    HttpTestServer::with_config(TestServer::builder("sized"), config).await
}

async fn silent_connections(address: impl ToSocketAddrs, count: usize) -> Vec<TcpStream> {
    let mut silent = Vec::new();
    for _ in 0..count {
        silent.push(TcpStream::connect(&address).await.unwrap());
    }
    silent
}

/// Whether the server has sent nothing and has not closed the connection.
fn is_open(stream: &TcpStream) -> bool {
    stream
        .try_read(&mut [0])
        .is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
}

#[tokio::test]
async fn silent_connections_do_not_lock_out_a_caller() {
    for tokens in [false, true] {
        let http = open(16, tokens).await;
        let connections = &http.server.metrics.server().connections;
        let _silent = silent_connections(http.address, 16).await;
        eventually("all connections are taken", async || {
            connections.get() == 16
        })
        .await;
        // A request without a token does not protect its connection.
        let mut unauthorized = Vec::new();
        for _ in 0..16 * usize::from(tokens) {
            let mut stream = send(&http, &raw_read("sized://sized/text/10", "")).await;
            assert_eq!(status(&mut stream).await, "401");
            unauthorized.push(stream);
        }
        let mut caller = send(&http, &raw_read("sized://sized/text/10", TOKEN)).await;
        assert_eq!(status(&mut caller).await, "200");
        assert!(connections.get() <= 17, "{}", connections.get());
    }
}

#[tokio::test]
async fn a_caller_keeps_its_connection_among_silent_ones() {
    let http = open(4, true).await;
    let request = raw_read("sized://sized/text/10", TOKEN);
    let mut caller = send(&http, &request).await;
    assert_eq!(status(&mut caller).await, "200");
    let mut rest = [0; 4 << 10];
    assert!(caller.read(&mut rest).await.unwrap() > 0);
    let _silent = silent_connections(http.address, 40).await;
    let replaced = &http.server.metrics.server().connections_replaced;
    eventually("silent connections are replaced", async || {
        replaced.get() == 37
    })
    .await;
    caller.write_all(request.as_bytes()).await.unwrap();
    assert_eq!(status(&mut caller).await, "200");
}

#[tokio::test]
async fn a_silent_connection_is_closed_after_seconds() {
    let http = open(4, true).await;
    let mut half = send(&http, "POST /mcp HTTP/1.1\r\nhost: localhost\r\n").await;
    let mut unauthorized = send(&http, &raw_read("sized://sized/text/10", "")).await;
    let mut caller = send(&http, &raw_read("sized://sized/text/10", TOKEN)).await;
    assert_eq!(status(&mut caller).await, "200");
    // After half a minute, the connection of the caller would be closed too.
    let deadline = Instant::now() + Duration::from_secs(30);
    for stream in [&mut half, &mut unauthorized] {
        let mut rest = Vec::new();
        let closed = tokio::time::timeout_at(deadline, stream.read_to_end(&mut rest)).await;
        assert!(closed.is_ok(), "the connection is open after half a minute");
    }
    caller
        .write_all(raw_read("sized://sized/text/10", TOKEN).as_bytes())
        .await
        .unwrap();
    assert!(
        caller.read(&mut [0; 4 << 10]).await.unwrap() > 0,
        "the connection of the caller is closed"
    );
}

#[tokio::test]
async fn the_size_of_a_request_head_is_limited() {
    let http = open(4, false).await;
    for complete in [false, true] {
        let padding = format!("x-padding: {}\r\n", "x".repeat(8 << 10)).repeat(4);
        let head = raw_read("sized://sized/text/10", &padding);
        let sent = if complete {
            &head
        } else {
            head.split("content-length").next().unwrap()
        };
        assert_eq!(status(&mut send(&http, sent).await).await, "431");
    }
    let padding = format!("x-padding: {}\r\n", "x".repeat(8 << 10)).repeat(3);
    let mut allowed = send(&http, &raw_read("sized://sized/text/10", &padding)).await;
    assert_eq!(status(&mut allowed).await, "200");
}

#[tokio::test]
async fn silent_connections_do_not_delay_a_health_check() {
    let work_dir =
        WorkDir::with_guests("echo").file("larder.toml", "[admin]\nlisten = \"127.0.0.1:0\"\n");
    let (admin, _) = AdminClient::open(&work_dir);
    // On a busy machine, the server may close all connections before it answers, after five seconds.
    let is_in_time = async || {
        let silent = silent_connections(admin.address(), 40).await;
        assert_eq!(admin.get("/livez").await.0, 200);
        silent.iter().any(is_open)
    };
    eventually_within(
        SLOW_WAIT,
        "a response while silent connections are open",
        is_in_time,
    )
    .await;
}

/// Sends a request, and returns the status and whether the server announces that it closes the connection.
async fn is_closed_after(http: &HttpTestServer, request: &str) -> (String, bool) {
    let mut stream = send(http, request).await;
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        assert!(stream.read_buf(&mut head).await.unwrap() > 0);
    }
    let head = String::from_utf8_lossy(&head);
    (head[9..12].to_owned(), head.contains("connection: close"))
}

#[tokio::test]
async fn ambiguous_framing_is_rejected_or_ends_the_connection() {
    let http = open(16, false).await;
    let request = raw_read("sized://sized/text/10", "");
    let (_, body) = request.split_once("\r\n\r\n").unwrap();
    let chunked = |coding: &str, length: &str| {
        format!(
            "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\naccept: */*\r\n\
             mcp-protocol-version: 2026-07-28\r\nmcp-method: resources/read\r\nmcp-name: sized://sized/text/10\r\n\
             {length}transfer-encoding: {coding}\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n",
            body.len()
        )
    };
    let kept = ("200".to_owned(), false);
    assert_eq!(is_closed_after(&http, &request).await, kept);
    assert_eq!(is_closed_after(&http, &chunked("chunked", "")).await, kept);
    assert_eq!(is_closed_after(&http, &chunked("Chunked", "")).await, kept);
    let both = is_closed_after(&http, &chunked("chunked", "content-length: 5\r\n")).await;
    assert!(both.1, "{both:?}");
    for coding in ["gzip, chunked", "gzip\r\ntransfer-encoding: chunked"] {
        assert_eq!(
            is_closed_after(&http, &chunked(coding, "")).await,
            ("501".to_owned(), true),
            "{coding}"
        );
    }
    eventually("another request is served", async || {
        http.read("sized://sized/text/10").await.status == 200
    })
    .await;
}

#[tokio::test]
async fn many_unfinished_heads_use_little_memory() {
    let work_dir = WorkDir::with_guests("echo");
    let (server, url) = work_dir.serve("");
    let address = url
        .trim_start_matches("http://")
        .trim_end_matches("/mcp")
        .to_owned();
    let Some(before) = server.memory() else {
        return;
    };
    let head = format!("POST /mcp HTTP/1.1\r\nx-padding: {}", "x".repeat(380_000));
    let mut open = Vec::new();
    for _ in 0..300 {
        let mut stream = TcpStream::connect(&address).await.unwrap();
        // The server may close the connection before it has received all bytes.
        let _ = tokio::time::timeout(SLOW_WAIT, stream.write_all(head.as_bytes()))
            .await
            .unwrap();
        open.push(stream);
    }
    let used = server.memory().unwrap().saturating_sub(before);
    assert!(used < 40 << 20, "{used} bytes");
}
