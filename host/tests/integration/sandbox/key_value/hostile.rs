//! Guests that use the key-value store as much as possible: each call ends at its limits, the stored values stay
//! limited, and another provider is served.

use std::time::{Duration, Instant};

use larder_model::policy::Grant;
use larder_runtime::metrics::KeyValueResult;

use crate::support::harness::{SLOW_WAIT, TestServer};

use super::{BOTH, call_by, read, read_uri};

/// How long a flood lasts if its CPU time does not end it.
const FLOOD: Duration = Duration::from_secs(3);
/// The results of operations of a flood.
const KINDS: [KeyValueResult; 3] = [
    KeyValueResult::Read,
    KeyValueResult::Written,
    KeyValueResult::Refused,
];

/// The operations of a flood.
struct FloodReport {
    /// How its calls ended.
    ends: [String; 2],
    time: Duration,
    written: u64,
    refused: u64,
}

/// Starts a server whose provider `key_value` has these limits, and another provider with the same component.
async fn start(timeout: Duration, cpu_time: Duration) -> TestServer {
    let grant = |grant: &mut Grant, _: &mut i32| {
        grant.key_value = BOTH;
        let limits = &mut grant.limits;
        (limits.key_value.bucket_keys, limits.key_value.bucket_bytes) = (101, 2 << 20);
        limits.timeout = SLOW_WAIT;
    };
    let flooding = |grant: &mut Grant, _: &mut i32| {
        (grant.limits.timeout, grant.limits.cpu_time) = (timeout, cpu_time);
    };
    let builder = TestServer::builder("key_value neighbour@key_value").setting(
        "neighbour",
        "scheme",
        "neighbour",
    );
    let builder = builder
        .provider("key_value", grant)
        .provider("neighbour", grant);
    builder.provider("key_value", flooding).start().await
}

/// Makes calls to the other provider during the flood, and counts the operations of the flood during each call. Returns
/// the largest count.
async fn use_neighbour(server: &TestServer, count: impl Fn() -> u64) -> u64 {
    let mut most = 0;
    for n in 0..10 {
        let (before, uri) = (count(), format!("neighbour://set/shared/a/{n}"));
        assert_eq!(read_uri(server, &call_by("eve"), &uri).await, "ok: ()");
        most = most.max(count() - before);
    }
    most
}

/// Makes two calls that use the store as much as they can within these limits. In the meantime, makes calls of the
/// other provider.
async fn flood(how: &str, timeout: Duration, cpu_time: Duration) -> FloodReport {
    let server = start(timeout, cpu_time).await;
    for n in 0..100 {
        read(
            &server,
            &call_by("ann"),
            &format!("set/shared/{}-{n}/x", "k".repeat(400)),
        )
        .await;
    }
    let catalog = server.reader.snapshot();
    let metrics = catalog
        .offers()
        .iter()
        .find(|offer| offer.name().as_str() == "key_value")
        .unwrap()
        .provider
        .metrics();
    let count = || {
        KINDS
            .iter()
            .map(|kind| metrics.key_value_operations(*kind))
            .sum::<u64>()
    };
    let (began, before) = (Instant::now(), count());
    let (ann, bob, what) = (call_by("ann"), call_by("bob"), format!("flood/{how}"));
    let floods = async { tokio::join!(read(&server, &ann, &what), read(&server, &bob, &what)) };
    let (ends, most) = tokio::join!(floods, use_neighbour(&server, count));
    let all = count() - before;
    println!("{how}: {all} operations, at most {most} of them during one of the neighbour");
    // A provider that has to wait for the flood would wait until its end.
    assert!(
        most < all * 3 / 4,
        "{most} of {all} operations during one of the neighbour"
    );
    let stored: u64 = server
        .key_value
        .usage()
        .values()
        .map(|usage| usage.bytes)
        .sum();
    assert!(stored < 4 << 20, "{stored}");
    let [written, refused] = [KeyValueResult::Written, KeyValueResult::Refused]
        .map(|result| metrics.key_value_operations(result));
    FloodReport {
        ends: ends.into(),
        time: began.elapsed(),
        written,
        refused,
    }
}

#[tokio::test]
async fn a_million_keys() {
    let FloodReport {
        ends,
        time,
        written,
        refused,
    } = flood("keys", FLOOD, FLOOD).await;
    assert!(
        ends.iter()
            .all(|end| end.contains("did not respond within") || end.contains("CPU time")),
        "{ends:?}"
    );
    // About 250 per second, including refused operations.
    let most = 500 * (time.as_secs() + 2);
    assert!(
        written + refused < most,
        "{written} and {refused} in {time:?}"
    );
}

#[tokio::test]
async fn a_gigabyte_of_writes() {
    let FloodReport {
        ends,
        time,
        written,
        ..
    } = flood("bytes", FLOOD, FLOOD).await;
    assert!(
        ends.iter()
            .all(|end| end.contains("refused: Failure::Full") || end.contains("did not respond")),
        "{ends:?}"
    );
    // Four megabytes per second.
    let most = 100 + 8 * (time.as_secs() + 2);
    assert!(written < most, "{written} in {time:?}");
}

#[tokio::test]
async fn a_million_lists() {
    let FloodReport { ends, time, .. } = flood(
        "lists",
        Duration::from_secs(240),
        Duration::from_millis(200),
    )
    .await;
    // The time that the store needs counts as time of the guest.
    assert!(
        ends.iter()
            .all(|end| end.contains("exceeded its CPU time of 200ms")),
        "{ends:?} after {time:?}"
    );
}
