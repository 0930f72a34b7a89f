//! Filtered lists: their items, their pages, and the filter of a cursor.

use serde_json::{Value, json};

use crate::support::harness::TestServer;
use crate::support::http_server::HttpTestServer;

const LIST: &str = "resources/list";
const TEMPLATES: &str = "resources/templates/list";

fn filtered(filter: &Value) -> Value {
    json!({ "_meta": filter })
}

fn items(result: &Value) -> Vec<String> {
    let items = result["resources"]
        .as_array()
        .or_else(|| result["resourceTemplates"].as_array())
        .unwrap();
    let name = |item: &Value| {
        item["uri"]
            .as_str()
            .or_else(|| item["uriTemplate"].as_str())
            .unwrap()
            .to_owned()
    };
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
async fn each_filter_field() {
    let http = HttpTestServer::start("full echo").await;
    let full = ["full://one"];
    for filter in [
        json!({ "dev.larder/uriPrefix": "full:" }),
        json!({ "dev.larder/kind": "file" }),
        json!({ "dev.larder/mimeType": "text/*" }),
        json!({ "dev.larder/provider": "full" }),
        json!({ "dev.larder/text": "THE FIRST" }),
        json!({ "dev.larder/team": "default", "dev.larder/text": "one", "dev.larder/kind": "file" }),
    ] {
        assert_eq!(found(&http, filter.clone()).await, full, "{filter}");
        let session = http.session("2025-11-25").await;
        let legacy = http.legacy(&session, LIST, filtered(&filter)).await.json();
        assert_eq!(items(&legacy["result"]), full, "{filter}");
    }
    assert_eq!(
        found(&http, json!({ "dev.larder/team": "default" }))
            .await
            .len(),
        5
    );
    for nothing in [
        json!({ "dev.larder/team": "other" }),
        json!({ "dev.larder/provider": "echo", "dev.larder/kind": "file" }),
        json!({ "dev.larder/text": "nowhere" }),
    ] {
        assert!(found(&http, nothing.clone()).await.is_empty(), "{nothing}");
    }
}

#[tokio::test]
async fn filters_templates() {
    let http = HttpTestServer::start("filter_hints echo").await;
    let found = async |filter: Value| -> Vec<String> {
        all_pages(&http, TEMPLATES, filter)
            .await
            .iter()
            .flat_map(items)
            .collect()
    };
    assert_eq!(
        found(json!({ "dev.larder/provider": "filter_hints" })).await,
        ["filter-hints://book/{n}", "filter-hints://disc/{n}{?track}"]
    );
    assert_eq!(
        found(json!({ "dev.larder/uriPrefix": "filter-hints://book/00" })).await,
        ["filter-hints://book/{n}"]
    );
    assert_eq!(
        found(json!({ "dev.larder/text": "TRACK" })).await,
        ["filter-hints://disc/{n}{?track}"]
    );
}

#[tokio::test]
async fn rejects_an_unknown_filter_field() {
    let http = HttpTestServer::start("echo").await;
    for method in [LIST, TEMPLATES] {
        let answer = http
            .modern(method, filtered(&json!({ "dev.larder/colour": "red" })))
            .await
            .json();
        let (code, message) = (
            &answer["error"]["code"],
            answer["error"]["message"].as_str().unwrap(),
        );
        assert_eq!(code, -32602);
        assert!(
            message.contains("`dev.larder/colour`") && message.contains("`dev.larder/uriPrefix`"),
            "{message}"
        );
        let answer = http
            .modern(method, filtered(&json!({ "dev.larder/kind": 1 })))
            .await;
        assert!(
            answer.body.contains("`dev.larder/kind` must be a string"),
            "{}",
            answer.body
        );
        // Fields of other vendors are ignored.
        let others = http
            .modern(method, filtered(&json!({ "com.example/colour": "red" })))
            .await;
        assert_eq!(others.verdict(), "200 ok");
    }
}

#[tokio::test]
async fn a_cursor_contains_its_filter() {
    let http =
        HttpTestServer::from_builder(TestServer::builder("filter_hints").page_size(10)).await;
    let filter = json!({ "dev.larder/mimeType": "image/png" });
    let first = http.modern(LIST, filtered(&filter)).await.json()["result"].clone();
    assert_eq!(items(&first).len(), 10);
    let from = |filter: Value| json!({ "cursor": first["nextCursor"], "_meta": filter });
    let (alone, same) = (
        http.modern(LIST, from(json!({}))).await.json(),
        http.modern(LIST, from(filter)).await.json(),
    );
    assert_eq!(items(&alone["result"]), items(&same["result"]));
    assert!(
        items(&alone["result"])
            .iter()
            .all(|uri| uri.starts_with("filter-hints://disc/"))
    );
    let other = http
        .modern(LIST, from(json!({ "dev.larder/mimeType": "text/*" })))
        .await;
    assert_eq!(other.verdict(), "200 -32602");
    assert!(other.body.contains("another filter"), "{}", other.body);
    let unfiltered = http.modern(LIST, json!({})).await.json()["result"]["nextCursor"].clone();
    let late = json!({ "cursor": unfiltered, "_meta": { "dev.larder/kind": "disc" } });
    assert_eq!(http.modern(LIST, late).await.verdict(), "200 -32602");
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
async fn entries_of_a_provider_that_ignores_hints_are_filtered() {
    let http = HttpTestServer::start("many").await;
    // 999, 9990 to 9999 and 99900 to 99999.
    assert_eq!(
        count(&http, json!({ "dev.larder/uriPrefix": "many://999" })).await,
        111
    );
}

#[tokio::test]
async fn the_work_for_one_page_is_bounded() {
    let http = HttpTestServer::start("filter_hints").await;
    let pages = all_pages(&http, LIST, json!({ "dev.larder/text": "rare" })).await;
    assert!(
        pages.len() > 1,
        "all of a long list was searched for one page"
    );
    assert_eq!(
        pages.iter().flat_map(items).collect::<Vec<_>>(),
        [
            "filter-hints://disc/00007",
            "filter-hints://map/01007",
            "filter-hints://book/02007"
        ]
        .map(|uri| {
            // The kinds alternate: 7 is of the second kind, 1007 of the third, 2007 of the first.
            uri.to_owned()
        })
    );
}

#[tokio::test]
async fn long_descriptions_count_as_work() {
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
}

#[tokio::test]
async fn the_stored_entries_are_filtered_if_the_provider_fails_with_hints() {
    let http = HttpTestServer::from_builder(TestServer::builder("filter_hints").setting(
        "filter_hints",
        "broken",
        "yes",
    ))
    .await;
    assert_eq!(
        count(&http, json!({ "dev.larder/kind": "disc" })).await,
        1_000
    );
    assert_eq!(
        count(
            &http,
            json!({ "dev.larder/uriPrefix": "filter-hints://disc/0000" })
        )
        .await,
        3
    );
}
