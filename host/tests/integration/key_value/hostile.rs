//! Guests that use the key-value store without measure: each call ends at its limits, what is stored stays bounded, and
//! a neighbour is served.

use std::time::{Duration, Instant};

use larder_model::policy::Grant;
use larder_runtime::metrics::KeyValueResult;

use crate::harness::TestServer;

use super::{BOTH, call_by, read, read_uri};

/// How long one operation of a neighbour may take beside a flood, on a slow machine with a slow disk.
const SLOWEST: Duration = Duration::from_secs(5);

/// What a flood did.
struct Flooded {
    /// How its calls ended.
    ends: [String; 2],
    time: Duration,
    written: u64,
    refused: u64,
}

/// Makes two calls that use the store as much as they can, and calls of a neighbour meanwhile.
async fn flood(how: &str, timeout: Duration) -> Flooded {
    let grant = |grant: &mut Grant, _: &mut i32| {
        grant.key_value = BOTH;
        let limits = &mut grant.limits;
        (limits.timeout, limits.key_value.bucket_keys, limits.key_value.bucket_bytes) =
            (timeout, 101, 2 << 20);
    };
    let builder = TestServer::builder("keeps neighbour@keeps").setting("neighbour", "scheme", "neighbour");
    let server = builder.provider("keeps", grant).provider("neighbour", grant).start().await;
    for n in 0..100 {
        read(&server, &call_by("ann"), &format!("set/shared/{}-{n}/x", "k".repeat(400))).await;
    }
    let (began, (ann, bob, what)) =
        (Instant::now(), (call_by("ann"), call_by("bob"), format!("flood/{how}")));
    let floods = async { tokio::join!(read(&server, &ann, &what), read(&server, &bob, &what)) };
    let neighbour = async {
        for n in 0..10 {
            let (began, uri) = (Instant::now(), format!("neighbour://set/shared/a/{n}"));
            assert_eq!(read_uri(&server, &call_by("eve"), &uri).await, "ok: ()");
            assert!(began.elapsed() < SLOWEST, "{:?}", began.elapsed());
        }
    };
    let (ends, ()) = tokio::join!(floods, neighbour);
    let stored: u64 = server.key_value.usage().values().map(|usage| usage.bytes).sum();
    assert!(stored < 4 << 20, "{stored}");
    let catalog = server.reader.snapshot();
    let metrics =
        catalog.offers().iter().find(|offer| offer.name().as_str() == "keeps").unwrap().provider.metrics();
    let [written, refused] =
        [KeyValueResult::Written, KeyValueResult::Refused].map(|result| metrics.key_value_operations(result));
    Flooded { ends: ends.into(), time: began.elapsed(), written, refused }
}

#[tokio::test]
async fn a_million_keys() {
    let Flooded { ends, time, written, refused } = flood("keys", Duration::from_secs(3)).await;
    assert!(
        ends.iter().all(|end| end.contains("did not respond within") || end.contains("CPU time")),
        "{ends:?}"
    );
    // About 250 in each second, whether they are refused or not.
    let most = 500 * (time.as_secs() + 2);
    assert!(written + refused < most, "{written} and {refused} in {time:?}");
}

#[tokio::test]
async fn a_gigabyte_of_writes() {
    let Flooded { ends, time, written, .. } = flood("bytes", Duration::from_secs(3)).await;
    assert!(
        ends.iter().all(|end| end.contains("refused: Failure::Full") || end.contains("did not respond")),
        "{ends:?}"
    );
    // Four megabytes in each second.
    let most = 100 + 8 * (time.as_secs() + 2);
    assert!(written < most, "{written} in {time:?}");
}

#[tokio::test]
async fn a_million_lists() {
    let Flooded { ends, time, .. } = flood("lists", Duration::from_secs(240)).await;
    // The time that the store needs is the guest's.
    assert!(ends.iter().all(|end| end.contains("exceeded its CPU time of 1s")), "{ends:?} after {time:?}");
}
