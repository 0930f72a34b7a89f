//! Pages of lists are limited by their bytes, in both eras and for entries from all sources.

use serde_json::{Value, json};

use super::endpoint::{TestEndpoint, config};
use super::guests::echo;
use crate::{Config, Duration};
use larder_core::test_team::{self, template};
use larder_model::policy::Grant;
use larder_model::resource::{Entry, Freshness, Scope, Template};
use larder_provider::ListPage;
use larder_provider::fake::{FakeContent, entry};

/// The maximum size of a page, and of the rest of the response.
const MAX_BYTES: usize = (1 << 20) + 1024;

/// The method of a list, the name of its items, and what identifies an item.
type List = (&'static str, &'static str, &'static str);

const RESOURCES: List = ("resources/list", "resources", "uri");
const TEMPLATES: List = (
    "resources/templates/list",
    "resourceTemplates",
    "uriTemplate",
);

fn long_entry(number: usize) -> Entry {
    Entry {
        description: Some("x".repeat(16_000)),
        ..entry(&format!("long:{number:04}"))
    }
}

/// Lists 300 resources and templates. All descriptions are long, except those of the first resources.
fn long_descriptions(small: usize) -> FakeContent {
    (0..300).fold(FakeContent::default(), |content, number| {
        let long = long_entry(number);
        let entry = if number < small {
            entry(long.uri.as_str())
        } else {
            long.clone()
        };
        content.with_entry(entry).with_template(Template {
            description: long.description,
            ..template(&format!("long:{number:04}/{{x}}"))
        })
    })
}

async fn serve(long: FakeContent, catalog_entries: u32, page_size: u32) -> TestEndpoint {
    let mut grant = Grant::default();
    grant.limits.catalog_entries = catalog_entries;
    // The whole list fits into a response.
    let config = Config {
        waiting_bytes: 16 << 20,
        ..config()
    };
    let providers = [("a", echo()), ("long", long)];
    TestEndpoint::with_grant(providers, &grant, test_team::config(page_size), config).await
}

/// Requests all pages of a list. Checks that they have each item once. Returns the sizes of the responses.
async fn page_sizes(http: &TestEndpoint, era: &str, list: List) -> Vec<usize> {
    let (method, items, key) = list;
    let session = http.session("2025-11-25").await;
    let mut all = Vec::new();
    let mut sizes = Vec::new();
    let mut params = json!({});
    loop {
        let answer = match era {
            "modern" => http.modern(method, params).await,
            _ => http.legacy(&session, method, params).await,
        };
        let result = &answer.json()["result"];
        sizes.push(answer.body.len());
        let text = |item: &Value| item[key].as_str().unwrap().to_owned();
        all.extend(result[items].as_array().unwrap().iter().map(text));
        match result["nextCursor"].as_str() {
            Some(cursor) => params = json!({"cursor": cursor}),
            None => break,
        }
    }
    all.retain(|uri| uri.starts_with("long:"));
    let suffix = if list == RESOURCES { "" } else { "/{x}" };
    let expected: Vec<_> = (0..300).map(|n| format!("long:{n:04}{suffix}")).collect();
    assert_eq!(all, expected, "{era} {list:?}");
    sizes
}

#[tokio::test]
async fn a_page_has_at_most_a_mebibyte() {
    // The catalog holds the whole list, or its beginning. With a page size of 0, only the bytes count.
    for (catalog_entries, page_size) in [(1_000, 1_000), (1_000, 0), (100, 1_000)] {
        let http = serve(long_descriptions(0), catalog_entries, page_size).await;
        for era in ["modern", "legacy"] {
            for list in [RESOURCES, TEMPLATES] {
                let sizes = page_sizes(&http, era, list).await;
                assert!(
                    sizes.iter().all(|size| *size <= MAX_BYTES),
                    "{era} {list:?} {sizes:?}"
                );
                assert!(sizes.len() <= 7, "{era} {list:?} {sizes:?}");
            }
        }
    }
}

#[tokio::test]
async fn fewer_entries_are_requested_if_those_after_the_catalog_are_larger() {
    let http = serve(long_descriptions(150), 100, 1_000).await;
    let sizes = page_sizes(&http, "modern", RESOURCES).await;
    assert!(sizes.iter().all(|size| *size <= MAX_BYTES), "{sizes:?}");
}

#[tokio::test]
async fn a_provider_that_returns_too_much_is_listed_completely() {
    let greedy = FakeContent::default().with_lister(|_, _| {
        Ok(ListPage {
            items: (0..300).map(long_entry).collect(),
            freshness: Some(Freshness {
                ttl: Duration::ZERO,
                scope: Scope::Caller,
            }),
            ..ListPage::empty()
        })
    });
    let http = serve(greedy, 1_000, 1_000).await;
    let sizes = page_sizes(&http, "modern", RESOURCES).await;
    assert_eq!(
        sizes.len(),
        2,
        "the entries of others, then its whole list: {sizes:?}"
    );
}

#[tokio::test]
async fn a_thousand_resources_are_on_one_page() {
    let many = (0..1_100).fold(FakeContent::default(), |content, number| {
        content.with_text(&format!("many:{number:04}"), "")
    });
    let http = TestEndpoint::with_page_size([("many", many)], 1_000).await;
    let first = http.request("resources/list", json!({})).await;
    assert_eq!(first["resources"].as_array().unwrap().len(), 1_000);
    assert!(first["nextCursor"].is_string());
}
