//! What is one too many is refused at once, with a time, and what was let in goes on.

use std::sync::Arc;
use std::time::{Duration, Instant};

use larder_mcp::Config;
use larder_runtime::metrics::Outcome;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::house::Plan;
use crate::revision;
use crate::wire::{Answer, Wire, config, meta};

/// A connection that was answered once and is kept.
async fn held(wire: &Wire) -> TcpStream {
    let mut stream = TcpStream::connect(wire.address).await.unwrap();
    stream.write_all(b"GET /elsewhere HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    let mut head = [0; 12];
    stream.read_exact(&mut head).await.unwrap();
    assert_eq!(&head, b"HTTP/1.1 404");
    stream
}

/// Asks for this until the answer has that status.
async fn until(wire: &Wire, uri: &str, status: u16) -> Answer {
    let began = Instant::now();
    loop {
        let answer = wire.read(uri).await;
        if answer.status == status {
            return answer;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "still {} {}", answer.status, answer.body);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn comes_back(answer: &Answer) {
    assert_eq!(answer.headers["retry-after"], "1");
    assert_eq!(answer.json()["error"]["code"], -32603);
}

#[tokio::test]
async fn a_connection_too_many_is_told_when_to_come_back() {
    let wire = Wire::with(Plan::of("sized"), Config { connections: 2, ..config() }).await;
    let uri = "sized://sized/text/1024";
    let (one, mut other) = (held(&wire).await, held(&wire).await);
    let refused = wire.read(uri).await;
    assert_eq!(refused.status, 503, "{}", refused.body);
    comes_back(&refused);
    // Who was let in is served as before.
    other.write_all(b"GET /elsewhere HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    assert!(other.read(&mut [0; 1024]).await.unwrap() > 0);
    drop(one);
    until(&wire, uri, 200).await;
}

#[tokio::test]
async fn large_answers_that_nobody_reads_do_not_fill_the_memory() {
    let wire = Wire::with(Plan::of("sized"), Config { waiting_bytes: 1 << 20, ..config() }).await;
    // More than the system's own buffers take.
    let large = "sized://sized/text/14000000";
    let mut slow = TcpStream::connect(wire.address).await.unwrap();
    let params = serde_json::json!({"uri": large, "_meta": meta()});
    let body = serde_json::json!({"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": params});
    let body = body.to_string();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\naccept: */*\r\n\
         mcp-protocol-version: 2026-07-28\r\nmcp-method: resources/read\r\nmcp-name: {large}\r\n\
         content-length: {}\r\n\r\n",
        body.len()
    );
    slow.write_all((head + &body).as_bytes()).await.unwrap();
    // It begins to read, and then no more.
    let mut status = [0; 12];
    slow.read_exact(&mut status).await.unwrap();
    assert_eq!(&status, b"HTTP/1.1 200");
    let refused = wire.read(large).await;
    assert_eq!(refused.status, 503);
    comes_back(&refused);
    assert_eq!(refused.json()["error"]["data"]["kind"], "overloaded");
    // A small one waits for nobody, and when the slow one is gone there is room again.
    assert_eq!(wire.read("sized://sized/text/1024").await.status, 200);
    drop(slow);
    until(&wire, large, 200).await;
}

/// Reads what takes so many milliseconds.
fn sleeping(wire: &Arc<Wire>, milliseconds: u64) -> impl Future<Output = Answer> + use<> {
    let wire = wire.clone();
    async move { wire.read(&format!("sleep://ms/{milliseconds}")).await }
}

/// The next one that is.
async fn answered(all: &mut JoinSet<Answer>) -> Answer {
    let next = tokio::time::timeout(Duration::from_secs(60), all.join_next()).await;
    next.expect("nobody is answered").expect("all were").unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_than_may_wait_for_a_provider_are_refused_while_the_others_wait() {
    let hour = Duration::from_secs(3600);
    let plan = Plan::of("sleep echo").terms("sleep", |grant, _| {
        (grant.limits.concurrency, grant.limits.queue_length) = (2, 4);
        (grant.limits.queue_timeout, grant.limits.timeout) = (hour, hour);
    });
    let wire = Arc::new(Wire::with(plan, Config { connections: 200, ..config() }).await);
    let snapshot = wire.house.reader.snapshot();
    let sleep = snapshot.offers().iter().find(|offer| offer.name().as_str() == "sleep").unwrap();
    let metrics = sleep.provider.metrics();
    // Two that nobody would wait for.
    let mut long: JoinSet<_> = (0..2).map(|n| sleeping(&wire, 3_600_000 + n)).collect();
    revision::until("two guests", async || metrics.guests.get() == 2).await;

    let mut short: JoinSet<_> = (0..100).map(|n| sleeping(&wire, n)).collect();
    // Nobody was served: those that are answered are too many, and all that may wait do.
    for _ in 0..96 {
        let refused = answered(&mut short).await;
        assert_eq!(refused.verdict(), "200 -32603", "{}", refused.body);
        let data = &refused.json()["error"]["data"];
        assert_eq!((&data["kind"], &data["retryAfterMs"]), (&"busy".into(), &1_000.into()), "{data}");
    }
    assert_eq!((metrics.calls(Outcome::Busy), metrics.guests.get()), (96, 2));
    // Of those who ask somebody else nobody notices.
    assert_eq!(wire.read("echo://hello").await.status, 200);

    long.shutdown().await;
    for _ in 0..4 {
        let accepted = answered(&mut short).await;
        assert_eq!(accepted.json()["result"]["contents"][0]["text"], "slept", "{}", accepted.body);
    }
    assert!(short.join_next().await.is_none());
}
