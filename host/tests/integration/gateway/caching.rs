//! The response cache: the guest `fresh` answers every call with another number, so that a cached response
//! can be recognized.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use larder_core::catalog::Change;
use larder_core::gateway::{Error, Filter};
use larder_model::name::{TeamName, Teams};
use larder_model::resource::{Body, Call, Caller, PackedPairs, ReadResult, Scope};
use larder_model::uri::Uri;
use serde_json::json;

use crate::support::harness::{TestServer, anonymous_call, call_in_flight, eventually, parse_uri};
use crate::support::http_server::HttpTestServer;

fn caller(subject: &str) -> Caller {
    Caller {
        subject: Some(subject.into()),
        issuer: None,
        teams: Teams::default_team(),
        scopes: vec![],
    }
}

pub(crate) fn call_by(subject: &str) -> Arc<Call> {
    Arc::new(Call::from_caller(caller(subject)))
}

fn text(result: &ReadResult) -> String {
    match &result.contents[0].body {
        Body::Text(text) => text.clone(),
        Body::Blob(blob) => format!("{blob:?}"),
    }
}

async fn read(server: &TestServer, call: &Arc<Call>, uri: &str) -> String {
    let uri = parse_uri(uri);
    let answer = tokio::time::timeout(
        Duration::from_secs(60),
        server.gateway.read(call, &uri, None),
    );
    answer
        .await
        .expect("no answer within a minute")
        .map_or_else(|error| error.to_string(), |r| text(&r))
}

/// Reads until the text differs from `from`.
async fn wait_for_change(server: &TestServer, uri: &str, from: &str) {
    eventually(&format!("{uri} changes"), async || {
        server.text(uri).await != from
    })
    .await;
}

#[tokio::test]
async fn responses_are_cached_for_their_time_to_live() {
    let server = TestServer::builder("fresh").start().await;
    for long in [
        "fresh://everyone/3600000/0/a",
        "fresh-claim:everyone/3600000/0/a",
        "fresh://caller/3600000/0/a",
    ] {
        let first = server.read(long).await.unwrap();
        let second = server.read(long).await.unwrap();
        assert_eq!(text(&first), text(&second), "{long}");
        assert!(
            second.freshness.ttl < first.freshness.ttl,
            "the remaining time to live decreases"
        );
    }
    for never in [
        "fresh://everyone/0/0/a",
        "fresh://caller/0/0/a",
        "fresh://error/3600000/0/a",
    ] {
        assert_ne!(
            server.text(never).await,
            server.text(never).await,
            "{never}"
        );
    }
    let short = "fresh://everyone/300/0/a";
    let first = server.text(short).await;
    wait_for_change(&server, short, &first).await;
}

#[tokio::test]
async fn private_responses_are_not_shared_between_callers() {
    let server = TestServer::builder("fresh").start().await;
    let own = "fresh://caller/3600000/0/a";
    let (ann, bob) = (
        read(&server, &call_by("ann"), own).await,
        read(&server, &call_by("bob"), own).await,
    );
    assert!(
        ann.ends_with("for ann") && bob.ends_with("for bob"),
        "{ann}, {bob}"
    );
    assert_eq!(
        [
            read(&server, &call_by("ann"), own).await,
            read(&server, &call_by("bob"), own).await
        ],
        [ann.clone(), bob]
    );
    let with_scope = Caller {
        scopes: vec!["admin".into()],
        ..caller("ann")
    };
    assert_ne!(
        read(&server, &Arc::new(Call::from_caller(with_scope)), own).await,
        ann,
        "another credential"
    );

    let shared = "fresh://everyone/3600000/0/a";
    assert_eq!(
        read(&server, &call_by("ann"), shared).await,
        read(&server, &call_by("bob"), shared).await
    );
    let stranger = Caller {
        teams: TeamName::parse("other").unwrap().into(),
        ..caller("ann")
    };
    let stranger = Arc::new(Call::from_caller(stranger));
    assert_eq!(
        read(&server, &stranger, shared).await,
        format!("no resource at `{shared}`")
    );
}

#[tokio::test]
async fn concurrent_reads_cause_one_call() {
    let server = TestServer::builder("fresh").start().await;
    let callers: Vec<_> = (0..12).map(|n| call_by(["ann", "bob"][n % 2])).collect();
    let shared = "fresh://everyone/3600000/200/many";
    let answers = join_all(callers.iter().map(|call| read(&server, call, shared))).await;
    assert!(
        answers.iter().all(|answer| *answer == answers[0]),
        "{answers:?}"
    );
    let own = "fresh://caller/3600000/200/many";
    let answers = join_all(callers.iter().map(|call| read(&server, call, own))).await;
    for (n, answer) in answers.iter().enumerate() {
        assert!(
            answer.ends_with(["for ann", "for bob"][n % 2]),
            "{answers:?}"
        );
    }
}

#[tokio::test]
async fn a_cancelled_read_does_not_cancel_others_that_wait_for_it() {
    let server = TestServer::builder("fresh").start().await;
    let uri = "fresh://everyone/3600000/1000/left";
    let (ann, bob) = (call_by("ann"), call_by("bob"));
    let mut leader = Box::pin(read(&server, &ann, uri));
    let mut other = Box::pin(read(&server, &bob, uri));
    let in_flight = call_in_flight(&server.reader);
    tokio::select! { biased; _ = &mut leader => {}, _ = &mut other => {}, () = in_flight => {} }
    drop(leader);
    let answer = other.await;
    assert!(
        answer.ends_with("for bob"),
        "the call is repeated for a caller that waits: {answer}"
    );
}

#[tokio::test]
async fn requests_with_other_metadata_are_not_cached() {
    let server = TestServer::builder("fresh").start().await;
    let uri = "fresh://everyone/3600000/0/apart";
    let cached = read(&server, &call_by("ann"), uri).await;
    let with = |key: &str, plain| {
        let metadata = PackedPairs::from_pairs([(key, "\"x\"")].into_iter());
        let mut call = Call::from_caller(caller("ann"));
        (call.metadata, call.only_protocol_metadata) = (metadata, plain);
        Arc::new(call)
    };
    assert_eq!(read(&server, &with("traceparent", true), uri).await, cached);
    assert_ne!(
        read(&server, &with("com.example/tenant", false), uri).await,
        cached
    );
    assert_eq!(
        read(&server, &call_by("ann"), uri).await,
        cached,
        "the uncached response replaced the cached one"
    );
}

#[tokio::test]
async fn an_update_invalidates_the_cache_before_it_is_sent() {
    let mut server = TestServer::builder("fresh").start().await;
    server.run_reconciler();
    for (cached, touched) in [
        (
            "fresh://everyone/3600000/0/a",
            "fresh://everyone/3600000/0/a",
        ),
        (
            "fresh://everyone/3600000/0/parts",
            "fresh://everyone/0/0/part",
        ),
    ] {
        let before = server.text(cached).await;
        assert_eq!(server.text(cached).await, before);
        let watch = server.gateway.watch(&caller("ann"));
        watch.add(Uri::parse(touched).unwrap());
        server
            .text(&format!("fresh://everyone/0/0/touch/{touched}"))
            .await;
        let changes = tokio::time::timeout(Duration::from_secs(60), watch.next()).await;
        assert_eq!(
            changes.unwrap(),
            [Change::Updated(Uri::parse(touched).unwrap())]
        );
        assert_ne!(server.text(cached).await, before, "{cached}");
    }
    server.drain.finish(Duration::from_secs(10)).await;
}

#[tokio::test]
async fn a_new_revision_starts_with_an_empty_cache() {
    let mut server = TestServer::builder("fresh").start().await;
    let uri = "fresh://everyone/3600000/0/a";
    let before = server.text(uri).await;
    let path = server.folder.path().join("fresh.wasm");
    let mut bytes = std::fs::read(&path).unwrap();
    // A custom section changes the digest and nothing else.
    bytes.extend([0, 2, 1, b'x']);
    std::fs::write(&path, bytes).unwrap();
    let pass = server.reconciler().run_pass().await;
    assert_eq!(pass.replaced.len(), 1, "{pass}");
    assert_ne!(server.text(uri).await, before);
}

#[tokio::test]
async fn the_cache_is_bounded() {
    let server = TestServer::builder("fresh")
        .cache(64 << 10, 2)
        .start()
        .await;
    let small = |name: &str| format!("fresh://everyone/3600000/0/{name}");
    let first = server.text(&small("a")).await;
    for other in ["b", "c"] {
        server.text(&small(other)).await;
    }
    assert_ne!(
        server.text(&small("a")).await,
        first,
        "two entries are cached, not three"
    );
    let large = small("size/10000");
    assert_ne!(server.text(&large).await, server.text(&large).await);
    let nothing = TestServer::builder("fresh")
        .cache(64 << 10, 0)
        .start()
        .await;
    assert_ne!(
        nothing.text(&small("a")).await,
        nothing.text(&small("a")).await
    );
}

#[tokio::test]
async fn answers_not_modified_for_the_current_version() {
    let server = TestServer::builder("fresh").start().await;
    let read = async |uri: &str, known: &str| {
        server
            .gateway
            .read(&anonymous_call(), &parse_uri(uri), Some(known))
            .await
    };
    let versioned = "fresh://everyone/3600000/0/versioned";
    let cached = server.text(versioned).await;
    let same = Error::NotModified {
        uri: versioned.into(),
        version: Some("current".into()),
    };
    assert_eq!(read(versioned, "current").await.map(|_| ()), Err(same));
    assert_eq!(
        text(&read(versioned, "older").await.unwrap()),
        cached,
        "the cached version is newer"
    );
    // Every response has another version, so only the provider can have answered that this version is current.
    let result = read("fresh://everyone/0/0/a", "current").await;
    assert!(
        matches!(result, Err(Error::NotModified { .. })),
        "{result:?}"
    );
    assert!(read("fresh://everyone/0/0/a", "older").await.is_ok());
}

#[tokio::test]
async fn not_modified_has_its_error_code_in_both_eras() {
    let http = HttpTestServer::start("full").await;
    let session = http.session("2025-11-25").await;
    let with = |version: serde_json::Value| json!({ "uri": "full://one", "_meta": { "dev.larder/version": version } });
    for (known, verdict) in [
        (json!("1"), "200 -31001"),
        (json!("0"), "200 ok"),
        (json!(1), "200 -32602"),
    ] {
        let modern = http.modern("resources/read", with(known.clone())).await;
        let legacy = http.legacy(&session, "resources/read", with(known)).await;
        // The modern era may use another HTTP status for requests that fail before they reach the method.
        assert_eq!(
            [modern.verdict(), legacy.verdict()],
            [verdict, verdict],
            "{}",
            modern.body
        );
        if verdict == "200 -31001" {
            let data = json!({ "uri": "full://one", "version": "1" });
            assert_eq!(
                [
                    &modern.json()["error"]["data"],
                    &legacy.json()["error"]["data"]
                ],
                [&data, &data]
            );
        }
    }
}

#[tokio::test]
async fn an_expired_list_is_refreshed() {
    let mut server = TestServer::builder("fresh")
        .setting("fresh", "list-ttl", "1")
        .start()
        .await;
    server.run_reconciler();
    let name = async || {
        let page = server
            .gateway
            .list(&anonymous_call(), None, &Filter::default())
            .await
            .unwrap();
        page.items[0].name.clone()
    };
    let first = name().await;
    eventually("the list is refreshed", async || name().await != first).await;
    server.drain.finish(Duration::from_secs(10)).await;
}

async fn list_all(server: &TestServer, call: &Arc<Call>) -> Vec<String> {
    let (mut uris, mut cursor) = (Vec::new(), None);
    loop {
        let page = server
            .gateway
            .list(call, cursor.as_deref(), &Filter::default())
            .await
            .unwrap();
        assert_eq!(page.freshness.scope, Scope::Caller);
        uris.extend(page.items.iter().map(|entry| entry.uri.to_string()));
        match page.next {
            Some(next) => assert_ne!(cursor.replace(next), cursor, "the cursor does not change"),
            None => return uris,
        }
    }
}

#[tokio::test]
async fn a_private_list_depends_on_the_caller() {
    let others = [
        "echo://blob",
        "echo://hello",
        "echo://many",
        "echo://progress",
    ];
    for page_size in [100, 4, 3, 1] {
        let server = TestServer::builder("echo personal z@many")
            .setting("z", "count", "2")
            .page_size(page_size)
            .start()
            .await;
        for subject in ["ann", "bob"] {
            let own = ["b", "a"].map(|name| format!("personal://{subject}/{name}"));
            let all = others.map(ToOwned::to_owned).into_iter().chain(own);
            let all: Vec<_> = all
                .chain(["many://0".to_owned(), "many://1".to_owned()])
                .collect();
            assert_eq!(
                list_all(&server, &call_by(subject)).await,
                all,
                "pages of {page_size}"
            );
        }
    }
    let server = TestServer::builder("personal").start().await;
    assert_eq!(
        read(&server, &call_by("ann"), "personal://ann/a").await,
        "a of personal://ann/"
    );
    assert_eq!(
        read(&server, &call_by("bob"), "personal://ann/a").await,
        "no resource at `personal://ann/a`"
    );
    assert_eq!(
        list_all(&server, &anonymous_call()).await,
        Vec::<String>::new()
    );
}

#[tokio::test]
async fn a_private_list_that_fails_does_not_affect_others() {
    let server = TestServer::builder("echo personal")
        .setting("personal", "broken", "yes")
        .start()
        .await;
    assert_eq!(list_all(&server, &call_by("ann")).await.len(), 4);
}
