use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use proptest::prelude::*;
use tokio::sync::oneshot;

use super::*;
use crate::catalog::{Writer, catalog};
use crate::name::TeamName;
use crate::resource::{Body, Content};

const ROOM: Config = Config { bytes: 1 << 20, entries: 100 };

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

fn reading(text: &str, of: &Uri, ttl: u64, scope: Scope) -> Reading {
    let body = Body::Text(text.to_owned());
    let content = Content { uri: of.clone(), mime_type: None, body, metadata: vec![] };
    let freshness = Freshness { ttl: Duration::from_secs(ttl), scope };
    let contents = Arc::new([content].into_iter().collect());
    Reading { contents, version: None, freshness, kept: false }
}

fn text(reading: &Reading) -> &str {
    match &reading.contents[0].body {
        Body::Text(text) => text,
        Body::Blob(_) => panic!("only texts are made here"),
    }
}

fn cache(config: Config) -> (Writer, Cache) {
    let (writer, reader) = catalog(TeamName::sole(), 8);
    (writer, Cache::new(config, reader))
}

/// What a question is answered with, where its own call would say `own`; a call that waits says none.
fn ask(cache: &Cache, who: &Caller, uri: &Uri, own: Reading) -> Option<String> {
    let question = Question { revision: 1, caller: who, uri };
    let answer = cache.answer(&question, Manner::Lead, async { Ok::<_, ()>(own) });
    answer.now_or_never().map(|answer| text(&answer.unwrap()).to_owned())
}

#[derive(Debug, Clone)]
enum Act {
    Ask { caller: usize, uri: usize, revision: u64, scope: Scope, fresh: bool },
    Update { team: usize, uri: usize },
}

fn act() -> impl Strategy<Value = Act> {
    let scope = prop_oneof![Just(Scope::Everyone), Just(Scope::Caller)];
    prop_oneof![
        4 => (0..4usize, 0..2usize, 1..3u64, scope, any::<bool>())
            .prop_map(|(caller, uri, revision, scope, fresh)| Act::Ask { caller, uri, revision, scope, fresh }),
        1 => (0..2usize, 0..2usize).prop_map(|(team, uri)| Act::Update { team, uri }),
    ]
}

/// Who asked for an answer that was made, and when.
struct Made {
    caller: usize,
    uri: usize,
    revision: u64,
    scope: Scope,
    fresh: bool,
    at: usize,
}

proptest! {
    /// Whoever asks for what in whatever order: an answer of another call is used only where it may be.
    #[test]
    fn nobody_gets_what_is_anothers(acts in prop::collection::vec(act(), 1..80), entries in 0..6usize) {
        let mut narrow = caller("ann", "a");
        narrow.scopes.push("read".into());
        let callers = [caller("ann", "a"), caller("bob", "a"), narrow, caller("ann", "b")];
        let uris = [uri("x:1"), uri("x:2")];
        // The teams are as like each other as can be: even their revisions have the same numbers.
        let teams = [(); 2].map(|()| cache(Config { bytes: 1 << 16, entries }));
        let mut made: Vec<Made> = Vec::new();
        let mut updates: Vec<(usize, usize, usize)> = Vec::new();
        for (at, act) in acts.into_iter().enumerate() {
            let (caller, which, revision, scope, fresh) = match act {
                Act::Update { team, uri } => {
                    teams[team].0.updated(&uris[uri]);
                    updates.push((team, uri, at));
                    continue;
                }
                Act::Ask { caller, uri, revision, scope, fresh } => (caller, uri, revision, scope, fresh),
            };
            let (own, team) = (made.len(), usize::from(caller == 3));
            let cache = &teams[team].1;
            let question = Question { revision, caller: &callers[caller], uri: &uris[which] };
            let told = reading(&own.to_string(), &uris[which], if fresh { 60 } else { 0 }, scope);
            let answer = cache.answer(&question, Manner::Lead, async { Ok::<_, ()>(told) });
            let answer = answer.now_or_never().unwrap().unwrap();
            let number: usize = text(&answer).parse().unwrap();
            made.push(Made { caller, uri: which, revision, scope, fresh, at });
            if number != own {
                let other = &made[number];
                prop_assert!(other.fresh && (other.uri, other.revision) == (which, revision));
                prop_assert_eq!(usize::from(other.caller == 3), team);
                prop_assert!(other.scope == Scope::Everyone || other.caller == caller);
                prop_assert!(!updates.iter().any(|&(t, u, when)| (t, u) == (team, which) && when > other.at));
                prop_assert!(answer.freshness.ttl < Duration::from_secs(60));
            }
            let (count, bytes) = cache.shelf().counted();
            prop_assert!(count <= entries && bytes <= 1 << 16);
            prop_assert_eq!(cache.flights.count(), 0);
        }
    }
}

#[test]
fn a_fresh_answer_is_used_again_and_others_are_not() {
    let (_writer, cache) = cache(ROOM);
    let (ann, one) = (caller("ann", "a"), uri("x:1"));
    let fresh = |text: &str| reading(text, &one, 60, Scope::Everyone);
    assert_eq!(ask(&cache, &ann, &one, reading("1", &one, 0, Scope::Everyone)).as_deref(), Some("1"));
    assert_eq!(ask(&cache, &ann, &one, fresh("2")).as_deref(), Some("2"));
    assert_eq!(ask(&cache, &ann, &one, fresh("3")).as_deref(), Some("2"));
}

#[test]
fn what_was_used_last_stays_and_what_is_too_large_does_not_come() {
    let (_writer, cache) = cache(Config { bytes: 32 << 10, entries: 2 });
    let ann = caller("ann", "a");
    let put = |name: &str, text: &str| {
        let uri = uri(name);
        ask(&cache, &ann, &uri, reading(text, &uri, 60, Scope::Everyone)).unwrap()
    };
    assert_eq!([put("x:1", "one"), put("x:2", "two"), put("x:1", "new")], ["one", "two", "one"]);
    // The third drives out the second, which was not used since.
    assert_eq!([put("x:3", "three"), put("x:1", "new"), put("x:2", "new")], ["three", "one", "new"]);
    let large = "l".repeat(5 << 10);
    assert_eq!([put("x:4", &large).len(), put("x:4", "small").len()], [5 << 10, 5]);
    assert!(cache.shelf().counted().0 <= 2);
}

/// A question whose call answers when it is told what.
async fn waiting(cache: &Cache, who: &Caller, told: oneshot::Receiver<Reading>) -> String {
    let one = uri("x:1");
    let question = Question { revision: 1, caller: who, uri: &one };
    let call = async { told.await.map_err(|_| "its call ended") };
    cache
        .answer(&question, Manner::Lead, call)
        .await
        .map_or_else(Into::into, |reading| text(&reading).to_owned())
}

#[tokio::test]
async fn one_call_answers_all_who_ask_meanwhile_unless_it_is_its_callers_own() {
    for (scope, bobs) in [(Scope::Everyone, "for ann"), (Scope::Caller, "for bob")] {
        let (_writer, cache) = cache(ROOM);
        let (ann, bob) = (caller("ann", "a"), caller("bob", "a"));
        let [(first, told), (second, own), (_third, never)] = [(); 3].map(|()| oneshot::channel());
        second.send(reading("for bob", &uri("x:1"), 60, scope)).unwrap();
        let tell = async { first.send(reading("for ann", &uri("x:1"), 60, scope)) };
        let (one, other, again, _) = tokio::join!(
            waiting(&cache, &ann, told),
            waiting(&cache, &bob, own),
            // Its own call never ends.
            waiting(&cache, &ann, never),
            tell,
        );
        assert_eq!([one, other, again], ["for ann", bobs, "for ann"]);
    }
}

#[tokio::test]
async fn another_takes_over_when_the_one_who_calls_goes_away() {
    let (_writer, cache) = cache(ROOM);
    let ann = caller("ann", "a");
    let [(_one, never), (sender, told), (_two, not_asked)] = [(); 3].map(|()| oneshot::channel());
    let mut first = Box::pin(waiting(&cache, &ann, never));
    let mut second = Box::pin(waiting(&cache, &ann, told));
    let mut third = Box::pin(waiting(&cache, &ann, not_asked));
    for asked in [&mut first, &mut second, &mut third] {
        assert!(asked.now_or_never().is_none());
    }
    drop(first);
    sender.send(reading("second", &uri("x:1"), 60, Scope::Everyone)).unwrap();
    let (second, third) = tokio::join!(second, third);
    assert_eq!([second, third], ["second", "second"]);
    assert_eq!(cache.flights.count(), 0);
}

#[tokio::test]
async fn who_asks_after_an_update_does_not_get_what_was_read_before_it() {
    let (writer, cache) = cache(ROOM);
    let (ann, one) = (caller("ann", "a"), uri("x:1"));
    let [(old, told), (new, own)] = [(); 2].map(|()| oneshot::channel());
    let mut before = Box::pin(waiting(&cache, &ann, told));
    assert!((&mut before).now_or_never().is_none());
    writer.updated(&one);
    let mut after = Box::pin(waiting(&cache, &ann, own));
    assert!((&mut after).now_or_never().is_none());
    old.send(reading("old", &one, 60, Scope::Everyone)).unwrap();
    assert_eq!(before.await, "old");
    assert!((&mut after).now_or_never().is_none(), "it waits for its own call");
    new.send(reading("new", &one, 60, Scope::Everyone)).unwrap();
    assert_eq!(after.await, "new");
    assert_eq!(ask(&cache, &ann, &one, reading("newer", &one, 60, Scope::Everyone)).as_deref(), Some("new"));
}

#[tokio::test]
async fn an_error_is_told_to_its_caller_only() {
    let (_writer, cache) = cache(ROOM);
    let (ann, bob) = (caller("ann", "a"), caller("bob", "a"));
    let [(first, told), (second, own)] = [(); 2].map(|()| oneshot::channel());
    second.send(reading("bob's", &uri("x:1"), 60, Scope::Everyone)).unwrap();
    let fail = async { drop(first) };
    let (one, other, ()) = tokio::join!(waiting(&cache, &ann, told), waiting(&cache, &bob, own), fail);
    assert_eq!([one, other], ["its call ended", "bob's"]);
}
