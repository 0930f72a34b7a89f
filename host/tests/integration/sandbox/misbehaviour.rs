//! One guest for each misbehaviour: its caller gets an error in time, and other requests are not affected.

use std::time::Duration;

use larder_core::gateway::{Error, Filter};
use larder_model::policy::Limits;

use crate::support::harness::{TestServer, anonymous_call};

/// Ends the call of a guest that waits.
const TIMEOUT: Duration = Duration::from_millis(1_500);

/// Sets limits that end a misbehaviour soon.
fn tighten(limits: &mut Limits) {
    limits.cpu_time = Duration::from_millis(100);
    // On a busy machine, a guest waits for its CPU time.
    limits.timeout = Duration::from_secs(20);
}

async fn open(guest: &str) -> TestServer {
    TestServer::builder(&format!("echo {guest}"))
        .provider(guest, |grant, _| tighten(&mut grant.limits))
        .start()
        .await
}

/// Checks that the caller gets this error, and that other callers are served meanwhile and afterwards.
async fn check(server: &TestServer, uri: &str, expected: &str) {
    let (response, other) = tokio::join!(server.text(uri), server.text("echo://hello"));
    assert_eq!(response, expected);
    assert!(other.starts_with("uri: echo://hello"), "meanwhile: {other}");
    assert!(
        server
            .text("echo://hello")
            .await
            .starts_with("uri: echo://hello")
    );
    assert!(server.uris().await.contains(&"echo://hello".to_owned()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stops_an_endless_loop() {
    let expected =
        "error: the provider `spin` failed: it exceeded its CPU time of 100ms (`limits.cpu_time`)";
    check(&open("spin").await, "spin://forever", expected).await;
}

#[tokio::test]
async fn stops_a_guest_that_sleeps() {
    let builder = TestServer::builder("echo sleep")
        .provider("sleep", |grant, _| grant.limits.timeout = TIMEOUT);
    let expected =
        "error: the provider `sleep` failed: it did not respond within 1.5s (`limits.timeout`)";
    check(&builder.start().await, "sleep://hour", expected).await;
}

#[tokio::test]
async fn stops_a_guest_that_needs_too_much_memory() {
    let server = TestServer::builder("echo eat")
        .provider("eat", |grant, _| grant.limits.memory = 16 << 20)
        .start()
        .await;
    let expected = "error: the provider `eat` failed: it needs more than its 16 MiB of memory (`limits.memory`)";
    assert_eq!(server.text("eat://everything").await, expected);
    assert!(server.text("echo://hello").await.starts_with("uri:"));
}

#[tokio::test]
async fn stops_deep_recursion() {
    let server = open("recurse").await;
    let uri = server
        .uris()
        .await
        .into_iter()
        .find(|uri| uri.starts_with("recurse:"))
        .unwrap();
    assert_eq!(
        server.text(&uri).await,
        "error: the provider `recurse` failed: it recursed too deep"
    );
}

#[tokio::test]
async fn rejects_a_component_that_traps_at_start() {
    let server = open("trap_start").await;
    let reason = server.rejection_reason("trap_start.wasm");
    assert!(
        reason.starts_with("cannot get its description: it trapped"),
        "{reason}"
    );
}

#[tokio::test]
async fn a_trap_fails_only_its_own_call() {
    let server = open("trap_nth").await;
    for n in (0..10).filter(|n| *n != 7) {
        assert_eq!(
            server.text(&format!("trap://{n}")).await,
            format!("trap://{n}")
        );
    }
    let response = server.text("trap://7").await;
    assert!(
        response.starts_with("error: the provider `trap_nth` failed: it trapped"),
        "{response}"
    );
    assert!(
        !response.contains("a read of the seventh resource traps"),
        "a guest's panic message goes to the log only"
    );
    assert_eq!(server.text("trap://8").await, "trap://8");
}

#[tokio::test]
async fn rejects_a_response_of_a_gigabyte() {
    for uri in ["huge://1073741824", "huge://blob/1073741824"] {
        let response = open("huge").await.text(uri).await;
        assert!(
            response.starts_with("error: the provider `huge` failed: it "),
            "{response}"
        );
    }
    let builder =
        TestServer::builder("huge").provider("huge", |grant, _| grant.limits.result = 100_000);
    let server = builder.start().await;
    assert_eq!(server.text("huge://90000").await.len(), 90_000);
    let expected = "error: the provider `huge` failed: its response is larger than the limit of 100 KB (`limits.result`)";
    assert_eq!(server.text("huge://100001").await, expected);
    assert_eq!(server.text("huge://contents/1000000").await, expected);
}

#[tokio::test]
async fn rejects_a_list_of_a_million_entries() {
    let server = open("million").await;
    let reason = server.rejection_reason("million.wasm");
    assert!(reason.starts_with("cannot get its list"), "{reason}");
    let smaller_list = TestServer::builder("echo million")
        .setting("million", "count", "10001")
        .start()
        .await;
    let expected =
        "cannot get its list: a page has 10001 entries; the limit is 10000 (`limits.page_entries`)";
    assert_eq!(smaller_list.rejection_reason("million.wasm"), expected);
}

#[tokio::test]
async fn a_flood_of_log_lines_harms_nothing() {
    let server = TestServer::builder("flood").start().await;
    assert_eq!(server.text("flood://lines/5000").await, "flooded");
    assert_eq!(server.text("flood://line/1000000").await, "flooded");
    assert_eq!(server.text("flood://reports/5000").await, "flooded");
    let response = open("flood").await.text("flood://forever").await;
    assert!(
        response.starts_with("error: the provider `flood` failed: it "),
        "{response}"
    );
}

#[tokio::test]
async fn ends_a_list_that_repeats_itself() {
    let server = open("endless_list").await;
    let uris = server.uris().await;
    assert_eq!(
        uris.iter()
            .filter(|uri| *uri == "endless-list://again")
            .count(),
        1,
        "{uris:?}"
    );
}

#[tokio::test]
async fn does_not_forward_invalid_metadata() {
    let server = open("badmeta").await;
    let page = server
        .gateway
        .list(&anonymous_call(), None, &Filter::default())
        .await
        .unwrap();
    let entries: Vec<_> = page
        .items
        .iter()
        .filter(|entry| entry.uri.scheme() == "badmeta")
        .collect();
    assert!(
        entries
            .iter()
            .any(|entry| entry.uri.as_str() == "badmeta://good")
    );
    for entry in entries {
        let details = &entry.details;
        assert!(
            details
                .priority
                .is_none_or(|priority| (0.0..=1.0).contains(&priority)),
            "{entry:?}"
        );
        assert!(details.icons.is_empty(), "{entry:?}");
        for (key, json) in &details.metadata {
            assert!(
                !key.contains("modelcontextprotocol") && !json.get().contains('\n'),
                "{entry:?}"
            );
        }
    }
    let templates = server
        .gateway
        .templates(&anonymous_call(), None, &Filter::default())
        .await
        .unwrap();
    let texts: Vec<_> = templates
        .items
        .iter()
        .map(|template| template.uri_template.as_str())
        .collect();
    assert_eq!(
        texts
            .iter()
            .filter(|text| text.starts_with("badmeta:"))
            .collect::<Vec<_>>(),
        [&"badmeta://t/{x}"]
    );
    let response = server.text("badmeta://good").await;
    assert!(
        response.contains("it returned content with an invalid URI"),
        "{response}"
    );
}

#[tokio::test]
async fn rejects_content_of_foreign_uris() {
    let server = open("foreign_content").await;
    for own in [
        "foreign-content://mine",
        "foreign-content://as/x",
        "foreign-content://as/foreign-content://mine",
    ] {
        assert_eq!(
            server.text(&format!("foreign-content://as/{own}")).await,
            "believe me"
        );
    }
    let requested = "foreign-content://as/echo://hello";
    assert_eq!(
        server
            .text(&format!("foreign-content://as/{requested}/part"))
            .await,
        "believe me"
    );
    for foreign in [
        "echo://hello",
        "echo://say/x",
        "nobody://knows",
        "foreign-content://minefield",
    ] {
        let response = server
            .text(&format!("foreign-content://as/{foreign}"))
            .await;
        assert!(
            response.contains(&format!(
                "it returned content for {foreign}, which is neither"
            )),
            "{response}"
        );
    }
}

#[tokio::test]
async fn is_busy_when_all_permits_are_in_use() {
    let builder = TestServer::builder("echo sleep").provider("sleep", |grant, _| {
        grant.limits.timeout = TIMEOUT;
        grant.limits.concurrency = 1;
        grant.limits.queue_timeout = Duration::from_millis(50);
    });
    let server = builder.start().await;
    let (first, second) = tokio::join!(
        server.read("sleep://hour"),
        server.read("sleep://ms/3600000")
    );
    let busy = |answer: &Result<_, Error>| matches!(answer, Err(Error::Busy { .. }));
    assert!(busy(&first) != busy(&second), "{first:?} {second:?}");
}

#[tokio::test]
async fn a_cancelled_read_ends_its_guest() {
    let builder = TestServer::builder("sleep").provider("sleep", |grant, _| {
        grant.limits.concurrency = 1;
        grant.limits.timeout = Duration::from_secs(3_600);
    });
    let server = builder.start().await;
    let cancelled =
        tokio::time::timeout(Duration::from_millis(50), server.read("sleep://hour")).await;
    assert!(cancelled.is_err());
    // The only permit is free again at once.
    assert_eq!(server.text("sleep://ms/1").await, "slept");
}

#[tokio::test]
async fn a_failed_probe_names_the_call_that_failed() {
    for (setting, call) in [("describe", "its description"), ("list", "its list")] {
        let builder = TestServer::builder("spin")
            .setting("spin", "in", setting)
            .provider("spin", |grant, _| tighten(&mut grant.limits));
        let reason = builder.start().await.rejection_reason("spin.wasm");
        assert_eq!(
            reason,
            format!("cannot get {call}: it exceeded its CPU time of 100ms (`limits.cpu_time`)")
        );
    }
}
