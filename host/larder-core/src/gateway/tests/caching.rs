//! The response cache.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::future::{join, join_all};

use super::*;
use crate::test_team;
use larder_model::name::TeamName;
use larder_model::resource::PackedPairs;

/// Answers each read with another number, so that cached responses can be recognized. In `fresh://SCOPE/TTL/NAME`,
/// SCOPE is `everyone` or `caller`, and TTL is the time to live in milliseconds.
fn fresh() -> FakeContent {
    FakeContent::default()
        .with_template(template("fresh://{scope}/{ttl}/{+name}"))
        .with_reader(read_fresh)
}

fn read_fresh(read: &FakeRead<'_>) -> Result<ReadResult, CallError> {
    static READS: AtomicU64 = AtomicU64::new(0);
    if read.known_version == Some("current") {
        return Err(CallError::NotModified);
    }
    let number = READS.fetch_add(1, Ordering::Relaxed);
    let parts: Vec<_> = read.uri.as_str().splitn(5, '/').collect();
    let &[_, _, scope, ttl, name] = &parts[..] else {
        return Err(CallError::NotFound);
    };
    let size = name.strip_prefix("size/").map(|size| size.parse().unwrap());
    let subject = subject(read.call).unwrap_or_default();
    let text = format!("{}{number} for {subject}", ".".repeat(size.unwrap_or(0)));
    let version = if name == "versioned" {
        name.to_owned()
    } else {
        number.to_string()
    };
    Ok(ReadResult {
        contents: Arc::new([text_of(read.uri, text)].into_iter().collect()),
        version: Some(version),
        freshness: Freshness {
            ttl: Duration::from_millis(ttl.parse().unwrap()),
            scope: match scope {
                "everyone" => Scope::Everyone,
                _ => Scope::Caller,
            },
        },
        shared: false,
    })
}

async fn with_cache(entries: usize) -> TestTeam {
    let config = Config {
        cache: CacheConfig {
            bytes: 64 << 10,
            entries,
        },
        ..test_team::config(2)
    };
    TestTeam::with_config([fresh().provider("fresh", Grant::default())], config).await
}

#[tokio::test]
async fn private_responses_are_not_shared_between_callers() {
    let team = team(&fresh()).await;
    let own = "fresh://caller/3600000/a";
    let both = async || {
        let ann = read_by(&team, &call_by("ann"), own).await;
        [ann, read_by(&team, &call_by("bob"), own).await]
    };
    let first = both().await;
    assert!(
        first[0].ends_with("for ann") && first[1].ends_with("for bob"),
        "{first:?}"
    );
    assert_eq!(both().await, first);
    let with_scope = Arc::new(Call::from_caller(Caller {
        scopes: vec!["admin".into()],
        ..caller("ann")
    }));
    let scoped = read_by(&team, &with_scope, own).await;
    assert_ne!(scoped, first[0], "another credential");

    let shared = "fresh://everyone/3600000/a";
    assert_eq!(
        read_by(&team, &call_by("ann"), shared).await,
        read_by(&team, &call_by("bob"), shared).await
    );
    let stranger = Arc::new(Call::from_caller(Caller {
        teams: TeamName::parse("other").unwrap().into(),
        ..caller("ann")
    }));
    assert_eq!(
        read_by(&team, &stranger, shared).await,
        format!("error: no resource at `{shared}`")
    );
}

/// Reads by 12 calls of two callers, which wait for the provider at the same time.
async fn read_concurrently(team: &TestTeam, content: &FakeContent, of: &str) -> Vec<String> {
    let calls: Vec<_> = (0..12).map(|n| call_by(["ann", "bob"][n % 2])).collect();
    content.pause();
    let reads = join_all(calls.iter().map(|call| read_by(team, call, of)));
    let resume = async { content.resume() };
    join(reads, resume).await.0
}

#[tokio::test]
async fn concurrent_reads_cause_one_call() {
    let content = fresh();
    let team = team(&content).await;
    let shared = read_concurrently(&team, &content, "fresh://everyone/3600000/a").await;
    assert!(shared.iter().all(|text| *text == shared[0]), "{shared:?}");
    assert_eq!(content.calls().len(), 2, "{:?}", content.calls());
    let own = read_concurrently(&team, &content, "fresh://caller/3600000/a").await;
    for (n, text) in own.iter().enumerate() {
        let expected = ["for ann", "for bob"][n % 2];
        assert!(text.ends_with(expected), "{own:?}");
    }
}

#[tokio::test]
async fn a_cancelled_read_does_not_cancel_others_that_wait_for_it() {
    let content = fresh();
    let team = team(&content).await;
    let of = "fresh://everyone/3600000/a";
    let (ann, bob) = (call_by("ann"), call_by("bob"));
    content.pause();
    let mut leader = Box::pin(read_by(&team, &ann, of));
    let mut other = Box::pin(read_by(&team, &bob, of));
    assert_eq!((&mut leader).now_or_never(), None);
    assert_eq!((&mut other).now_or_never(), None);
    assert_eq!(content.running(), 1, "one read waits for the other");
    drop(leader);
    content.resume();
    let text = other.await;
    assert!(
        text.ends_with("for bob"),
        "the call is repeated for a caller that waits: {text}"
    );
}

#[tokio::test]
async fn requests_with_other_metadata_are_not_cached() {
    let team = team(&fresh()).await;
    let of = "fresh://everyone/3600000/a";
    let plain = async || read_by(&team, &call_by("ann"), of).await;
    let with = async |key: &str, only_protocol_metadata| {
        let mut call = Call::from_caller(caller("ann"));
        call.metadata = PackedPairs::from_pairs([(key, "\"x\"")].into_iter());
        call.only_protocol_metadata = only_protocol_metadata;
        read_by(&team, &Arc::new(call), of).await
    };
    let cached = plain().await;
    assert_eq!(with("traceparent", true).await, cached);
    assert_ne!(with("com.example/tenant", false).await, cached);
    assert_eq!(plain().await, cached, "the uncached response is not stored");
}

#[tokio::test]
async fn a_new_revision_starts_with_an_empty_cache() {
    let content = fresh();
    let mut team = team(&content).await;
    let of = "fresh://everyone/3600000/a";
    let before = read(&team, of).await;
    assert_eq!(read(&team, of).await, before);
    team.serve([content.provider("wiki", Grant::default())])
        .await;
    assert_ne!(read(&team, of).await, before);
}

#[tokio::test]
async fn the_cache_is_bounded() {
    let small = |name: &str| format!("fresh://everyone/3600000/{name}");
    let team = with_cache(2).await;
    let first = read(&team, &small("a")).await;
    assert_eq!(read(&team, &small("a")).await, first);
    for other in ["b", "c"] {
        read(&team, &small(other)).await;
    }
    assert_ne!(read(&team, &small("a")).await, first, "a third entry");
    let large = small("size/10000");
    assert_ne!(read(&team, &large).await, read(&team, &large).await);
    let team = with_cache(0).await;
    assert_ne!(
        read(&team, &small("a")).await,
        read(&team, &small("a")).await
    );
}

#[tokio::test]
async fn answers_not_modified_for_the_current_version() {
    let team = team(&fresh()).await;
    let read_version = async |of: &str, known: &str| {
        let call = TestTeam::call();
        team.gateway.read(&call, &uri(of), Some(known)).await
    };
    let versioned = "fresh://everyone/3600000/versioned";
    let cached = read(&team, versioned).await;
    let same = Error::NotModified {
        uri: versioned.into(),
        version: Some("versioned".into()),
    };
    let unchanged = read_version(versioned, "versioned").await;
    assert_eq!(unchanged.map(|_| ()), Err(same));
    let newer = read_version(versioned, "older").await.unwrap();
    let Body::Text(text) = &newer.contents[0].body else {
        panic!("{newer:?}");
    };
    assert_eq!(*text, cached, "the cached version is newer");
    // Every response has another version, so only the provider can have answered that this version is current.
    let result = read_version("fresh://everyone/0/a", "current").await;
    assert!(
        matches!(result, Err(Error::NotModified { .. })),
        "{result:?}"
    );
    assert!(read_version("fresh://everyone/0/a", "older").await.is_ok());
}
