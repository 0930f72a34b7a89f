//! One guest per misbehaviour: its caller gets an error in time, and nobody else notices.

use std::time::Duration;

use larder_core::gateway::{Error, Filter};
use larder_model::policy::Limits;

use crate::house::{House, Plan, someone};

/// Limits that end a misbehaviour soon.
fn tight(limits: &mut Limits) {
    limits.cpu_time = Duration::from_millis(100);
    limits.timeout = Duration::from_millis(1_500);
}

async fn open(guest: &str) -> House {
    Plan::of(&format!("echo {guest}")).terms(guest, |grant, _| tight(&mut grant.limits)).open().await
}

/// The caller is told what happened; in the meantime and afterwards the others are served.
async fn check(guest: &str, uri: &str, expected: &str) {
    let house = open(guest).await;
    let (told, other) = tokio::join!(house.text(uri), house.text("echo://hello"));
    assert_eq!(told, expected);
    assert!(other.starts_with("uri: echo://hello"), "meanwhile: {other}");
    assert!(house.text("echo://hello").await.starts_with("uri: echo://hello"));
    assert!(house.uris().await.contains(&"echo://hello".to_owned()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_loops_for_ever() {
    let expected = "error: the provider `spin` failed: it exceeded its CPU time of 100ms";
    check("spin", "spin://forever", expected).await;
}

#[tokio::test]
async fn it_sleeps() {
    check("sleep", "sleep://hour", "error: the provider `sleep` failed: it did not respond within 1.5s")
        .await;
}

#[tokio::test]
async fn it_eats_memory() {
    let house = Plan::of("echo eat").terms("eat", |grant, _| grant.limits.memory = 16 << 20).open().await;
    let expected = "error: the provider `eat` failed: it needs more than its 16777216 bytes of memory";
    assert_eq!(house.text("eat://everything").await, expected);
    assert!(house.text("echo://hello").await.starts_with("uri:"));
}

#[tokio::test]
async fn it_recurses() {
    let house = open("recurse").await;
    let uri = house.uris().await.into_iter().find(|uri| uri.starts_with("recurse:")).unwrap();
    assert_eq!(house.text(&uri).await, "error: the provider `recurse` failed: it recursed too deep");
}

#[tokio::test]
async fn it_traps_in_its_start_function() {
    let house = open("trap_start").await;
    let reason = house.rejected("trap_start.wasm");
    assert!(reason.starts_with("cannot get its description: it trapped"), "{reason}");
}

#[tokio::test]
async fn it_traps_in_its_nth_call() {
    let house = open("trap_nth").await;
    for n in (0..10).filter(|n| *n != 7) {
        assert_eq!(house.text(&format!("trap://{n}")).await, format!("trap://{n}"));
    }
    let told = house.text("trap://7").await;
    assert!(told.starts_with("error: the provider `trap_nth` failed: it trapped"), "{told}");
    assert!(!told.contains("the seventh is too much"), "the guest's own words are for the log only");
    assert_eq!(house.text("trap://8").await, "trap://8");
}

#[tokio::test]
async fn it_returns_a_gigabyte() {
    for uri in ["huge://1073741824", "huge://blob/1073741824"] {
        let told = open("huge").await.text(uri).await;
        assert!(told.starts_with("error: the provider `huge` failed: it "), "{told}");
    }
    let plan = Plan::of("huge").terms("huge", |grant, _| grant.limits.result = 100_000);
    let house = plan.open().await;
    assert_eq!(house.text("huge://90000").await.len(), 90_000);
    let expected = "error: the provider `huge` failed: its response is larger than the limit of 100000 bytes";
    assert_eq!(house.text("huge://100001").await, expected);
    assert_eq!(house.text("huge://contents/1000000").await, expected);
}

#[tokio::test]
async fn it_lists_a_million_entries() {
    let house = open("million").await;
    let reason = house.rejected("million.wasm");
    assert!(reason.starts_with("cannot get its list"), "{reason}");
    let few = Plan::of("echo million").setting("million", "count", "10001").open().await;
    let expected =
        "cannot get its list: a page has 10001 entries; the limit is 10000 (`limits.page_entries`)";
    assert_eq!(few.rejected("million.wasm"), expected);
}

#[tokio::test]
async fn it_floods_its_log() {
    let house = Plan::of("flood").open().await;
    assert_eq!(house.text("flood://lines/5000").await, "flooded");
    assert_eq!(house.text("flood://line/1000000").await, "flooded");
    assert_eq!(house.text("flood://reports/5000").await, "flooded");
    let told = open("flood").await.text("flood://forever").await;
    assert!(told.starts_with("error: the provider `flood` failed: it "), "{told}");
}

#[tokio::test]
async fn its_list_never_ends() {
    let house = open("liar").await;
    let uris = house.uris().await;
    assert_eq!(uris.iter().filter(|uri| *uri == "liar://again").count(), 1, "{uris:?}");
}

#[tokio::test]
async fn it_says_what_must_not_be_passed_on() {
    let house = open("badmeta").await;
    let page = house.gateway.list(&someone(), None, &Filter::default()).await.unwrap();
    let shown: Vec<_> = page.items.iter().filter(|entry| entry.uri.scheme() == "badmeta").collect();
    assert!(shown.iter().any(|entry| entry.uri.as_str() == "badmeta://good"));
    for entry in shown {
        let details = &entry.details;
        assert!(details.priority.is_none_or(|priority| (0.0..=1.0).contains(&priority)), "{entry:?}");
        assert!(details.icons.is_empty(), "{entry:?}");
        for (key, json) in &details.metadata {
            assert!(!key.contains("modelcontextprotocol") && !json.get().contains('\n'), "{entry:?}");
        }
    }
    let templates = house.gateway.templates(&someone(), None, &Filter::default()).await.unwrap();
    let texts: Vec<_> = templates.items.iter().map(|template| template.uri_template.as_str()).collect();
    assert_eq!(
        texts.iter().filter(|text| text.starts_with("badmeta:")).collect::<Vec<_>>(),
        [&"badmeta://t/{x}"]
    );
    let told = house.text("badmeta://good").await;
    assert!(told.contains("it returned content with an invalid URI"), "{told}");
}

#[tokio::test]
async fn it_answers_in_the_name_of_another() {
    let house = open("pose").await;
    for own in ["pose://mine", "pose://as/x", "pose://as/pose://mine"] {
        assert_eq!(house.text(&format!("pose://as/{own}")).await, "believe me");
    }
    let asked = "pose://as/echo://hello";
    assert_eq!(house.text(&format!("pose://as/{asked}/part")).await, "believe me");
    for foreign in ["echo://hello", "echo://say/x", "nobody://knows", "pose://minefield"] {
        let told = house.text(&format!("pose://as/{foreign}")).await;
        assert!(told.contains(&format!("it returned content for {foreign}, which is neither")), "{told}");
    }
}

#[tokio::test]
async fn it_takes_all_its_turns() {
    let plan = Plan::of("echo sleep").terms("sleep", |grant, _| {
        tight(&mut grant.limits);
        grant.limits.concurrency = 1;
        grant.limits.queue_timeout = Duration::from_millis(50);
    });
    let house = plan.open().await;
    let (first, second) = tokio::join!(house.read("sleep://hour"), house.read("sleep://ms/3600000"));
    let busy = |answer: &Result<_, Error>| matches!(answer, Err(Error::Busy { .. }));
    assert!(busy(&first) != busy(&second), "{first:?} {second:?}");
}

#[tokio::test]
async fn a_caller_who_leaves_takes_the_guest_with_him() {
    let plan = Plan::of("sleep").terms("sleep", |grant, _| {
        grant.limits.concurrency = 1;
        grant.limits.timeout = Duration::from_secs(3_600);
    });
    let house = plan.open().await;
    let left = tokio::time::timeout(Duration::from_millis(50), house.read("sleep://hour")).await;
    assert!(left.is_err());
    // The only turn is free again at once.
    assert_eq!(house.text("sleep://ms/1").await, "slept");
}

#[tokio::test]
async fn a_probe_that_fails_says_at_which_question() {
    for (setting, asked) in [("describe", "its description"), ("list", "its list")] {
        let plan = Plan::of("spin")
            .setting("spin", "in", setting)
            .terms("spin", |grant, _| tight(&mut grant.limits));
        let reason = plan.open().await.rejected("spin.wasm");
        assert_eq!(reason, format!("cannot get {asked}: it exceeded its CPU time of 100ms"));
    }
}
