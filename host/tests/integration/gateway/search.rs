//! Search in everything that a caller may read: providers that search themselves, and the lists of all other providers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use larder_core::gateway::{Gateway, SearchPage};
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
async fn hostile_results_are_omitted() {
    let foreign = "echo://hello bb:one bb:unlisted not-a-uri aa:own aa:own aa:#x \u{202e}aa:y";
    let builder = searchable(
        &[("a", "aa", foreign), ("b", "bb", "")],
        "echo h@hostile_interfaces",
    );
    let server = builder.start().await;
    let page = complete_search(&server, &anonymous_call(), &query("z")).await;
    assert_eq!(uris(&page), ["aa:own"], "what others have is not theirs");
    let excerpt = page.results[0].excerpt.clone();
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
