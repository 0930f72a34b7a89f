use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use proptest::prelude::*;
use tokio::sync::oneshot;

use super::*;
use crate::catalog::{Writer, catalog};
use larder_model::name::TeamName;
use larder_model::resource::{Body, Content};
use larder_runtime::history::EventLog;
use larder_runtime::memory_budget::MemoryBudget;

const HOUR: Duration = Duration::from_secs(3_600);
const CAPACITY: Config = Config {
    bytes: 1 << 20,
    entries: 100,
};

fn uri(text: &str) -> Uri {
    Uri::parse(text).unwrap()
}

fn caller(subject: &str, team: &str) -> Caller {
    Caller {
        subject: Some(subject.into()),
        issuer: None,
        teams: TeamName::parse(team).unwrap().into(),
        scopes: vec![],
    }
}

fn result(text: &str, of: &Uri, ttl: u64, scope: Scope) -> ReadResult {
    let body = Body::Text(text.to_owned());
    let content = Content {
        uri: of.clone(),
        mime_type: None,
        body,
        metadata: vec![],
    };
    let freshness = Freshness {
        ttl: Duration::from_secs(ttl),
        scope,
    };
    let contents = Arc::new([content].into_iter().collect());
    ReadResult {
        contents,
        version: None,
        freshness,
        shared: false,
    }
}

fn text(result: &ReadResult) -> &str {
    match &result.contents[0].body {
        Body::Text(text) => text,
        Body::Blob(_) => panic!("these tests use text only"),
    }
}

fn cache(config: Config) -> (Writer, Cache) {
    let (writer, reader) = catalog(TeamName::default_team(), 8, EventLog::default());
    let memory = MemoryBudget::unlimited().team(reader.team());
    (writer, Cache::new(config, reader, &memory))
}

/// Reads with a call that returns `own`. Returns the text of the result, or `None` if the read has to wait.
fn get(cache: &Cache, caller: &Caller, uri: &Uri, own: ReadResult) -> Option<String> {
    let request = CacheRequest {
        revision: 1,
        caller,
        uri,
        time: &ReadTime::new(HOUR),
    };
    let result = cache.get_or_call(&request, CacheMode::JoinOrLead, async { Ok::<_, ()>(own) });
    result
        .now_or_never()
        .map(|result| text(&result.unwrap()).to_owned())
}

#[derive(Debug, Clone)]
enum Action {
    Read {
        caller: usize,
        uri: usize,
        revision: u64,
        scope: Scope,
        fresh: bool,
    },
    Update {
        team: usize,
        uri: usize,
    },
}

fn action() -> impl Strategy<Value = Action> {
    let scope = prop_oneof![Just(Scope::Everyone), Just(Scope::Caller)];
    prop_oneof![
        4 => (0..4usize, 0..2usize, 1..3u64, scope, any::<bool>())
            .prop_map(|(caller, uri, revision, scope, fresh)| {
                Action::Read { caller, uri, revision, scope, fresh }
            }),
        1 => (0..2usize, 0..2usize).prop_map(|(team, uri)| Action::Update { team, uri }),
    ]
}

/// A call to a provider, and when it was made.
struct ProviderCall {
    caller: usize,
    uri: usize,
    revision: u64,
    scope: Scope,
    fresh: bool,
    at: usize,
}

proptest! {
    /// Random reads and updates. The response of another call is used only if the rules allow it.
    #[test]
    fn shares_responses_only_within_their_scope(
        actions in prop::collection::vec(action(), 1..80),
        entries in 0..6usize,
    ) {
        let mut with_scope = caller("ann", "a");
        with_scope.scopes.push("read".into());
        let callers = [caller("ann", "a"), caller("bob", "a"), with_scope, caller("ann", "b")];
        let uris = [uri("x:1"), uri("x:2")];
        // The teams are as similar as possible: even their revisions have the same numbers.
        let teams = [(); 2].map(|()| cache(Config { bytes: 1 << 16, entries }));
        let mut calls: Vec<ProviderCall> = Vec::new();
        let mut updates: Vec<(usize, usize, usize)> = Vec::new();
        for (at, action) in actions.into_iter().enumerate() {
            let (caller, which, revision, scope, fresh) = match action {
                Action::Update { team, uri } => {
                    teams[team].0.updated(&uris[uri]);
                    updates.push((team, uri, at));
                    continue;
                }
                Action::Read { caller, uri, revision, scope, fresh } => (caller, uri, revision, scope, fresh),
            };
            let own = calls.len();
            let team = usize::from(caller == 3);
            let cache = &teams[team].1;
            let request =
                CacheRequest { revision, caller: &callers[caller], uri: &uris[which], time: &ReadTime::new(HOUR) };
            let returned = result(&own.to_string(), &uris[which], if fresh { 60 } else { 0 }, scope);
            let answer = cache.get_or_call(&request, CacheMode::JoinOrLead, async { Ok::<_, ()>(returned) });
            let answer = answer.now_or_never().unwrap().unwrap();
            let number: usize = text(&answer).parse().unwrap();
            calls.push(ProviderCall { caller, uri: which, revision, scope, fresh, at });
            if number != own {
                let other = &calls[number];
                prop_assert!(other.fresh && (other.uri, other.revision) == (which, revision));
                prop_assert_eq!(usize::from(other.caller == 3), team);
                prop_assert!(other.scope == Scope::Everyone || other.caller == caller);
                prop_assert!(!updates.iter().any(|&(t, u, when)| (t, u) == (team, which) && when > other.at));
                prop_assert!(answer.freshness.ttl < Duration::from_secs(60));
            }
            let (count, bytes) = cache.store().recount();
            prop_assert!(count <= entries && bytes <= 1 << 16);
            prop_assert_eq!(cache.calls.count(), 0);
        }
    }
}

#[test]
fn caches_only_fresh_responses() {
    let (_writer, cache) = cache(CAPACITY);
    let ann = caller("ann", "a");
    let one = uri("x:1");
    let fresh = |text: &str| result(text, &one, 60, Scope::Everyone);
    assert_eq!(
        get(&cache, &ann, &one, result("1", &one, 0, Scope::Everyone)).as_deref(),
        Some("1")
    );
    assert_eq!(get(&cache, &ann, &one, fresh("2")).as_deref(), Some("2"));
    assert_eq!(get(&cache, &ann, &one, fresh("3")).as_deref(), Some("2"));
}

#[test]
fn evicts_the_least_recently_used_and_rejects_large_responses() {
    let (_writer, cache) = cache(Config {
        bytes: 32 << 10,
        entries: 2,
    });
    let ann = caller("ann", "a");
    let put = |name: &str, text: &str| {
        let uri = uri(name);
        get(&cache, &ann, &uri, result(text, &uri, 60, Scope::Everyone)).unwrap()
    };
    assert_eq!(
        [put("x:1", "one"), put("x:2", "two"), put("x:1", "new")],
        ["one", "two", "one"]
    );
    // The third response evicts the second one, which was not used in the meantime.
    assert_eq!(
        [put("x:3", "three"), put("x:1", "new"), put("x:2", "new")],
        ["three", "one", "new"]
    );
    let large = "l".repeat(5 << 10);
    assert_eq!(
        [put("x:4", &large).len(), put("x:4", "small").len()],
        [5 << 10, 5]
    );
    assert!(cache.store().recount().0 <= 2);
}

/// A read whose call returns the value that `returns` receives.
async fn read(cache: &Cache, caller: &Caller, returns: oneshot::Receiver<ReadResult>) -> String {
    let one = uri("x:1");
    let request = CacheRequest {
        revision: 1,
        caller,
        uri: &one,
        time: &ReadTime::new(HOUR),
    };
    let call = async { returns.await.map_err(|_| "its call failed") };
    cache
        .get_or_call(&request, CacheMode::JoinOrLead, call)
        .await
        .map_or_else(Into::into, |result| text(&result).to_owned())
}

#[tokio::test]
async fn concurrent_reads_share_a_call_within_its_scope() {
    for (scope, bobs) in [(Scope::Everyone, "for ann"), (Scope::Caller, "for bob")] {
        let (_writer, cache) = cache(CAPACITY);
        let ann = caller("ann", "a");
        let bob = caller("bob", "a");
        let [(first, returns), (second, own), (_third, never)] =
            [(); 3].map(|()| oneshot::channel());
        second
            .send(result("for bob", &uri("x:1"), 60, scope))
            .unwrap();
        let send = async { first.send(result("for ann", &uri("x:1"), 60, scope)) };
        let (one, other, again, _) = tokio::join!(
            read(&cache, &ann, returns),
            read(&cache, &bob, own),
            // The call of this read never completes.
            read(&cache, &ann, never),
            send,
        );
        assert_eq!([one, other, again], ["for ann", bobs, "for ann"]);
    }
}

#[tokio::test]
async fn a_waiting_read_takes_over_when_the_lead_is_cancelled() {
    let (_writer, cache) = cache(CAPACITY);
    let ann = caller("ann", "a");
    let [(_one, never), (sender, returns), (_two, unused)] = [(); 3].map(|()| oneshot::channel());
    let mut first = Box::pin(read(&cache, &ann, never));
    let mut second = Box::pin(read(&cache, &ann, returns));
    let mut third = Box::pin(read(&cache, &ann, unused));
    for read in [&mut first, &mut second, &mut third] {
        assert!(read.now_or_never().is_none());
    }
    drop(first);
    sender
        .send(result("second", &uri("x:1"), 60, Scope::Everyone))
        .unwrap();
    let (second, third) = tokio::join!(second, third);
    assert_eq!([second, third], ["second", "second"]);
    assert_eq!(cache.calls.count(), 0);
}

#[tokio::test]
async fn a_read_after_an_update_does_not_join_a_call_from_before_it() {
    let (writer, cache) = cache(CAPACITY);
    let ann = caller("ann", "a");
    let one = uri("x:1");
    let [(old, returns), (new, own)] = [(); 2].map(|()| oneshot::channel());
    let mut before = Box::pin(read(&cache, &ann, returns));
    assert!((&mut before).now_or_never().is_none());
    writer.updated(&one);
    let mut after = Box::pin(read(&cache, &ann, own));
    assert!((&mut after).now_or_never().is_none());
    old.send(result("old", &one, 60, Scope::Everyone)).unwrap();
    assert_eq!(before.await, "old");
    assert!(
        (&mut after).now_or_never().is_none(),
        "it has to wait for its own call"
    );
    new.send(result("new", &one, 60, Scope::Everyone)).unwrap();
    assert_eq!(after.await, "new");
    assert_eq!(
        get(
            &cache,
            &ann,
            &one,
            result("newer", &one, 60, Scope::Everyone)
        )
        .as_deref(),
        Some("new")
    );
}

#[tokio::test]
async fn errors_are_not_shared() {
    let (_writer, cache) = cache(CAPACITY);
    let ann = caller("ann", "a");
    let bob = caller("bob", "a");
    let [(first, returns), (second, own)] = [(); 2].map(|()| oneshot::channel());
    second
        .send(result("bob's", &uri("x:1"), 60, Scope::Everyone))
        .unwrap();
    let fail = async { drop(first) };
    let (one, other, ()) = tokio::join!(read(&cache, &ann, returns), read(&cache, &bob, own), fail);
    assert_eq!([one, other], ["its call failed", "bob's"]);
}
