//! Pages of lists over several providers, their cursors, and providers that respond late or never.

use std::time::Duration;

use tokio::time::Instant;

use super::*;
use larder_model::name::TeamName;
use larder_model::resource::{Call, Caller, Entry, Freshness, Page, Scope};
use larder_provider::Provider;

const HOUR: Duration = Duration::from_secs(3_600);

/// A provider whose lists depend on the caller and take this long. It lists these resources.
fn slow(name: &str, delay: Duration, uris: &[&str]) -> Arc<dyn Provider> {
    let content = listing(uris)
        .with_list_freshness(Freshness {
            ttl: Duration::from_secs(60),
            scope: Scope::Caller,
        })
        .with_list_delay(delay);
    content.provider(name, Grant::default())
}

fn listing(uris: &[&str]) -> FakeContent {
    let content = FakeContent::default();
    uris.iter()
        .fold(content, |content, uri| content.with_text(uri, "text"))
}

/// A provider that lists this number of resources, whose URIs have this scheme.
fn many(scheme: &str, count: usize) -> FakeContent {
    (0..count).fold(FakeContent::default(), |content, number| {
        content.with_text(&format!("{scheme}:{number:06}"), "text")
    })
}

async fn page(team: &TestTeam, cursor: Option<&str>) -> Page<Arc<Entry>> {
    let call = TestTeam::call();
    let filter = Filter::default();
    team.gateway.list(&call, cursor, &filter).await.unwrap()
}

/// The items of all pages, and the providers that were missing.
#[derive(Default)]
struct AllPages {
    uris: Vec<String>,
    incomplete: Vec<String>,
    count: usize,
}

async fn all(team: &TestTeam) -> AllPages {
    let mut all = AllPages::default();
    let mut cursor = None;
    loop {
        let page = page(team, cursor.as_deref()).await;
        let uris = page.items.iter().map(|entry| entry.uri.to_string());
        all.uris.extend(uris);
        all.incomplete.extend(page.incomplete);
        all.count += 1;
        match page.next {
            Some(next) => assert_ne!(cursor.replace(next), cursor, "the cursor does not change"),
            None => return all,
        }
    }
}

#[tokio::test]
async fn pages_contain_each_entry_once() {
    let mut first = None;
    for page_size in [1, 2, 3, 7, 1_000, 0] {
        let providers = [
            many("a", 4).provider("a", Grant::default()),
            many("b", 1).provider("b", Grant::default()),
            many("c", 10).provider("c", Grant::default()),
            many("d", 0).provider("empty", Grant::default()),
        ];
        let all = all(&TestTeam::new(providers, page_size).await).await;
        let mut unique = all.uris.clone();
        unique.sort();
        unique.dedup();
        assert_eq!(unique.len(), 4 + 1 + 10, "{:?}", all.uris);
        assert_eq!(unique.len(), all.uris.len(), "{:?}", all.uris);
        assert_eq!(*first.get_or_insert(all.uris.clone()), all.uris);
    }
}

#[tokio::test]
async fn an_entry_of_two_providers_is_listed_once() {
    let providers = [
        listing(&["x:1"]).provider("a", Grant::default()),
        listing(&["x:1", "x:2"]).provider("b", Grant::default()),
    ];
    let all = all(&TestTeam::new(providers, 100).await).await;
    assert_eq!(all.uris, ["x:1", "x:2"]);
}

#[tokio::test]
async fn only_the_first_part_of_a_long_list_is_stored() {
    let content = many("a", 5_000);
    let team = TestTeam::new([content.provider("a", Grant::default())], 1_000).await;
    assert_eq!(team.reader.snapshot().offers()[0].entries.len(), 1_000);
    let all = all(&team).await;
    let numbers = all.uris.iter().map(|uri| uri[2..].parse::<u32>().unwrap());
    assert!(numbers.eq(0..5_000));
}

#[tokio::test]
async fn a_cursor_is_valid_after_its_provider_was_removed() {
    let kept = many("b", 4).provider("b", Grant::default());
    let providers = [many("a", 10).provider("a", Grant::default()), kept.clone()];
    let mut team = TestTeam::new(providers, 5).await;
    let cursor = page(&team, None).await.next.unwrap();
    team.serve([kept]).await;
    let page = page(&team, Some(&cursor)).await;
    assert_eq!(page.items.len(), 4);
    assert!(page.next.is_none());
}

#[tokio::test]
async fn rejects_an_invalid_cursor() {
    let content = many("a", 10);
    let team = TestTeam::new([content.provider("a", Grant::default())], 5).await;
    let first = page(&team, None).await.next.unwrap();
    let call = TestTeam::call();
    let filter = Filter::default();
    let templates = team.gateway.templates(&call, Some(&first), &filter).await;
    assert!(
        matches!(templates, Err(Error::BadCursor)),
        "a cursor of another list"
    );
    for cursor in ["", "1", "bm90IG91cnM", &first[1..]] {
        let page = team.gateway.list(&call, Some(cursor), &filter).await;
        assert!(matches!(page, Err(Error::BadCursor)), "{cursor}");
    }
}

#[tokio::test]
async fn a_caller_of_another_team_sees_nothing() {
    let content = listing(&["x:a"]);
    let team = team(&content).await;
    let stranger = Arc::new(Call::from_caller(Caller {
        teams: TeamName::parse("other").unwrap().into(),
        ..TestTeam::caller()
    }));
    let filter = Filter::default();
    let list = team.gateway.list(&stranger, None, &filter).await.unwrap();
    assert!(list.items.is_empty());
    let templates = team.gateway.templates(&stranger, None, &filter).await;
    assert!(templates.unwrap().items.is_empty());
    let read = team.gateway.read(&stranger, &uri("x:a"), None).await;
    assert!(matches!(read, Err(Error::NotFound { .. })));
    assert!(!team.gateway.is_readable(&stranger, &uri("x:a")).await);
    assert_eq!(content.calls(), ["probe"]);
}

#[tokio::test(start_paused = true)]
async fn lists_that_hang_are_skipped_together() {
    let names: Vec<_> = (0..8).map(|number| format!("p{number:02}")).collect();
    let hanging = names.iter().map(|name| slow(name, HOUR, &[]));
    let stored = listing(&["x:1", "x:2"]).provider("z", Grant::default());
    let team = TestTeam::new(hanging.chain([stored]), 100).await;
    let began = Instant::now();
    let page = page(&team, None).await;
    assert_eq!(began.elapsed().as_secs(), 1);
    assert_eq!((page.items.len(), page.next), (2, None));
    assert_eq!(page.incomplete, names);
    assert_eq!(page.freshness.ttl, Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn slow_lists_keep_their_order() {
    for page_size in [100, 3] {
        // Later providers respond earlier.
        let providers = [
            slow("a", Duration::from_millis(80), &["a:1", "a:2"]),
            slow("b", Duration::from_millis(40), &["b:1", "b:2"]),
            slow("c", Duration::from_millis(20), &["c:1", "c:2"]),
        ];
        let all = all(&TestTeam::new(providers, page_size).await).await;
        let expected = ["a:1", "a:2", "b:1", "b:2", "c:1", "c:2"];
        assert_eq!(all.uris, expected, "{page_size}");
        assert!(all.incomplete.is_empty(), "{page_size}");
    }
}

/// More providers than are called at the same time. They are too slow for two rounds in one page.
#[tokio::test(start_paused = true)]
async fn a_page_that_runs_out_of_time_continues_on_the_next_one() {
    let uris: Vec<_> = (0..20).map(|number| format!("x{number:02}:a")).collect();
    let delay = Duration::from_millis(550);
    let providers = uris.iter().map(|uri| slow(&uri[..3], delay, &[uri]));
    let all = all(&TestTeam::new(providers, 100).await).await;
    assert_eq!(all.uris, uris);
    assert!(all.incomplete.is_empty(), "{:?}", all.incomplete);
    assert_eq!(all.count, 2);
}

/// The rest of a list takes longer than the providers of one page together may take.
#[tokio::test(start_paused = true)]
async fn the_rest_of_a_slow_list_is_not_lost() {
    for page_size in [500, 1500] {
        let content = many("x", 2_500).with_list_delay(Duration::from_millis(1_200));
        let providers = [content.provider("x", Grant::default())];
        let all = all(&TestTeam::new(providers, page_size).await).await;
        assert_eq!(all.uris.len(), 2_500, "{page_size}");
        assert!(all.incomplete.is_empty(), "{page_size}");
    }
}
