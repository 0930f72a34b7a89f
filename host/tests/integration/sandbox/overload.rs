//! Excess connections and requests are refused at once with a time to retry. Accepted connections and requests are
//! served as before.

mod bodies;
mod connections;
mod large_contents;
mod memory_budget;
mod waiting_bytes;

use std::sync::Arc;
use std::time::{Duration, Instant};

use larder_mcp::Config;
use larder_runtime::metrics::Outcome;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::support::harness::{SLOW_WAIT, TestServer, eventually_within};
use crate::support::http_server::{HttpResponse, HttpTestServer, config, meta};

/// Returns the bytes of a modern read over HTTP. Each of the additional headers ends with a line break.
fn raw_read(uri: &str, headers: &str) -> String {
    let params = serde_json::json!({"uri": uri, "_meta": meta()});
    let body = serde_json::json!({"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": params});
    let body = body.to_string();
    format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\naccept: */*\r\n\
         mcp-protocol-version: 2026-07-28\r\nmcp-method: resources/read\r\nmcp-name: {uri}\r\n{headers}\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Opens a connection and sends bytes.
async fn send(http: &HttpTestServer, bytes: &str) -> TcpStream {
    let mut stream = TcpStream::connect(http.address).await.unwrap();
    stream.write_all(bytes.as_bytes()).await.unwrap();
    stream
}

/// Reads the status line up to the status.
async fn status(stream: &mut TcpStream) -> String {
    let mut status = [0; 12];
    let read = tokio::time::timeout(SLOW_WAIT, stream.read_exact(&mut status)).await;
    read.expect("no response").unwrap();
    String::from_utf8_lossy(&status[9..]).into_owned()
}

/// Opens a connection, uses it once, and keeps it open.
async fn open_connection(http: &HttpTestServer) -> TcpStream {
    let mut stream = send(http, &raw_read("sized://sized/text/10", "")).await;
    assert_eq!(status(&mut stream).await, "200");
    stream
}

/// Reads a URI until the response has this status.
async fn read_until_status(http: &HttpTestServer, uri: &str, status: u16) -> HttpResponse {
    let began = Instant::now();
    loop {
        let answer = http.read(uri).await;
        if answer.status == status {
            return answer;
        }
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "still {} {}",
            answer.status,
            answer.body
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn check_retry_after(answer: &HttpResponse) {
    assert_eq!(answer.headers["retry-after"], "1");
    assert_eq!(answer.json()["error"]["code"], -32603);
}

#[tokio::test]
async fn an_excess_connection_gets_retry_after() {
    let http = HttpTestServer::with_config(
        TestServer::builder("sized"),
        Config {
            connections: 2,
            ..config()
        },
    )
    .await;
    let uri = "sized://sized/text/1024";
    let (one, mut other) = (open_connection(&http).await, open_connection(&http).await);
    let refused = http.read(uri).await;
    assert_eq!(refused.status, 503, "{}", refused.body);
    check_retry_after(&refused);
    // An accepted connection is served as before.
    other.write_all(raw_read(uri, "").as_bytes()).await.unwrap();
    assert!(other.read(&mut [0; 1024]).await.unwrap() > 0);
    drop(one);
    read_until_status(&http, uri, 200).await;
}

/// Reads a resource that takes this many milliseconds.
fn read_sleeping(
    http: &Arc<HttpTestServer>,
    milliseconds: u64,
) -> impl Future<Output = HttpResponse> + use<> {
    let http = http.clone();
    async move { http.read(&format!("sleep://ms/{milliseconds}")).await }
}

/// Waits for the next response.
async fn next_response(all: &mut JoinSet<HttpResponse>) -> HttpResponse {
    let next = tokio::time::timeout(Duration::from_secs(60), all.join_next()).await;
    next.expect("no response within a minute")
        .expect("there are no more requests")
        .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_beyond_the_queue_of_a_provider_are_refused() {
    let hour = Duration::from_secs(3600);
    let builder = TestServer::builder("sleep echo").provider("sleep", |grant, _| {
        (grant.limits.concurrency, grant.limits.queue_length) = (2, 4);
        (grant.limits.queue_timeout, grant.limits.timeout) = (hour, hour);
    });
    let http = Arc::new(
        HttpTestServer::with_config(
            builder,
            Config {
                connections: 200,
                ..config()
            },
        )
        .await,
    );
    let snapshot = http.server.reader.snapshot();
    let sleep = snapshot
        .offers()
        .iter()
        .find(|offer| offer.name().as_str() == "sleep")
        .unwrap();
    let metrics = sleep.provider.metrics();
    // Two calls that do not end during the test.
    let mut long: JoinSet<_> = (0..2)
        .map(|n| read_sleeping(&http, 3_600_000 + n))
        .collect();
    eventually_within(SLOW_WAIT, "both guests run", async || {
        metrics.guests.get() == 2
    })
    .await;

    let mut short: JoinSet<_> = (0..100).map(|n| read_sleeping(&http, n)).collect();
    // Both guests are in use, so these responses are refusals. The remaining calls fill the queue.
    for _ in 0..96 {
        let refused = next_response(&mut short).await;
        assert_eq!(refused.verdict(), "200 -32603", "{}", refused.body);
        let data = &refused.json()["error"]["data"];
        assert_eq!(
            (&data["kind"], &data["retryAfterMs"]),
            (&"busy".into(), &1_000.into()),
            "{data}"
        );
    }
    assert_eq!(
        (metrics.calls(Outcome::Busy), metrics.guests.get()),
        (96, 2)
    );
    // Calls to other providers are not affected.
    assert_eq!(http.read("echo://hello").await.status, 200);

    long.shutdown().await;
    for _ in 0..4 {
        let accepted = next_response(&mut short).await;
        assert_eq!(
            accepted.json()["result"]["contents"][0]["text"],
            "slept",
            "{}",
            accepted.body
        );
    }
    assert!(short.join_next().await.is_none());
}
