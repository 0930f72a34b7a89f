//! A change of one file notifies the watchers of that file, and no other watchers. This also holds right after they
//! subscribed, and if the file changes while they subscribe.

use std::path::Path;
use std::time::Duration;

use larder_model::policy::{Access, Dir};
use larder_runtime::drain::Drain;
use serde_json::json;
use tempfile::TempDir;

use crate::changes::change_detector::signals_only;
use crate::protocol::subscriptions::{Events, acknowledged, listen};
use crate::support::harness::TestServer;
use crate::support::http_server::HttpTestServer;

/// Serves a folder with the files `a`, `b` and `marker` with the provider `files`, and detects changes by file events.
async fn serve(folder: &Path, list_limit: u32) -> HttpTestServer {
    for name in ["a", "b", "marker"] {
        std::fs::write(folder.join(name), "0").unwrap();
    }
    let dir = Dir {
        host: folder.into(),
        guest: "/data".into(),
        access: Access::Read,
        is_canonical: false,
    };
    let builder = TestServer::builder("files").provider("files", |grant, _| {
        grant.dirs.push(dir);
        grant.limits.catalog_entries = list_limit;
    });
    let mut http = HttpTestServer::from_builder(builder).await;
    http.server.run_reconciler();
    http.server.start_change_detector(signals_only());
    // Changes before the folder is watched are in doubt.
    let mut events = subscribe(&http).await;
    notified_before_marker(folder, &mut events, 100).await;
    http
}

/// Subscribes to all three files.
async fn subscribe(http: &HttpTestServer) -> Events {
    let uris = ["a", "b", "marker"].map(|name| format!("file:///data/{name}"));
    let mut events = Events::of(listen(http, &json!({ "resourceSubscriptions": uris }))).await;
    let accepted = events.next().await.unwrap();
    assert_eq!(
        acknowledged(&accepted)["resourceSubscriptions"],
        json!(uris)
    );
    events
}

/// Waits for a notification about this file. Returns the names of all files that were notified until then.
async fn notified_until(events: &mut Events, name: &str) -> Vec<String> {
    let mut names = Vec::new();
    while names.last().is_none_or(|last| last != name) {
        let message = events.next().await.unwrap();
        let uri = message["params"]["uri"].as_str().unwrap();
        names.push(uri.rsplit('/').next().unwrap().to_owned());
    }
    names
}

/// Changes the marker and waits for its notification. Returns the names of the files that were notified until then.
async fn notified_before_marker(folder: &Path, events: &mut Events, n: usize) -> Vec<String> {
    std::fs::write(folder.join("marker"), "x".repeat(n + 2)).unwrap();
    notified_until(events, "marker").await
}

async fn text(http: &HttpTestServer, name: &str) -> String {
    http.server.text(&format!("file:///data/{name}")).await
}

#[tokio::test]
async fn a_change_right_after_a_subscription_notifies_only_its_own_uri() {
    // The files are in the catalog or not, depending on the limit.
    for list_limit in [1_000, 1] {
        let folder = TempDir::new().unwrap();
        let http = serve(folder.path(), list_limit).await;
        for n in 0..5 {
            let mut events = subscribe(&http).await;
            std::fs::write(folder.path().join("a"), "x".repeat(n + 2)).unwrap();
            let mut names = notified_until(&mut events, "a").await;
            names.extend(notified_before_marker(folder.path(), &mut events, n).await);
            assert!(
                !names.contains(&"b".to_owned()),
                "{list_limit} {n}: {names:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_change_during_a_subscription_is_not_missed() {
    // Most of the time, the tasks wait for events.
    tokio::join!(
        check_changes(0..10),
        check_changes(10..20),
        check_changes(20..30)
    );
}

/// Changes a file after this many delays of 200 µs.
async fn check_changes(delays: std::ops::Range<usize>) {
    let folder = TempDir::new().unwrap();
    let http = serve(folder.path(), 1_000).await;
    let mut others = Vec::new();
    for n in delays {
        // Fills the response cache with the old content.
        text(&http, "a").await;
        let (path, new) = (folder.path().join("a"), "x".repeat(n + 2));
        let (delay, written) = (Duration::from_micros(200 * n as u64), new.clone());
        let write = Drain::new().spawn_blocking(move || {
            std::thread::sleep(delay);
            std::fs::write(path, written).unwrap();
        });
        let mut events = subscribe(&http).await;
        // A client that reads after it subscribed has the new content, or is notified.
        let mut seen = text(&http, "a").await;
        write.await.unwrap();
        while seen != new {
            let names = notified_until(&mut events, "a").await;
            others.extend(names.into_iter().filter(|name| name == "b"));
            seen = text(&http, "a").await;
        }
        let names = notified_before_marker(folder.path(), &mut events, n).await;
        others.extend(names.into_iter().filter(|name| name == "b"));
    }
    assert!(others.is_empty(), "{others:?}");
}
