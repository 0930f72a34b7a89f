//! A server that stops tells the clients of its event streams when to reconnect. Each client gets another time. No
//! update is lost.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::json;

use crate::protocol::subscriptions::listen;
use crate::support::harness::TestServer;
use crate::support::http_server::{HttpTestServer, config};
use crate::support::process::WorkDir;

/// Stops a server with event streams of both eras. Returns the whole text of each stream.
async fn stop_with_streams(http: &HttpTestServer, count: usize) -> (Vec<String>, Vec<String>) {
    let (mut modern, mut legacy) = (Vec::new(), Vec::new());
    for _ in 0..count {
        modern.push(
            listen(http, &json!({ "resourcesListChanged": true }))
                .send()
                .await
                .unwrap(),
        );
        let session = http.session("2025-11-25").await;
        let request = http
            .client
            .get(&http.url)
            .header("accept", "text/event-stream");
        legacy.push(
            request
                .header("mcp-session-id", session)
                .send()
                .await
                .unwrap(),
        );
    }
    assert!(http.server.drain.finish(Duration::from_secs(30)).await);
    let mut texts = [Vec::new(), Vec::new()];
    for (texts, streams) in texts.iter_mut().zip([modern, legacy]) {
        for stream in streams {
            texts.push(stream.text().await.unwrap());
        }
    }
    texts.into()
}

/// The last delay of each stream in milliseconds, which must be in this range.
fn delays(streams: &[String], range: std::ops::Range<u32>) -> BTreeSet<u32> {
    let last = |text: &String| {
        let delay = text
            .lines()
            .filter_map(|line| line.strip_prefix("retry: "))
            .next_back();
        delay
            .unwrap_or_else(|| panic!("no delay in {text}"))
            .parse::<u32>()
            .unwrap()
    };
    let delays: BTreeSet<_> = streams.iter().map(last).collect();
    assert!(
        delays.iter().all(|delay| range.contains(delay)),
        "{delays:?}"
    );
    delays
}

#[tokio::test]
async fn each_event_stream_ends_with_another_delay() {
    let config = larder_mcp::Config {
        sessions: 100,
        streams: 100,
        ..config()
    };
    let http = HttpTestServer::with_config(TestServer::builder("echo"), config).await;
    let (modern, legacy) = stop_with_streams(&http, 20).await;
    for text in &modern {
        // The delay is a part of the last event, the result.
        let (before, last) = text.trim_end().rsplit_once("\n\n").unwrap();
        assert!(
            last.starts_with("retry: ") && last.contains(r#""resultType":"complete""#),
            "{text}"
        );
        assert!(!before.contains("retry: "), "{text}");
    }
    // Twenty random numbers are not all from the same few values.
    assert!(delays(&modern, 1_000..3_000).len() > 10);
    assert!(delays(&legacy, 3_000..4_000).len() > 10);
}

#[tokio::test]
async fn clients_of_older_versions_get_no_delay() {
    let http = HttpTestServer::from_builder(TestServer::builder("echo")).await;
    let session = http.session("2025-06-18").await;
    let request = http
        .client
        .get(&http.url)
        .header("accept", "text/event-stream");
    let stream = request
        .header("mcp-session-id", session)
        .send()
        .await
        .unwrap();
    assert!(http.server.drain.finish(Duration::from_secs(30)).await);
    // Clients of this version would interpret the event as a message.
    assert!(!stream.text().await.unwrap().contains("retry"));
}

/// `larder watch` waits for the time that the server names, and reports changes while it was not connected.
#[test]
fn watch_reports_what_changed_during_a_restart() {
    std::thread::scope(|threads| {
        for protocol in ["2026-07-28", "2025-11-25"] {
            threads.spawn(move || check_watch_during_a_restart(protocol));
        }
    });
}

fn check_watch_during_a_restart(protocol: &str) {
    // The server watches no files in a writable folder, so that it does not report uncertain changes after its start.
    const FOLDER: &str =
        "[[provider.versioned_files.dirs]]\nhost = 'docs'\nguest = '/data'\naccess = 'write'\n";
    let work_dir = WorkDir::with_guests("versioned_files").file("larder.toml", FOLDER);
    std::fs::create_dir(work_dir.path("docs")).unwrap();
    let write = |name: &str, text: &str| {
        std::fs::write(work_dir.path(&format!("docs/{name}")), text).unwrap()
    };
    write("a", "first");
    write("b", "first");
    let (server, url) = work_dir.serve("--config larder.toml");
    let uris = "versioned-files:line/a versioned-files:line/b";
    let mut watch = work_dir.start(&format!(
        "watch {uris} --count 2 --json --protocol {protocol} --url {url}"
    ));
    watch.wait_for_stderr("watching 2 resources");
    server.signal("TERM");
    server.wait().expect_exit(0);
    write("b", "second");
    let address = url.trim_start_matches("http://").trim_end_matches("/mcp");
    let mut server = work_dir.start(&format!("serve --config larder.toml --listen {address}"));
    server.wait_for_stderr("serves http://");
    assert!(
        watch.next().contains("versioned-files:line/b"),
        "{protocol}"
    );
    write("a", "second");
    assert!(
        watch.next().contains("versioned-files:line/a"),
        "{protocol}"
    );
    watch.wait().expect_success();
}

/// The client waits for the random time of the server instead of its own time.
#[test]
fn watch_waits_as_long_as_the_server_says() {
    let work_dir = WorkDir::with_guests("echo");
    let (server, url) = work_dir.serve("");
    let mut watch = work_dir.start(&format!("watch echo://hello --url {url}"));
    watch.wait_for_stderr("watching echo://hello");
    server.signal("TERM");
    let line = watch.wait_for_stderr("retry in");
    let delay = humantime::parse_duration(line.rsplit_once("retry in ").unwrap().1.trim()).unwrap();
    assert!(
        (Duration::from_secs(1)..Duration::from_secs(3)).contains(&delay),
        "{line}"
    );
    server.wait().expect_exit(0);
}
