//! Shutdown: requests in flight, the grace period, and signals.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::cancellation::one_call_at_a_time;
use crate::harness::{SLOW_WAIT, TestServer, call_in_flight};
use crate::http_server::HttpTestServer;
use crate::process::WorkDir;

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
    assert!(http.client.get(&http.url).send().await.is_err(), "the server still accepts requests");
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
    let request = http.client.post(&http.url).header("content-type", "application/json");
    let session = http.session("2025-11-25").await;
    let body =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": { "uri": "sleep://hour" } });
    let request = request.header("mcp-session-id", session).body(body.to_string()).send();
    let (_, in_time) = tokio::join!(tokio::time::timeout(Duration::from_secs(30), request), stop);
    assert!(!in_time && began.elapsed() < Duration::from_secs(30));
}

/// The list of components on stderr is longer than a pipe, so that the server blocks in the middle of it.
#[cfg(target_os = "linux")]
#[test]
fn a_signal_stops_the_server_while_it_blocks_on_stderr() {
    use std::io::{BufRead as _, BufReader, Read as _};
    let work_dir = WorkDir::with_guests("echo");
    for n in 0..1_500 {
        std::fs::write(work_dir.path(&format!("plugins/{n:060}.wasm")), "").unwrap();
    }
    let mut child = work_dir.command(&[], "serve --listen 127.0.0.1:0").spawn().unwrap();
    let id = child.id().to_string();
    let kill = |signal: &str, id: &str| std::process::Command::new("kill").args([signal, id]).status();
    // Kills the server if the test fails or takes too long, which also ends the blocking reads below.
    let (succeeded, success) = std::sync::mpsc::channel();
    let watchdog = std::thread::spawn({
        let id = id.clone();
        move || success.recv_timeout(SLOW_WAIT).is_err().then(|| kill("-KILL", &id))
    });
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("serves http://") {
        line.clear();
        assert!(stderr.read_line(&mut line).unwrap() > 0, "the server has exited");
    }
    for signal in ["-HUP", "-TERM"] {
        assert!(kill(signal, &id).unwrap().success());
    }
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).unwrap();
    assert!(rest.len() > 64 << 10, "{} bytes fit into a pipe", rest.len());
    assert_eq!(child.wait().unwrap().code(), Some(0), "{}", rest.lines().last().unwrap_or_default());
    succeeded.send(()).unwrap();
    watchdog.join().unwrap();
}
