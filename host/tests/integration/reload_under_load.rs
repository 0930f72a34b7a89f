//! Swaps under load: many clients read over HTTP all the time while the component is replaced again and
//! again. `LARDER_SWAPS=1000` makes it long, and then the memory of the process has to stay as it was.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use serde_json::{Value, json};

use crate::house::Plan;
use crate::listening::{Events, acknowledged, listen};
use crate::process::memory;
use crate::revision::{NOW, number, revision, until};
use crate::wire::Wire;

const READERS: usize = 6;
/// Where nothing is said: enough to meet every stage of a swap, and seconds only.
const SWAPS: u32 = 100;

#[expect(clippy::disallowed_methods, reason = "the ban is about the product's configuration")]
fn swaps() -> u32 {
    std::env::var("LARDER_SWAPS").map_or(SWAPS, |swaps| swaps.parse().unwrap())
}

/// The only revision in an answer.
fn only<'a>(texts: impl Iterator<Item = &'a Value>, answer: &Value) -> u32 {
    let mut all: Vec<u32> = texts.map(|text| number(text.as_str().unwrap())).collect();
    all.dedup();
    assert_eq!(all.len(), 1, "one answer of one revision: {answer}");
    all[0]
}

async fn read(wire: &Wire, uri: &str, contents: usize) -> u32 {
    let answer = wire.read(uri).await;
    assert_eq!(answer.verdict(), "200 ok", "{}", answer.body);
    let answer = answer.json();
    let all = answer["result"]["contents"].as_array().unwrap();
    assert_eq!(all.len(), contents, "{answer}");
    only(all.iter().map(|content| &content["text"]), &answer)
}

async fn list(wire: &Wire) -> u32 {
    let answer = wire.modern("resources/list", json!({})).await;
    assert_eq!(answer.verdict(), "200 ok", "{}", answer.body);
    let answer = answer.json();
    let all = answer["result"]["resources"].as_array().unwrap();
    assert_eq!(all.len(), 3, "{answer}");
    let revision = only(all.iter().map(|entry| &entry["name"]), &answer);
    let own = format!("revision://only/revision-{revision:08}");
    assert!(all.iter().any(|entry| entry["uri"] == own), "{answer}");
    revision
}

/// Asks in turn until the end. Nothing fails, and nothing is older than what was seen before.
async fn ask(wire: &Wire, done: &AtomicBool) -> u64 {
    let (mut seen, mut asked) = (0, 0);
    while !done.load(Ordering::Relaxed) {
        for answer in [list(wire).await, read(wire, "revision://many", 3).await, read(wire, NOW, 1).await] {
            assert!(answer >= seen, "{answer} after {seen}");
            seen = answer;
            asked += 1;
        }
    }
    asked
}

/// Looks again each time it is told to. What it reads is then never older than what it was told of.
async fn follow(wire: &Wire, mut events: Events, last: u32, told: &AtomicU32) {
    let mut seen = 0;
    while seen < last {
        let message = events.next().await.expect("the stream goes on");
        assert_eq!(message["method"], "notifications/resources/list_changed", "{message}");
        told.fetch_add(1, Ordering::Relaxed);
        let listed = list(wire).await;
        let read = read(wire, NOW, 1).await;
        assert!(listed >= seen && read >= listed, "{read} after {listed} after {seen}");
        seen = read;
    }
}

/// Replaces the component as a careful build does, and waits for each.
async fn replace(wire: &Wire, from: u32, to: u32) {
    let (new, file) = (wire.house.plugins.join("new"), wire.house.plugins.join("revision.wasm"));
    for number in from..=to {
        fs::write(&new, revision(number)).unwrap();
        fs::rename(&new, &file).unwrap();
        wire.house.serves(number).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_request_fails_while_the_component_is_replaced_again_and_again() {
    let mut wire = Wire::open(Plan::of("").file("revision.wasm", &revision(1))).await;
    wire.run();
    let (wire, swaps) = (Arc::new(wire), swaps());
    let last = swaps + 1;
    let mut events = Events::of(listen(&wire, &json!({ "resourcesListChanged": true }))).await;
    acknowledged(&events.next().await.unwrap());
    let (done, told) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(0)));
    let drain = wire.house.drain.clone();
    let listener = {
        let (wire, told) = (wire.clone(), told.clone());
        drain.spawn(async move { follow(&wire, events, last, &told).await })
    };
    let readers = (0..READERS).map(|_| {
        let (wire, done) = (wire.clone(), done.clone());
        drain.spawn(async move { ask(&wire, &done).await })
    });
    let readers: Vec<_> = readers.collect();

    let warm = last / 5;
    replace(&wire, 2, warm).await;
    let before = memory("self");
    replace(&wire, warm + 1, last).await;
    let after = memory("self");
    done.store(true, Ordering::Relaxed);
    let mut asked = 0;
    for reader in readers {
        asked += reader.await.expect("a reader met something wrong").unwrap();
    }
    until("the listener heard of the last one", async || listener.is_finished()).await;
    listener.await.expect("the listener met something wrong").unwrap();
    let told = told.load(Ordering::Relaxed);
    assert!(asked > u64::from(swaps), "{asked} answers say little about {swaps} swaps");
    println!("{swaps} swaps, {asked} answers, {told} times told, memory {before:?} -> {after:?}");
    if let (true, Some(before), Some(after)) = (swaps > SWAPS, before, after) {
        assert!(after < before + (64 << 20), "from {before} to {after} bytes in {swaps} swaps");
    }
}
