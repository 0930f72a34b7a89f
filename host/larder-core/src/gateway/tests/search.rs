//! Search in providers that search themselves, and in the lists of all other providers.

use super::personal::{broken, personal};
use super::*;
use larder_model::search::Hit;
use larder_provider::fake::FakeSearcher;

fn query(text: &str) -> SearchQuery {
    SearchQuery {
        text: text.into(),
        limit: 20,
        ..SearchQuery::default()
    }
}

async fn search(team: &TestTeam, call: &Arc<Call>, query: &SearchQuery) -> SearchPage {
    team.gateway.search(call, query, None).await.unwrap()
}

fn uris(page: &SearchPage) -> Vec<String> {
    let entries = page.results.iter().map(|found| &found.entry);
    entries.map(|entry| entry.uri.to_string()).collect()
}

/// The URIs that an anonymous caller finds.
async fn found(team: &TestTeam, query: &SearchQuery) -> Vec<String> {
    let page = search(team, &TestTeam::call(), query).await;
    assert!(page.incomplete.is_empty(), "{page:?}");
    uris(&page)
}

fn hit(uri: &str) -> Hit {
    Hit {
        entry: entry(uri),
        excerpt: Some(format!("about {uri}")),
    }
}

/// A provider that searches, with two listed resources and any number of others, whose URIs have this scheme.
fn searchable(scheme: &str, searcher: FakeSearcher) -> FakeContent {
    let listed = |name: &str| Entry {
        name: format!("listed {name}"),
        ..entry(&format!("{scheme}:{name}"))
    };
    FakeContent::default()
        .with_entry(listed("one"))
        .with_entry(listed("two"))
        .with_template(template(&format!("{scheme}:{{name}}")))
        .with_searcher(searcher)
}

fn listing(uris: &[&str]) -> FakeContent {
    let content = FakeContent::default();
    uris.iter()
        .fold(content, |content, uri| content.with_text(uri, "text"))
}

async fn serve<'a>(providers: impl IntoIterator<Item = (&'a str, FakeContent)>) -> TestTeam {
    let providers = providers.into_iter();
    let providers = providers.map(|(name, content)| content.provider(name, Grant::default()));
    TestTeam::new(providers, 100).await
}

#[tokio::test]
async fn lists_are_ranked_by_the_places_of_the_words() {
    let echo = listing(&["echo://blob", "echo://hello", "echo://many"]);
    let many = listing(&["many://0", "many://1", "many://2"]);
    let team = serve([("echo", echo), ("many", many)]).await;
    assert_eq!(found(&team, &query("HELLO")).await, ["echo://hello"]);
    assert_eq!(
        found(&team, &query("echo hello")).await[0],
        "echo://hello",
        "it has both words"
    );
    assert_eq!(found(&team, &query("many")).await[0], "echo://many");
    assert_eq!(found(&team, &query("nothing-has-this")).await, [""; 0]);
    let prefix = SearchQuery {
        uri_prefix: Some("many:".into()),
        ..query("many")
    };
    assert_eq!(
        found(&team, &prefix).await,
        ["many://0", "many://1", "many://2"]
    );
    let kind = SearchQuery {
        kind: Some("file".into()),
        ..query("many")
    };
    assert_eq!(found(&team, &kind).await, [""; 0]);
}

#[tokio::test]
async fn results_are_merged_by_rank() {
    let providers = [
        (
            "a",
            searchable("aa", |_, _| Ok(["aa:x", "aa:y"].map(hit).into())),
        ),
        (
            "b",
            searchable("bb", |_, _| Ok(["bb:x", "bb:y"].map(hit).into())),
        ),
        ("echo", listing(&["echo://hello"])),
    ];
    let team = serve(providers).await;
    let page = search(&team, &TestTeam::call(), &query("hello")).await;
    let merged = ["aa:x", "bb:x", "echo://hello", "aa:y", "bb:y"];
    assert_eq!(uris(&page), merged);
    assert!(page.next.is_none());
    assert_eq!(page.results[0].excerpt.as_deref(), Some("about aa:x"));
    assert_eq!(page.results[2].excerpt, None);
    // If a provider searched itself, its list is not ranked again.
    let again = found(&team, &query("listed one")).await;
    assert!(!again.contains(&"aa:one".to_owned()), "{again:?}");
}

#[tokio::test]
async fn a_provider_finds_only_its_own_resources() {
    let foreign: FakeSearcher = |_, _| {
        let uris = ["echo://hello", "bb:one", "bb:unlisted", "aa:own"];
        Ok(uris.map(hit).into())
    };
    let providers = [
        ("a", searchable("aa", foreign)),
        ("b", searchable("bb", |_, _| Ok(vec![]))),
        ("echo", listing(&["echo://hello"])),
    ];
    assert_eq!(
        found(&serve(providers).await, &query("z")).await,
        ["aa:own"]
    );
}

#[tokio::test]
async fn pages_follow_each_other() {
    let thirty: FakeSearcher = |_, _| Ok((0..30).map(|n| hit(&format!("aa:{n}"))).collect());
    let team = serve([("a", searchable("aa", thirty))]).await;
    let call = TestTeam::call();
    let query = SearchQuery {
        limit: 13,
        ..query("x")
    };
    let search = async |query: &SearchQuery, cursor: Option<&str>| {
        team.gateway.search(&call, query, cursor).await
    };
    let first = search(&query, None).await.unwrap().next;
    let mut all = Vec::new();
    let mut cursor = None;
    loop {
        let page = search(&query, cursor.as_deref()).await.unwrap();
        assert!(page.results.len() <= 13);
        all.extend(uris(&page));
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    let expected: Vec<_> = (0..30).map(|n| format!("aa:{n}")).collect();
    assert_eq!(all, expected);
    let other = SearchQuery {
        text: "y".into(),
        ..query
    };
    let other = search(&other, first.as_deref()).await;
    assert!(matches!(other, Err(Error::FilterMismatch)), "{other:?}");
    for text in ["", " \n", &"x".repeat(2_000)] {
        let refused = SearchQuery {
            text: text.into(),
            ..SearchQuery::default()
        };
        let refused = search(&refused, None).await;
        assert!(
            matches!(refused, Err(Error::InvalidArguments { .. })),
            "{refused:?}"
        );
    }
}

#[tokio::test]
async fn a_provider_can_fail_or_deny_a_search() {
    let denying = searchable("aa", |_, _| Err(CallError::Denied("not for you".into())));
    let failing = searchable("bb", |_, _| Err(CallError::Failed("no".into())));
    let providers = [("a", denying), ("b", failing), ("p", broken())];
    let team = serve(providers).await;
    let page = search(&team, &call_by("ann"), &query("nobody")).await;
    assert_eq!(uris(&page), [""; 0]);
    assert_eq!(page.incomplete, ["b", "p"]);
}

#[tokio::test]
async fn results_and_their_number_contain_only_what_the_caller_may_read() {
    let mine: FakeSearcher = |_, call| {
        let subject = subject(call).into_iter();
        Ok(subject
            .map(|subject| hit(&format!("aa:{subject}")))
            .collect())
    };
    let providers = [("a", searchable("aa", mine)), ("personal", personal())];
    let team = serve(providers).await;
    for subject in ["ann", "bob"] {
        let page = search(&team, &call_by(subject), &query("mine")).await;
        let mut own = uris(&page);
        own.sort();
        let [a, b] = ["a", "b"].map(|name| format!("mine:{subject}/{name}"));
        assert_eq!(own, [format!("aa:{subject}"), a, b]);
        assert_eq!(page.next, None);
    }
    assert_eq!(found(&team, &query("mine")).await, [""; 0]);
}
