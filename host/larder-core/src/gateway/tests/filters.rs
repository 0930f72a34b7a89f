//! Filtered lists that are longer than the part in the catalog.

use super::*;
use larder_model::resource::Details;
use larder_provider::{ListPage, ListQuery};

const KINDS: [&str; 3] = ["book", "disc", "map"];

/// Three thousand resources of three kinds. A few have a description.
fn shop() -> FakeContent {
    (0..3_000).fold(FakeContent::default(), |content, number| {
        let kind = KINDS[number % 3];
        content.with_entry(Entry {
            description: (number % 1_000 == 7).then(|| "A Rare one".to_owned()),
            details: Details {
                kind: Some(kind.to_owned()),
                ..Details::default()
            },
            ..entry(&format!("shop://{kind}/{number:05}"))
        })
    })
}

/// The URIs of each page.
async fn pages(content: FakeContent, filter: &Filter) -> Vec<Vec<String>> {
    let team = TestTeam::new([content.provider("wiki", Grant::default())], 100).await;
    let call = TestTeam::call();
    let mut pages = Vec::new();
    let mut cursor = None;
    loop {
        let page = team.gateway.list(&call, cursor.as_deref(), filter).await;
        let page = page.unwrap();
        let uris = page.items.iter().map(|entry| entry.uri.to_string());
        pages.push(uris.collect());
        match page.next {
            Some(next) => assert_ne!(cursor.replace(next), cursor, "the cursor does not change"),
            None => return pages,
        }
    }
}

/// The number of entries on all pages. Checks that no entry is listed twice.
async fn count(content: FakeContent, filter: &Filter) -> usize {
    let mut uris = pages(content, filter).await.concat();
    let count = uris.len();
    uris.sort();
    uris.dedup();
    assert_eq!(uris.len(), count, "an entry is listed twice");
    count
}

fn with_prefix(prefix: &str) -> Filter {
    Filter {
        uri_prefix: Some(prefix.into()),
        ..Filter::default()
    }
}

fn with_text(text: &str) -> Filter {
    Filter {
        text: Some(text.into()),
        ..Filter::default()
    }
}

#[tokio::test]
async fn entries_of_a_provider_that_ignores_hints_are_filtered() {
    assert_eq!(count(shop(), &with_prefix("shop://disc/029")).await, 33);
    assert_eq!(count(shop(), &Filter::default()).await, 3_000);
}

#[tokio::test]
async fn the_work_for_one_page_is_bounded() {
    let pages = pages(shop(), &with_text("rare")).await;
    assert!(
        pages.len() > 1,
        "all of a long list was searched for one page"
    );
    let rare = ["shop://book/02007", "shop://disc/00007", "shop://map/01007"];
    assert_eq!(pages.concat(), rare);
}

#[tokio::test]
async fn long_descriptions_count_as_work() {
    let long = (0..600).fold(FakeContent::default(), |content, number| {
        content.with_entry(Entry {
            description: Some("long ".repeat(3_000)),
            ..entry(&format!("long:{number}"))
        })
    });
    let pages = pages(long, &with_text("nowhere")).await;
    assert!(
        pages.len() > 1,
        "9 MB of descriptions were searched for one page"
    );
    assert!(pages.concat().is_empty());
}

/// A provider that cannot be listed with hints.
fn list_without_hints(query: &ListQuery, _: &Call) -> Result<ListPage<Entry>, CallError> {
    if query.uri_prefix.is_some() || query.kind.is_some() {
        return Err(CallError::Unavailable("no hints".into()));
    }
    let start: u32 = query
        .cursor
        .as_ref()
        .map_or(0, |start| start.parse().unwrap());
    let end = 3_000.min(start + query.limit);
    let item = |number: u32| Entry {
        details: Details {
            kind: Some(KINDS[number as usize % 3].to_owned()),
            ..Details::default()
        },
        ..entry(&format!("shop:{number:05}"))
    };
    Ok(ListPage {
        items: (start..end).map(item).collect(),
        next: (end < 3_000).then(|| end.to_string()),
        freshness: Some(Freshness {
            ttl: std::time::Duration::from_secs(60),
            scope: Scope::Everyone,
        }),
        ..ListPage::empty()
    })
}

#[tokio::test]
async fn the_stored_entries_are_filtered_if_the_provider_fails_with_hints() {
    let content = FakeContent::default().with_lister(list_without_hints);
    let discs = Filter {
        kind: Some("disc".into()),
        ..Filter::default()
    };
    assert_eq!(count(content.clone(), &discs).await, 1_000);
    let few = Filter {
        uri_prefix: Some("shop:0000".into()),
        ..discs
    };
    assert_eq!(count(content, &few).await, 3);
}
