//! Filtered lists: their items, their pages, and the filter of a cursor.

use serde_json::{Value, json};

use crate::support::harness::TestServer;
use crate::support::http_server::HttpTestServer;

const LIST: &str = "resources/list";

fn filtered(filter: &Value) -> Value {
    json!({ "_meta": filter })
}

fn items(result: &Value) -> Vec<String> {
    let items = result["resources"].as_array().unwrap();
    let name = |item: &Value| item["uri"].as_str().unwrap().to_owned();
    items.iter().map(name).collect()
}

/// Fetches all pages. Only the first request has the filter; the cursor contains it.
async fn all_pages(http: &HttpTestServer, method: &str, filter: Value) -> Vec<Value> {
    let mut pages = Vec::new();
    let mut params = filtered(&filter);
    loop {
        let answer = http.modern(method, params).await;
        let result = answer.json()["result"].clone();
        assert!(result.is_object(), "{}", answer.body);
        pages.push(result.clone());
        assert!(pages.len() < 500, "the list does not end");
        match result.get("nextCursor") {
            Some(next) => params = json!({ "cursor": next }),
            None => return pages,
        }
    }
}

async fn found(http: &HttpTestServer, filter: Value) -> Vec<String> {
    all_pages(http, LIST, filter)
        .await
        .iter()
        .flat_map(items)
        .collect()
}

/// Returns the number of entries. Checks that no entry is listed twice.
async fn count(http: &HttpTestServer, filter: Value) -> usize {
    let mut found = found(http, filter).await;
    let all = found.len();
    found.sort();
    found.dedup();
    assert_eq!(found.len(), all, "an entry is listed twice");
    all
}

#[tokio::test]
async fn beyond_the_stored_entries_the_provider_gets_filter_hints() {
    let http =
        HttpTestServer::from_builder(TestServer::builder("filter_hints").page_size(64)).await;
    let pages = all_pages(
        &http,
        LIST,
        json!({ "dev.larder/kind": "map", "dev.larder/uriPrefix": "filter-hints:" }),
    )
    .await;
    let entries: Vec<_> = pages
        .iter()
        .flat_map(|page| page["resources"].as_array().unwrap().clone())
        .collect();
    assert_eq!(entries.len(), 1_000);
    assert!(
        entries
            .iter()
            .all(|entry| entry["title"] == "filtered by hints"),
        "the provider did not get the hints"
    );
    assert!(
        pages[..pages.len() - 1]
            .iter()
            .all(|page| items(page).len() == 64),
        "a page is not full"
    );
    assert_eq!(
        count(&http, json!({ "dev.larder/kind": "map" })).await,
        1_000
    );
    assert_eq!(count(&http, json!({})).await, 3_000);
}

#[tokio::test]
async fn long_descriptions_count_as_bytes_and_as_work() {
    let http = HttpTestServer::from_builder(TestServer::builder("costly_templates").setting(
        "costly_templates",
        "long",
        "600",
    ))
    .await;
    let pages = all_pages(&http, LIST, json!({ "dev.larder/text": "nowhere" })).await;
    assert!(
        pages.len() > 1,
        "9 MB of descriptions were searched for one page"
    );
    assert!(pages.iter().all(|page| items(page).is_empty()));
    for page in all_pages(&http, LIST, json!({})).await {
        let bytes = page.to_string().len();
        assert!(bytes <= (1 << 20) + 1024, "a page has {bytes} bytes");
    }
}
