//! Answers that providers call fresh, with real components: `fresh` says a number that no two calls share,
//! so an answer that was kept is known by it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use larder_core::catalog::Change;
use larder_core::gateway::{Error, Filter};
use larder_model::name::{TeamName, Teams};
use larder_model::resource::{Body, Call, Caller, PackedPairs, ReadResult, Scope};
use larder_model::uri::Uri;
use serde_json::json;

use crate::house::{House, Plan, someone};
use crate::wire::Wire;

fn caller(subject: &str) -> Caller {
    Caller { subject: Some(subject.into()), issuer: None, teams: Teams::default_team(), scopes: vec![] }
}

fn by(subject: &str) -> Arc<Call> {
    Arc::new(Call::from_caller(caller(subject)))
}

fn text(reading: &ReadResult) -> String {
    match &reading.contents[0].body {
        Body::Text(text) => text.clone(),
        Body::Blob(blob) => format!("{blob:?}"),
    }
}

async fn read(house: &House, call: &Arc<Call>, uri: &str) -> String {
    let answer = tokio::time::timeout(Duration::from_secs(60), house.gateway.read(call, uri, None));
    answer.await.expect("no answer within a minute").map_or_else(|error| error.to_string(), |r| text(&r))
}

/// Asks until the answer is another one.
async fn differs(house: &House, uri: &str, from: &str) {
    let began = Instant::now();
    while house.text(uri).await == from {
        assert!(began.elapsed() < Duration::from_secs(60), "{uri} does not change");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn an_answer_is_kept_for_as_long_as_its_provider_says() {
    let house = Plan::of("fresh").open().await;
    for long in
        ["fresh://everyone/3600000/0/a", "fresh-claim:everyone/3600000/0/a", "fresh://caller/3600000/0/a"]
    {
        let first = house.read(long).await.unwrap();
        let second = house.read(long).await.unwrap();
        assert_eq!(text(&first), text(&second), "{long}");
        assert!(second.freshness.ttl < first.freshness.ttl, "the time that is left grows less");
    }
    for never in ["fresh://everyone/0/0/a", "fresh://caller/0/0/a", "fresh://error/3600000/0/a"] {
        assert_ne!(house.text(never).await, house.text(never).await, "{never}");
    }
    let short = "fresh://everyone/300/0/a";
    let first = house.text(short).await;
    differs(&house, short, &first).await;
}

#[tokio::test]
async fn answers_do_not_cross_callers_where_they_are_the_callers_own() {
    let house = Plan::of("fresh").open().await;
    let own = "fresh://caller/3600000/0/a";
    let (ann, bob) = (read(&house, &by("ann"), own).await, read(&house, &by("bob"), own).await);
    assert!(ann.ends_with("for ann") && bob.ends_with("for bob"), "{ann}, {bob}");
    assert_eq!(
        [read(&house, &by("ann"), own).await, read(&house, &by("bob"), own).await],
        [ann.clone(), bob]
    );
    let wider = Caller { scopes: vec!["admin".into()], ..caller("ann") };
    assert_ne!(read(&house, &Arc::new(Call::from_caller(wider)), own).await, ann, "another credential");

    let shared = "fresh://everyone/3600000/0/a";
    assert_eq!(read(&house, &by("ann"), shared).await, read(&house, &by("bob"), shared).await);
    let stranger = Caller { teams: TeamName::parse("other").unwrap().into(), ..caller("ann") };
    let stranger = Arc::new(Call::from_caller(stranger));
    assert_eq!(read(&house, &stranger, shared).await, format!("no resource at `{shared}`"));
}

#[tokio::test]
async fn many_who_ask_at_once_cause_one_call() {
    let house = Plan::of("fresh").open().await;
    let callers: Vec<_> = (0..12).map(|n| by(["ann", "bob"][n % 2])).collect();
    let shared = "fresh://everyone/3600000/200/many";
    let answers = join_all(callers.iter().map(|call| read(&house, call, shared))).await;
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    let own = "fresh://caller/3600000/200/many";
    let answers = join_all(callers.iter().map(|call| read(&house, call, own))).await;
    for (n, answer) in answers.iter().enumerate() {
        assert!(answer.ends_with(["for ann", "for bob"][n % 2]), "{answers:?}");
    }
}

#[tokio::test]
async fn who_leaves_takes_nobody_along() {
    let house = Plan::of("fresh").open().await;
    let uri = "fresh://everyone/3600000/1000/left";
    let (ann, bob) = (by("ann"), by("bob"));
    let mut leader = Box::pin(read(&house, &ann, uri));
    let mut other = Box::pin(read(&house, &bob, uri));
    let soon = tokio::time::sleep(Duration::from_millis(50));
    tokio::select! { _ = &mut leader => {}, _ = &mut other => {}, () = soon => {} }
    drop(leader);
    let answer = other.await;
    assert!(answer.ends_with("for bob"), "it is asked in the name of one who waits: {answer}");
}

#[tokio::test]
async fn what_only_the_request_says_keeps_its_answer_apart() {
    let house = Plan::of("fresh").open().await;
    let uri = "fresh://everyone/3600000/0/apart";
    let kept = read(&house, &by("ann"), uri).await;
    let with = |key: &str, plain| {
        let metadata = PackedPairs::from_pairs([(key, "\"x\"")].into_iter());
        let mut call = Call::from_caller(caller("ann"));
        (call.metadata, call.only_protocol_metadata) = (metadata, plain);
        Arc::new(call)
    };
    assert_eq!(read(&house, &with("traceparent", true), uri).await, kept);
    assert_ne!(read(&house, &with("com.example/tenant", false), uri).await, kept);
    assert_eq!(read(&house, &by("ann"), uri).await, kept, "what was apart took nobody's place");
}

#[tokio::test]
async fn an_update_voids_what_is_kept_before_anybody_is_told() {
    let mut house = Plan::of("fresh").open().await;
    house.run();
    for (kept, touched) in [
        ("fresh://everyone/3600000/0/a", "fresh://everyone/3600000/0/a"),
        ("fresh://everyone/3600000/0/parts", "fresh://everyone/0/0/part"),
    ] {
        let before = house.text(kept).await;
        assert_eq!(house.text(kept).await, before);
        let watch = house.gateway.watch(&caller("ann"));
        watch.add(Uri::parse(touched).unwrap());
        house.text(&format!("fresh://everyone/0/0/touch/{touched}")).await;
        let told = tokio::time::timeout(Duration::from_secs(60), watch.next()).await;
        assert_eq!(told.unwrap(), [Change::Updated(Uri::parse(touched).unwrap())]);
        assert_ne!(house.text(kept).await, before, "{kept}");
    }
    house.drain.finish(Duration::from_secs(10)).await;
}

#[tokio::test]
async fn a_new_revision_begins_with_nothing() {
    let mut house = Plan::of("fresh").open().await;
    let uri = "fresh://everyone/3600000/0/a";
    let before = house.text(uri).await;
    let path = house.folder.path().join("fresh.wasm");
    let mut bytes = std::fs::read(&path).unwrap();
    // An empty custom section: other bytes, the same behaviour.
    bytes.extend([0, 2, 1, b'x']);
    std::fs::write(&path, bytes).unwrap();
    let round = house.reconcile().run_pass().await;
    assert_eq!(round.replaced.len(), 1, "{round}");
    assert_ne!(house.text(uri).await, before);
}

#[tokio::test]
async fn what_is_kept_is_bounded() {
    let house = Plan::of("fresh").cache(64 << 10, 2).open().await;
    let small = |name: &str| format!("fresh://everyone/3600000/0/{name}");
    let first = house.text(&small("a")).await;
    for other in ["b", "c"] {
        house.text(&small(other)).await;
    }
    assert_ne!(house.text(&small("a")).await, first, "two are kept, not three");
    let large = small("size/10000");
    assert_ne!(house.text(&large).await, house.text(&large).await);
    let nothing = Plan::of("fresh").cache(64 << 10, 0).open().await;
    assert_ne!(nothing.text(&small("a")).await, nothing.text(&small("a")).await);
}

#[tokio::test]
async fn a_version_that_is_held_is_not_sent_again() {
    let house = Plan::of("fresh").open().await;
    let read = async |uri: &str, held: &str| house.gateway.read(&someone(), uri, Some(held)).await;
    let versioned = "fresh://everyone/3600000/0/versioned";
    let kept = house.text(versioned).await;
    let same = Error::NotModified { uri: versioned.into(), version: Some("current".into()) };
    assert_eq!(read(versioned, "current").await.map(|_| ()), Err(same));
    assert_eq!(text(&read(versioned, "older").await.unwrap()), kept, "what is kept is newer");
    // Its version is another one each time: only the provider can have said that it is current.
    let asked = read("fresh://everyone/0/0/a", "current").await;
    assert!(matches!(asked, Err(Error::NotModified { .. })), "{asked:?}");
    assert!(read("fresh://everyone/0/0/a", "older").await.is_ok());
}

#[tokio::test]
async fn a_held_version_on_the_wire_of_both_eras() {
    let wire = Wire::of("full").await;
    let session = wire.session("2025-11-25").await;
    let with = |version: serde_json::Value| json!({ "uri": "full://one", "_meta": { "dev.larder/version": version } });
    for (held, verdict) in [(json!("1"), "200 -31001"), (json!("0"), "200 ok"), (json!(1), "200 -32602")] {
        let modern = wire.modern("resources/read", with(held.clone())).await;
        let legacy = wire.legacy(&session, "resources/read", with(held)).await;
        // Over HTTP the modern era may put its own status on what never reached its method.
        assert_eq!([modern.verdict(), legacy.verdict()], [verdict, verdict], "{}", modern.body);
        if verdict == "200 -31001" {
            let data = json!({ "uri": "full://one", "version": "1" });
            assert_eq!([&modern.json()["error"]["data"], &legacy.json()["error"]["data"]], [&data, &data]);
        }
    }
}

#[tokio::test]
async fn a_list_that_outlived_its_time_is_asked_for_anew() {
    let mut house = Plan::of("fresh").setting("fresh", "list-ttl", "1").open().await;
    house.run();
    let name = async || {
        let page = house.gateway.list(&someone(), None, &Filter::default()).await.unwrap();
        page.items[0].name.clone()
    };
    let (first, began) = (name().await, Instant::now());
    while name().await == first {
        assert!(began.elapsed() < Duration::from_secs(60), "nobody asks anew");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    house.drain.finish(Duration::from_secs(10)).await;
}

async fn listed(house: &House, call: &Arc<Call>) -> Vec<String> {
    let (mut uris, mut cursor) = (Vec::new(), None);
    loop {
        let page = house.gateway.list(call, cursor.as_deref(), &Filter::default()).await.unwrap();
        assert_eq!(page.freshness.scope, Scope::Caller);
        uris.extend(page.items.iter().map(|entry| entry.uri.to_string()));
        match page.next {
            Some(next) => assert_ne!(cursor.replace(next), cursor, "the cursor does not move"),
            None => return uris,
        }
    }
}

#[tokio::test]
async fn a_personal_list_is_its_callers_own() {
    let others = ["echo://blob", "echo://hello", "echo://many", "echo://progress"];
    for page_size in [100, 4, 3, 1] {
        let house =
            Plan::of("echo personal z@many").setting("z", "count", "2").page_size(page_size).open().await;
        for subject in ["ann", "bob"] {
            let own = ["b", "a"].map(|name| format!("personal://{subject}/{name}"));
            let all = others.map(ToOwned::to_owned).into_iter().chain(own);
            let all: Vec<_> = all.chain(["many://0".to_owned(), "many://1".to_owned()]).collect();
            assert_eq!(listed(&house, &by(subject)).await, all, "pages of {page_size}");
        }
    }
    let house = Plan::of("personal").open().await;
    assert_eq!(read(&house, &by("ann"), "personal://ann/a").await, "a of personal://ann/");
    assert_eq!(read(&house, &by("bob"), "personal://ann/a").await, "no resource at `personal://ann/a`");
    assert_eq!(listed(&house, &someone()).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_personal_list_that_fails_costs_only_itself() {
    let house = Plan::of("echo personal").setting("personal", "broken", "yes").open().await;
    assert_eq!(listed(&house, &by("ann")).await.len(), 4);
}
