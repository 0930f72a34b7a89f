//! Shutdown: requests in flight, the grace period, and signals.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::protocol::cancellation::one_call_at_a_time;
use crate::support::harness::{SLOW_WAIT, TestServer, call_in_flight, eventually_within};
use crate::support::http_server::{HttpTestServer, meta};
use crate::support::process::WorkDir;

#[tokio::test]
async fn requests_in_flight_finish_during_shutdown() {
    let http = HttpTestServer::from_builder(TestServer::builder("sleep")).await;
    let drain = http.server.drain.clone();
    let stop = async {
        call_in_flight(&http.server.reader).await;
        drain.finish(Duration::from_secs(30)).await
    };
    let (answer, in_time) = tokio::join!(http.read("sleep://ms/1000"), stop);
    assert_eq!(answer.verdict(), "200 ok");
    assert!(in_time);
    assert!(
        http.client.get(&http.url).send().await.is_err(),
        "the server still accepts requests"
    );
}

#[tokio::test]
async fn requests_that_exceed_the_shutdown_grace_are_dropped() {
    let http = HttpTestServer::from_builder(one_call_at_a_time()).await;
    let drain = http.server.drain.clone();
    let began = Instant::now();
    let stop = async {
        call_in_flight(&http.server.reader).await;
        drain.finish(Duration::from_millis(300)).await
    };
    let request = http
        .client
        .post(&http.url)
        .header("content-type", "application/json");
    let session = http.session("2025-11-25").await;
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": { "uri": "sleep://hour" } });
    let request = request
        .header("mcp-session-id", session)
        .body(body.to_string())
        .send();
    let (_, in_time) = tokio::join!(tokio::time::timeout(Duration::from_secs(30), request), stop);
    assert!(!in_time && began.elapsed() < Duration::from_secs(30));
}

/// Sends requests on one connection until the server announces with `Connection: close` that it closes the connection.
/// Otherwise returns the error.
async fn keep_busy(address: String, answers: Arc<AtomicUsize>) -> Result<(), String> {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": { "_meta": meta() } });
    let body = body.to_string();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\naccept: */*\r\n\
         mcp-protocol-version: 2026-07-28\r\nmcp-method: server/discover\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(address)
        .await
        .map_err(|error| error.to_string())?;
    let mut received = Vec::new();
    loop {
        stream
            .write_all(request.as_bytes())
            .await
            .map_err(|error| format!("cannot send: {error}"))?;
        received.clear();
        while !received.ends_with(b"}") {
            match stream.read_buf(&mut received).await {
                Ok(0) => return Err("the connection was closed without an answer".into()),
                Ok(_) => {}
                Err(error) => return Err(format!("no answer: {error}")),
            }
        }
        let head = String::from_utf8_lossy(&received);
        if !head.starts_with("HTTP/1.1 200") {
            return Err(head.into_owned());
        }
        answers.fetch_add(1, Ordering::Relaxed);
        if head.contains("connection: close") {
            return Ok(());
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn busy_connections_lose_no_request_at_shutdown() {
    let work_dir = WorkDir::with_guests("echo");
    for round in 0..6 {
        let (server, url) = work_dir.serve("");
        let address = url.trim_start_matches("http://").trim_end_matches("/mcp");
        let answers = Arc::new(AtomicUsize::new(0));
        let client = |_| keep_busy(address.to_owned(), answers.clone());
        let mut clients: JoinSet<_> = (0..64).map(client).collect();
        let busy = async || answers.load(Ordering::Relaxed) > 2_000;
        eventually_within(SLOW_WAIT, "all clients are busy", busy).await;
        server.signal("TERM");
        let mut lost = Vec::new();
        let ended = async {
            while let Some(ended) = clients.join_next().await {
                lost.extend(ended.unwrap().err());
            }
        };
        tokio::time::timeout(SLOW_WAIT, ended)
            .await
            .expect("a client has not ended");
        assert!(
            lost.is_empty(),
            "round {round}: {} of 64 clients lost a request: {lost:?}",
            lost.len()
        );
        server.wait().expect_exit(0);
    }
}

/// The list of components on stderr is longer than a pipe, so that the server blocks in the middle of it.
#[cfg(target_os = "linux")]
#[test]
fn a_signal_stops_the_server_while_it_blocks_on_stderr() {
    use std::io::{BufRead as _, BufReader, Read as _};
    // The log reports invalid list entries of each guest.
    let guests: Vec<_> = (0..150).map(|n| format!("p{n}@leak")).collect();
    let work_dir = WorkDir::with_guests(&guests.join(" "));
    let mut child = work_dir
        .command(&[], "serve --listen 127.0.0.1:0")
        .spawn()
        .unwrap();
    let id = child.id().to_string();
    let kill = |signal: &str, id: &str| {
        std::process::Command::new("kill")
            .args([signal, id])
            .status()
    };
    // Kills the server if the test fails or takes too long, which also ends the blocking reads below.
    let (succeeded, success) = std::sync::mpsc::channel();
    let watchdog = std::thread::spawn({
        let id = id.clone();
        move || {
            success
                .recv_timeout(SLOW_WAIT)
                .is_err()
                .then(|| kill("-KILL", &id))
        }
    });
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("serves http://") {
        line.clear();
        assert!(
            stderr.read_line(&mut line).unwrap() > 0,
            "the server has exited"
        );
    }
    for signal in ["-HUP", "-TERM"] {
        assert!(kill(signal, &id).unwrap().success());
    }
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).unwrap();
    assert!(
        rest.len() > 64 << 10,
        "{} bytes fit into a pipe",
        rest.len()
    );
    assert_eq!(
        child.wait().unwrap().code(),
        Some(0),
        "{}",
        rest.lines().last().unwrap_or_default()
    );
    succeeded.send(()).unwrap();
    watchdog.join().unwrap();
}
