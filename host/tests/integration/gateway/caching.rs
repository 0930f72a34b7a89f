//! The response cache of the real server. The guest `fresh` answers every call with another number, so that a cached
//! response can be recognized.

use std::time::Duration;

use larder_core::catalog::Change;
use larder_core::gateway::Filter;
use larder_model::resource::{Body, ReadResult};
use larder_model::uri::Uri;

use crate::support::harness::{TestServer, anonymous_call, eventually};

fn text(result: &ReadResult) -> String {
    match &result.contents[0].body {
        Body::Text(text) => text.clone(),
        Body::Blob(blob) => format!("{blob:?}"),
    }
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
        let watch = server
            .gateway
            .watch(anonymous_call().caller.as_ref().unwrap());
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
