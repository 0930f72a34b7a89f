//! Pages of lists are limited by their bytes, in both eras and for entries from all sources.

use serde_json::{Value, json};

use crate::support::harness::{TestServer, TestServerBuilder};
use crate::support::http_server::HttpTestServer;

/// The maximum size of a page, and of the rest of the response.
const MAX_BYTES: usize = (1 << 20) + 1024;

const LISTS: [(&str, &str, &str); 2] = [
    ("resources/list", "resources", "uri"),
    (
        "resources/templates/list",
        "resourceTemplates",
        "uriTemplate",
    ),
];

async fn serve(settings: &[(&str, &str)], catalog_entries: u32, page_size: u32) -> HttpTestServer {
    let builder = TestServer::builder("a@echo long_descriptions").page_size(page_size);
    let set = |builder: TestServerBuilder, (name, value): &(&str, &str)| {
        builder.setting("long_descriptions", name, value)
    };
    let builder = settings.iter().fold(builder, set);
    let limited = |builder: TestServerBuilder| {
        builder.provider("long_descriptions", |grant, _| {
            grant.limits.catalog_entries = catalog_entries
        })
    };
    HttpTestServer::from_builder(limited(builder)).await
}

/// Requests all pages of a list. Returns the identifiers of its items, and the sizes of the responses.
async fn pages(
    http: &HttpTestServer,
    era: &str,
    list: (&str, &str, &str),
) -> (Vec<String>, Vec<usize>) {
    let (method, items, key) = list;
    let session = http.session("2025-11-25").await;
    let (mut all, mut sizes, mut params) = (Vec::new(), Vec::new(), json!({}));
    loop {
        let answer = match era {
            "modern" => http.modern(method, params.clone()).await,
            _ => http.legacy(&session, method, params.clone()).await,
        };
        let result = &answer.json()["result"];
        sizes.push(answer.body.len());
        let text = |item: &Value| item[key].as_str().unwrap().to_owned();
        all.extend(result[items].as_array().unwrap().iter().map(text));
        let Some(cursor) = result["nextCursor"].as_str() else {
            return (all, sizes);
        };
        params = json!({ "cursor": cursor });
    }
}

/// Checks that all pages together have each item once. Returns the sizes of the responses.
async fn check(http: &HttpTestServer, era: &str, list: (&str, &str, &str)) -> Vec<usize> {
    let (mut all, sizes) = pages(http, era, list).await;
    all.retain(|uri| uri.starts_with("long-descriptions:"));
    let suffix = if list.0 == "resources/list" {
        ""
    } else {
        "/{x}"
    };
    let expected: Vec<String> = (0..300)
        .map(|n| format!("long-descriptions://{n:04}{suffix}"))
        .collect();
    assert_eq!(all, expected, "{era} {list:?}");
    sizes
}

#[tokio::test]
async fn a_page_has_at_most_a_mebibyte() {
    // The catalog holds the whole list, or its beginning. With a page size of 0, only the bytes count.
    for (catalog_entries, page_size) in [(1_000, 1_000), (1_000, 0), (100, 1_000)] {
        let http = serve(&[], catalog_entries, page_size).await;
        for era in ["modern", "legacy"] {
            for list in LISTS {
                if catalog_entries == 100 && list.1 == "resourceTemplates" {
                    continue;
                }
                let sizes = check(&http, era, list).await;
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
    let http = serve(&[("small", "150")], 100, 1_000).await;
    let sizes = check(&http, "modern", LISTS[0]).await;
    assert!(sizes.iter().all(|size| *size <= MAX_BYTES), "{sizes:?}");
}

#[tokio::test]
async fn a_provider_that_returns_too_much_is_listed_completely() {
    let http = serve(&[("greedy", "true")], 1_000, 1_000).await;
    let sizes = check(&http, "modern", LISTS[0]).await;
    assert_eq!(
        sizes.len(),
        2,
        "the entries of others, then its whole list: {sizes:?}"
    );
}

#[tokio::test]
async fn a_thousand_resources_are_on_one_page() {
    let http = HttpTestServer::from_builder(TestServer::builder("many").page_size(1_000)).await;
    let first = http.modern("resources/list", json!({})).await.json();
    assert_eq!(
        first["result"]["resources"].as_array().unwrap().len(),
        1_000
    );
}
