//! Search in everything that a caller may read: providers that search themselves, and the lists of all other providers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use larder_core::gateway::{Error, Gateway, SearchPage};
use larder_model::name::{TeamName, Teams};
use larder_model::policy::Quota;
use larder_model::resource::{Call, Caller};
use larder_model::search::SearchQuery;
use larder_runtime::metrics::Outcome;

use crate::support::harness::{
    SLOW_WAIT, TestServer, TestServerBuilder, anonymous_call, shared_gateway,
};

const HOUR: Duration = Duration::from_secs(3_600);

fn query(text: &str) -> SearchQuery {
    SearchQuery {
        text: text.into(),
        limit: 20,
        ..SearchQuery::default()
    }
}

async fn search(gateway: &Gateway, call: &Arc<Call>, query: &SearchQuery) -> SearchPage {
    let page = gateway.search(call, query, None);
    tokio::time::timeout(SLOW_WAIT, page)
        .await
        .expect("no result in time")
        .unwrap()
}

/// Searches until every provider answers in time. On a busy machine, this may need several searches.
async fn complete_search(server: &TestServer, call: &Arc<Call>, query: &SearchQuery) -> SearchPage {
    let began = Instant::now();
    loop {
        let page = search(&server.gateway, call, query).await;
        if page.incomplete.is_empty() {
            return page;
        }
        assert!(
            began.elapsed() < SLOW_WAIT,
            "{:?} do not answer",
            page.incomplete
        );
        // A provider that was too slow several times is not called for a while.
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

fn uris(page: &SearchPage) -> Vec<String> {
    page.results
        .iter()
        .map(|found| found.entry.uri.to_string())
        .collect()
}

/// The URIs that an anonymous caller finds.
async fn found(server: &TestServer, query: &SearchQuery) -> Vec<String> {
    uris(&complete_search(server, &anonymous_call(), query).await)
}

fn call_by(subject: &str) -> Arc<Call> {
    let caller = anonymous_call().caller.clone().unwrap();
    Arc::new(Call::from_caller(Caller {
        subject: Some(subject.into()),
        ..caller
    }))
}

/// Adds guests `searchable` with these names, schemes and results.
fn searchable(guests: &[(&str, &str, &str)], others: &str) -> TestServerBuilder {
    let names: String = guests
        .iter()
        .map(|(name, ..)| format!("{name}@searchable "))
        .collect();
    let builder = TestServer::builder(&(names + others));
    guests
        .iter()
        .fold(builder, |builder, (name, scheme, hits)| {
            builder
                .setting(name, "scheme", scheme)
                .setting(name, "hits", hits)
        })
}

#[tokio::test]
async fn lists_are_ranked_by_the_places_of_the_words() {
    let server = TestServer::builder("echo many")
        .setting("many", "count", "3")
        .start()
        .await;
    assert_eq!(found(&server, &query("HELLO")).await, ["echo://hello"]);
    assert_eq!(
        found(&server, &query("echo hello")).await[0],
        "echo://hello",
        "it has both words"
    );
    assert_eq!(found(&server, &query("many")).await[0], "echo://many");
    assert_eq!(found(&server, &query("nothing-has-this")).await, [""; 0]);
    let prefix = SearchQuery {
        uri_prefix: Some("many:".into()),
        ..query("many")
    };
    assert_eq!(
        found(&server, &prefix).await,
        ["many://0", "many://1", "many://2"]
    );
    let kind = SearchQuery {
        kind: Some("file".into()),
        ..query("many")
    };
    assert_eq!(found(&server, &kind).await, [""; 0]);
}

#[tokio::test]
async fn results_are_merged_by_rank() {
    let server = searchable(
        &[("a", "aa", "aa:x aa:y"), ("b", "bb", "bb:x bb:y")],
        "echo",
    )
    .start()
    .await;
    let page = complete_search(&server, &anonymous_call(), &query("hello")).await;
    assert_eq!(
        uris(&page),
        ["aa:x", "bb:x", "echo://hello", "aa:y", "bb:y"]
    );
    assert!(page.next.is_none());
    assert!(page.results[0].excerpt.as_ref().unwrap().ends_with("hello"));
    assert_eq!(page.results[2].excerpt, None);
    // If a provider searched itself, its list is not ranked again.
    assert_eq!(
        found(&server, &query("listed one"))
            .await
            .iter()
            .filter(|uri| *uri == "aa:one")
            .count(),
        0
    );
}

#[tokio::test]
async fn pages_follow_each_other() {
    let hits: String = (0..30).map(|n| format!("aa:{n} ")).collect();
    let server = searchable(&[("a", "aa", &hits)], "").start().await;
    let (call, query) = (
        anonymous_call(),
        SearchQuery {
            limit: 13,
            ..query("x")
        },
    );
    let (mut all, mut cursor) = (Vec::new(), None);
    loop {
        let page = server
            .gateway
            .search(&call, &query, cursor.as_deref())
            .await
            .unwrap();
        assert!(page.results.len() <= 13);
        all.extend(uris(&page));
        match page.next {
            Some(next) => cursor = Some(next),
            None => break,
        }
    }
    assert_eq!(all, hits.split_whitespace().collect::<Vec<_>>());
    let cursor = server
        .gateway
        .search(&call, &query, None)
        .await
        .unwrap()
        .next;
    let other = SearchQuery {
        text: "y".into(),
        ..query
    };
    let other = server
        .gateway
        .search(&call, &other, cursor.as_deref())
        .await;
    assert!(matches!(other, Err(Error::FilterMismatch)), "{other:?}");
    for text in ["", " \n", &"x".repeat(2_000)] {
        let refused = SearchQuery {
            text: text.into(),
            ..SearchQuery::default()
        };
        let refused = server.gateway.search(&call, &refused, None).await;
        assert!(
            matches!(refused, Err(Error::InvalidArguments { .. })),
            "{refused:?}"
        );
    }
}

#[tokio::test]
async fn a_provider_that_hangs_delays_a_search_until_the_deadline_only() {
    let builder = searchable(
        &[("a", "aa", "aa:x"), ("b", "bb", "bb:x")],
        "echo p@personal",
    );
    let builder = ["a", "p"].into_iter().fold(builder, |builder, name| {
        let builder = builder.setting(name, "delay_ms", "3600000");
        builder.provider(name, |grant, _| grant.limits.timeout = HOUR)
    });
    let server = builder.start().await;
    // `search` fails if there is no result long before the providers answer.
    let page = search(&server.gateway, &call_by("ann"), &query("hello listed")).await;
    assert_eq!(page.incomplete, ["a", "p"]);
    // If a provider did not answer, its entries in the catalog are ranked.
    assert_eq!(uris(&page), ["bb:x", "aa:one", "aa:two", "echo://hello"]);
    assert!(
        server
            .gateway
            .read(
                &anonymous_call(),
                &crate::support::harness::parse_uri("aa:x"),
                None
            )
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn a_search_that_fails_repeatedly_is_not_called_for_a_while() {
    let server = searchable(&[("a", "aa", "aa:x")], "").start().await;
    for _ in 0..5 {
        let page = search(&server.gateway, &anonymous_call(), &query("fail")).await;
        assert_eq!(page.incomplete, ["a"]);
    }
    let provider = server.reader.snapshot().offers()[0].provider.clone();
    assert!(provider.circuits().search_open_for.is_some());
    let page = search(&server.gateway, &anonymous_call(), &query("x")).await;
    assert_eq!(
        (
            page.incomplete,
            provider.metrics().calls(Outcome::CircuitOpen)
        ),
        (vec!["a".to_owned()], 1)
    );
    assert!(server.read("aa:x").await.is_ok(), "reads are not affected");
}

#[tokio::test]
async fn a_provider_can_deny_a_search() {
    let server = searchable(&[("a", "aa", "aa:x")], "").start().await;
    let page = search(&server.gateway, &anonymous_call(), &query("nobody")).await;
    assert_eq!((uris(&page).len(), page.incomplete.len()), (0, 0));
}

#[tokio::test]
async fn hostile_results_are_omitted() {
    let foreign = "echo://hello bb:one bb:unlisted not-a-uri aa:own aa:own aa:#x \u{202e}aa:y";
    let builder = searchable(
        &[("a", "aa", foreign), ("b", "bb", "")],
        "echo h@hostile_interfaces",
    );
    let server = builder.start().await;
    assert_eq!(
        found(&server, &query("z")).await,
        ["aa:own"],
        "what others have is not theirs"
    );
    let excerpt = complete_search(&server, &anonymous_call(), &query("z"))
        .await
        .results[0]
        .excerpt
        .clone();
    assert!(excerpt.unwrap().len() < 100);
    for count in ["1000", "1000000"] {
        let builder =
            searchable(&[("a", "aa", ""), ("b", "bb", "bb:x")], "").setting("a", "count", count);
        let server = builder.start().await;
        let (call, query) = (
            anonymous_call(),
            SearchQuery {
                limit: 1_000,
                ..query("z")
            },
        );
        let page = match count {
            "1000" => complete_search(&server, &call, &query).await,
            _ => search(&server.gateway, &call, &query).await,
        };
        assert!(
            page.results.len() <= 100 && uris(&page).contains(&"bb:x".to_owned()),
            "{count}"
        );
        let is_known = page.incomplete.is_empty() || page.incomplete == ["a"];
        assert!(
            is_known && (count == "1000000" || page.results.len() == 100),
            "{count}: {:?}",
            page.incomplete
        );
    }
}

#[tokio::test]
async fn results_and_their_number_contain_only_what_the_caller_may_read() {
    let server = searchable(&[("a", "aa", "")], "personal").start().await;
    for (subject, own, other) in [
        ("ann", "personal://ann/a", "personal://bob/a"),
        ("bob", "personal://bob/a", "ann"),
    ] {
        let page = complete_search(&server, &call_by(subject), &query("personal")).await;
        let uris = uris(&page);
        assert!(
            uris.contains(&own.to_owned()) && !uris.iter().any(|uri| uri.contains(other)),
            "{uris:?}"
        );
        assert_eq!((uris.len(), page.next), (2, None));
    }
    assert_eq!(found(&server, &query("personal")).await, [""; 0]);
    let mine = complete_search(&server, &call_by("ann"), &query("mine")).await;
    assert_eq!(uris(&mine), ["aa:ann"], "the provider knows the caller");
}

#[tokio::test]
async fn results_of_other_teams_are_not_found() {
    let of_team = |team: &str, scheme: &str| {
        searchable(&[("a", scheme, &format!("{scheme}:x"))], "echo").team(team)
    };
    let (alpha, beta) = tokio::join!(
        of_team("alpha", "aa").start(),
        of_team("beta", "bb").start()
    );
    let gateway = shared_gateway(&[&alpha, &beta], 100);
    for (teams, expected) in [
        ("alpha", vec!["aa:x", "echo://hello"]),
        ("beta", vec!["bb:x", "echo://hello"]),
        ("alpha beta", vec!["aa:x", "bb:x", "echo://hello"]),
        ("gamma", vec![]),
    ] {
        let teams = Teams::of(teams.split(' ').map(|team| TeamName::parse(team).unwrap())).unwrap();
        let caller = Caller {
            subject: None,
            issuer: None,
            teams,
            scopes: vec![],
        };
        let page = search(
            &gateway,
            &Arc::new(Call::from_caller(caller)),
            &query("hello"),
        )
        .await;
        assert_eq!(uris(&page), expected);
    }
}

#[tokio::test]
async fn results_are_charged() {
    let quota = Quota {
        bytes: 100,
        ..Quota::default()
    };
    let server = searchable(&[("a", "aa", "aa:x aa:y aa:z")], "")
        .quota(quota)
        .start()
        .await;
    let call = anonymous_call();
    assert_eq!(
        search(&server.gateway, &call, &query("z"))
            .await
            .results
            .len(),
        3
    );
    assert_eq!(
        search(&server.gateway, &call, &query("z")).await.incomplete,
        ["a"],
        "the quota is used up"
    );
}
