//! Reload under load: several clients read over HTTP while the component is replaced again and again.
//! `LARDER_SWAPS=1000` runs longer, and then also checks that the memory of the process does not grow.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use serde_json::{Value, json};

use crate::protocol::subscriptions::{Events, acknowledged, listen};
use crate::support::harness::{SLOW_WAIT, TestServer, eventually_within};
use crate::support::http_server::HttpTestServer;
use crate::support::process::memory;
use crate::support::revision::{NOW, number, revision};

const READERS: usize = 6;
/// The number of replacements where `LARDER_SWAPS` is not set: enough to test every stage of a replacement, within
/// seconds.
const DEFAULT_REPLACEMENTS: u32 = 100;

#[expect(
    clippy::disallowed_methods,
    reason = "the ban is about the product's configuration"
)]
fn replacement_count() -> u32 {
    std::env::var("LARDER_SWAPS").map_or(DEFAULT_REPLACEMENTS, |count| count.parse().unwrap())
}

/// Returns the revision of an answer. All texts of the answer must have the same revision.
fn single_revision<'a>(texts: impl Iterator<Item = &'a Value>, answer: &Value) -> u32 {
    let mut all: Vec<u32> = texts.map(|text| number(text.as_str().unwrap())).collect();
    all.dedup();
    assert_eq!(
        all.len(),
        1,
        "an answer must come from one revision: {answer}"
    );
    all[0]
}

async fn read(http: &HttpTestServer, uri: &str, contents: usize) -> u32 {
    let answer = http.read(uri).await;
    assert_eq!(answer.verdict(), "200 ok", "{}", answer.body);
    let answer = answer.json();
    let all = answer["result"]["contents"].as_array().unwrap();
    assert_eq!(all.len(), contents, "{answer}");
    single_revision(all.iter().map(|content| &content["text"]), &answer)
}

async fn list(http: &HttpTestServer) -> u32 {
    let answer = http.modern("resources/list", json!({})).await;
    assert_eq!(answer.verdict(), "200 ok", "{}", answer.body);
    let answer = answer.json();
    let all = answer["result"]["resources"].as_array().unwrap();
    assert_eq!(all.len(), 3, "{answer}");
    let revision = single_revision(all.iter().map(|entry| &entry["name"]), &answer);
    let own = format!("revision://only/revision-{revision:08}");
    assert!(all.iter().any(|entry| entry["uri"] == own), "{answer}");
    revision
}

/// Sends requests until `done` is set, and returns their number. No request may fail, and no answer may be
/// older than an earlier one.
async fn send_requests(http: &HttpTestServer, done: &AtomicBool) -> u64 {
    let (mut newest, mut count) = (0, 0);
    while !done.load(Ordering::Relaxed) {
        for revision in [
            list(http).await,
            read(http, "revision://many", 3).await,
            read(http, NOW, 1).await,
        ] {
            assert!(revision >= newest, "{revision} after {newest}");
            newest = revision;
            count += 1;
        }
    }
    count
}

/// Lists and reads after each notification, up to the revision `last`. No answer may be older than an earlier
/// one.
async fn follow_notifications(
    http: &HttpTestServer,
    mut events: Events,
    last: u32,
    notifications: &AtomicU32,
) {
    let mut newest = 0;
    while newest < last {
        let message = events.next().await.expect("the stream ended");
        assert_eq!(
            message["method"], "notifications/resources/list_changed",
            "{message}"
        );
        notifications.fetch_add(1, Ordering::Relaxed);
        let listed = list(http).await;
        let read = read(http, NOW, 1).await;
        assert!(
            listed >= newest && read >= listed,
            "{read} after {listed} after {newest}"
        );
        newest = read;
    }
}

/// Replaces the component with a rename, once for each revision, and waits until each revision serves.
async fn replace(http: &HttpTestServer, from: u32, to: u32) {
    let (new, file) = (
        http.server.plugins.join("new"),
        http.server.plugins.join("revision.wasm"),
    );
    for number in from..=to {
        fs::write(&new, revision(number)).unwrap();
        fs::rename(&new, &file).unwrap();
        http.server.wait_for_revision(number).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_request_fails_while_the_component_is_replaced() {
    let mut http =
        HttpTestServer::from_builder(TestServer::builder("").file("revision.wasm", &revision(1)))
            .await;
    http.run_reconciler();
    let (http, replacements) = (Arc::new(http), replacement_count());
    let last = replacements + 1;
    let mut events = Events::of(listen(&http, &json!({ "resourcesListChanged": true }))).await;
    acknowledged(&events.next().await.unwrap());
    let (done, notifications) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicU32::new(0)),
    );
    let drain = http.server.drain.clone();
    let listener = {
        let (http, notifications) = (http.clone(), notifications.clone());
        drain.spawn(async move { follow_notifications(&http, events, last, &notifications).await })
    };
    let readers = (0..READERS).map(|_| {
        let (http, done) = (http.clone(), done.clone());
        drain.spawn(async move { send_requests(&http, &done).await })
    });
    let readers: Vec<_> = readers.collect();

    let warm_up = last / 5;
    replace(&http, 2, warm_up).await;
    let before = memory("self");
    replace(&http, warm_up + 1, last).await;
    let after = memory("self");
    done.store(true, Ordering::Relaxed);
    let mut requests = 0;
    for reader in readers {
        requests += reader.await.expect("a reader failed").unwrap();
    }
    eventually_within(
        SLOW_WAIT,
        "the listener got the last revision",
        async || listener.is_finished(),
    )
    .await;
    listener.await.expect("the listener failed").unwrap();
    let notifications = notifications.load(Ordering::Relaxed);
    assert!(
        requests > u64::from(replacements),
        "{requests} requests are too few for {replacements} replacements"
    );
    println!(
        "{replacements} replacements, {requests} requests, {notifications} notifications, memory {before:?} -> {after:?}"
    );
    if let (true, Some(before), Some(after)) = (replacements > DEFAULT_REPLACEMENTS, before, after)
    {
        assert!(
            after < before + (64 << 20),
            "from {before} to {after} bytes in {replacements} replacements"
        );
    }
}
