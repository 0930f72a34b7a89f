//! How calls end before their answer: clients that leave, clients that cancel, and the house that stops.

use std::time::{Duration, Instant};

use larder_client::Client;
use serde_json::json;

use crate::house::Plan;
use crate::process::Place;
use crate::wire::{ACCEPT, JSON, Wire};

/// `sleep` may be called once at a time and take an hour.
fn one_turn() -> Plan {
    Plan::of("echo sleep").terms("sleep", |grant, _| {
        grant.limits.concurrency = 1;
        grant.limits.queue_timeout = Duration::from_secs(20);
        grant.limits.timeout = Duration::from_secs(3_600);
    })
}

/// Whether the only turn is free: a short read gets its answer.
async fn is_free(wire: &Wire) -> bool {
    wire.read("sleep://ms/1").await.verdict() == "200 ok"
}

#[tokio::test]
async fn a_modern_client_that_leaves_ends_the_guests_call() {
    let wire = Wire::open(one_turn()).await;
    let left = tokio::time::timeout(Duration::from_millis(300), wire.read("sleep://hour")).await;
    assert!(left.is_err());
    assert!(is_free(&wire).await);
}

#[tokio::test]
async fn a_legacy_client_that_leaves_does_not_but_one_that_cancels_does() {
    let wire = Wire::open(one_turn()).await;
    let session = wire.session("2025-11-25").await;
    let hour = wire.legacy(&session, "resources/read", json!({ "uri": "sleep://hour" }));
    assert!(tokio::time::timeout(Duration::from_millis(300), hour).await.is_err());
    let still = tokio::time::timeout(Duration::from_millis(300), is_free(&wire)).await;
    assert!(still.is_err(), "the call ended with its connection");
    let cancel =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } });
    let answer = wire.post(&[JSON, ACCEPT, ("mcp-session-id", &session)], cancel.to_string()).await;
    assert_eq!((answer.status, answer.body.as_str()), (202, ""));
    assert!(is_free(&wire).await);
}

#[tokio::test]
async fn the_next_request_of_our_client_cancels_the_one_that_it_left() {
    let wire = Wire::open(one_turn()).await;
    let connect = Client::builder().revision("2025-11-25".parse().unwrap());
    let mut client = connect.http(&wire.url).await.unwrap();
    let left = tokio::time::timeout(Duration::from_millis(300), client.read("sleep://hour")).await;
    assert!(left.is_err());
    client.read("echo://hello").await.unwrap();
    assert!(is_free(&wire).await);
    client.close().await;
}

#[tokio::test]
async fn what_is_in_flight_is_finished_when_the_house_stops() {
    let wire = Wire::open(Plan::of("sleep")).await;
    let drain = wire.house.drain.clone();
    let stop = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        drain.finish(Duration::from_secs(30)).await
    };
    let (answer, in_time) = tokio::join!(wire.read("sleep://ms/1000"), stop);
    assert_eq!(answer.verdict(), "200 ok");
    assert!(in_time);
    assert!(wire.client.get(&wire.url).send().await.is_err(), "the house still answers");
}

#[tokio::test]
async fn what_takes_longer_than_the_grace_time_is_dropped() {
    let wire = Wire::open(one_turn()).await;
    let drain = wire.house.drain.clone();
    let began = Instant::now();
    let stop = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        drain.finish(Duration::from_millis(300)).await
    };
    let request = wire.client.post(&wire.url).header("content-type", "application/json");
    let session = wire.session("2025-11-25").await;
    let body =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": { "uri": "sleep://hour" } });
    let request = request.header("mcp-session-id", session).body(body.to_string()).send();
    let (_, in_time) = tokio::join!(tokio::time::timeout(Duration::from_secs(30), request), stop);
    assert!(!in_time && began.elapsed() < Duration::from_secs(30));
}

/// The announcement is longer than a pipe, so the server waits in the middle of it for who reads.
#[cfg(target_os = "linux")]
#[test]
fn a_signal_during_the_announcement_stops_it_as_any_other() {
    use std::io::{BufRead as _, BufReader, Read as _};
    let place = Place::of("echo");
    for n in 0..1_500 {
        std::fs::write(place.path(&format!("plugins/{n:060}.wasm")), "").unwrap();
    }
    let mut child = place.command(&[], "serve --listen 127.0.0.1:0").spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("serves http://") {
        line.clear();
        assert!(said.read_line(&mut line).unwrap() > 0, "it ended by itself");
    }
    for signal in ["-HUP", "-TERM"] {
        let id = child.id().to_string();
        assert!(std::process::Command::new("kill").args([signal, &id]).status().unwrap().success());
    }
    let mut rest = String::new();
    said.read_to_string(&mut rest).unwrap();
    assert!(rest.len() > 64 << 10, "{} bytes are no more than a pipe holds", rest.len());
    assert_eq!(child.wait().unwrap().code(), Some(0), "{}", rest.lines().last().unwrap_or_default());
}
