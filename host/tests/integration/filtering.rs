//! Lists with a filter: which items, over how many pages, and what a cursor remembers of it.

use serde_json::{Value, json};

use crate::house::Plan;
use crate::wire::Wire;

const LIST: &str = "resources/list";
const TEMPLATES: &str = "resources/templates/list";

fn filtered(filter: &Value) -> Value {
    json!({ "_meta": filter })
}

fn items(result: &Value) -> Vec<String> {
    let items = result["resources"].as_array().or_else(|| result["resourceTemplates"].as_array()).unwrap();
    let name =
        |item: &Value| item["uri"].as_str().or_else(|| item["uriTemplate"].as_str()).unwrap().to_owned();
    items.iter().map(name).collect()
}

/// All pages: the filter is said once, and the cursor remembers it.
async fn walk(wire: &Wire, method: &str, filter: Value) -> Vec<Value> {
    let mut pages = Vec::new();
    let mut params = filtered(&filter);
    loop {
        let answer = wire.modern(method, params).await;
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

async fn found(wire: &Wire, filter: Value) -> Vec<String> {
    walk(wire, LIST, filter).await.iter().flat_map(items).collect()
}

/// How many there are, each of them once.
async fn count(wire: &Wire, filter: Value) -> usize {
    let mut found = found(wire, filter).await;
    let all = found.len();
    found.sort();
    found.dedup();
    assert_eq!(found.len(), all, "something is listed twice");
    all
}

#[tokio::test]
async fn every_word_of_a_filter() {
    let wire = Wire::of("full echo").await;
    let full = ["full://one"];
    for filter in [
        json!({ "dev.larder/uriPrefix": "full:" }),
        json!({ "dev.larder/kind": "file" }),
        json!({ "dev.larder/mimeType": "text/*" }),
        json!({ "dev.larder/provider": "full" }),
        json!({ "dev.larder/text": "THE FIRST" }),
        json!({ "dev.larder/team": "default", "dev.larder/text": "one", "dev.larder/kind": "file" }),
    ] {
        assert_eq!(found(&wire, filter.clone()).await, full, "{filter}");
        let session = wire.session("2025-11-25").await;
        let legacy = wire.legacy(&session, LIST, filtered(&filter)).await.json();
        assert_eq!(items(&legacy["result"]), full, "{filter}");
    }
    assert_eq!(found(&wire, json!({ "dev.larder/team": "default" })).await.len(), 5);
    for nothing in [
        json!({ "dev.larder/team": "other" }),
        json!({ "dev.larder/provider": "echo", "dev.larder/kind": "file" }),
        json!({ "dev.larder/text": "nowhere" }),
    ] {
        assert!(found(&wire, nothing.clone()).await.is_empty(), "{nothing}");
    }
}

#[tokio::test]
async fn templates_have_a_filter_too() {
    let wire = Wire::of("shelf echo").await;
    let found = async |filter: Value| -> Vec<String> {
        walk(&wire, TEMPLATES, filter).await.iter().flat_map(items).collect()
    };
    assert_eq!(
        found(json!({ "dev.larder/provider": "shelf" })).await,
        ["shelf://book/{n}", "shelf://disc/{n}{?track}"]
    );
    assert_eq!(found(json!({ "dev.larder/uriPrefix": "shelf://book/00" })).await, ["shelf://book/{n}"]);
    assert_eq!(found(json!({ "dev.larder/text": "TRACK" })).await, ["shelf://disc/{n}{?track}"]);
}

#[tokio::test]
async fn a_word_that_is_not_known_is_refused() {
    let wire = Wire::of("echo").await;
    for method in [LIST, TEMPLATES] {
        let answer = wire.modern(method, filtered(&json!({ "dev.larder/colour": "red" }))).await.json();
        let (code, message) = (&answer["error"]["code"], answer["error"]["message"].as_str().unwrap());
        assert_eq!(code, -32602);
        assert!(
            message.contains("`dev.larder/colour`") && message.contains("`dev.larder/uriPrefix`"),
            "{message}"
        );
        let answer = wire.modern(method, filtered(&json!({ "dev.larder/kind": 1 }))).await;
        assert!(answer.body.contains("`dev.larder/kind` must be a string"), "{}", answer.body);
        // What is not ours is somebody else's.
        let others = wire.modern(method, filtered(&json!({ "com.example/colour": "red" }))).await;
        assert_eq!(others.verdict(), "200 ok");
    }
}

#[tokio::test]
async fn a_cursor_keeps_its_filter() {
    let wire = Wire::open(Plan::of("shelf").page_size(10)).await;
    let filter = json!({ "dev.larder/mimeType": "image/png" });
    let first = wire.modern(LIST, filtered(&filter)).await.json()["result"].clone();
    assert_eq!(items(&first).len(), 10);
    let from = |filter: Value| json!({ "cursor": first["nextCursor"], "_meta": filter });
    let (alone, same) =
        (wire.modern(LIST, from(json!({}))).await.json(), wire.modern(LIST, from(filter)).await.json());
    assert_eq!(items(&alone["result"]), items(&same["result"]));
    assert!(items(&alone["result"]).iter().all(|uri| uri.starts_with("shelf://disc/")));
    let other = wire.modern(LIST, from(json!({ "dev.larder/mimeType": "text/*" }))).await;
    assert_eq!(other.verdict(), "200 -32602");
    assert!(other.body.contains("another filter"), "{}", other.body);
    let open = wire.modern(LIST, json!({})).await.json()["result"]["nextCursor"].clone();
    let late = json!({ "cursor": open, "_meta": { "dev.larder/kind": "disc" } });
    assert_eq!(wire.modern(LIST, late).await.verdict(), "200 -32602");
}

#[tokio::test]
async fn beyond_what_is_held_the_provider_narrows() {
    let wire = Wire::open(Plan::of("shelf").page_size(64)).await;
    let pages =
        walk(&wire, LIST, json!({ "dev.larder/kind": "map", "dev.larder/uriPrefix": "shelf:" })).await;
    let entries: Vec<_> =
        pages.iter().flat_map(|page| page["resources"].as_array().unwrap().clone()).collect();
    assert_eq!(entries.len(), 1_000);
    assert!(entries.iter().all(|entry| entry["title"] == "narrowed"), "the hints did not arrive");
    assert!(pages[..pages.len() - 1].iter().all(|page| items(page).len() == 64), "pages are full");
    assert_eq!(count(&wire, json!({ "dev.larder/kind": "map" })).await, 1_000);
    assert_eq!(count(&wire, json!({})).await, 3_000);
}

#[tokio::test]
async fn a_provider_that_pays_no_attention_is_filtered_all_the_same() {
    let wire = Wire::of("many").await;
    // 999, 9990 to 9999 and 99900 to 99999.
    assert_eq!(count(&wire, json!({ "dev.larder/uriPrefix": "many://999" })).await, 111);
}

#[tokio::test]
async fn a_page_does_not_look_for_ever() {
    let wire = Wire::of("shelf").await;
    let pages = walk(&wire, LIST, json!({ "dev.larder/text": "rare" })).await;
    assert!(pages.len() > 1, "all of a long list was looked at for one page");
    assert_eq!(
        pages.iter().flat_map(items).collect::<Vec<_>>(),
        ["shelf://disc/00007", "shelf://map/01007", "shelf://book/02007"].map(|uri| {
            // Kinds go round: 7 is the second, 1007 the third, 2007 the first.
            uri.to_owned()
        })
    );
}

#[tokio::test]
async fn long_titles_are_looked_at_too() {
    let wire = Wire::open(Plan::of("maze").setting("maze", "titles", "600")).await;
    let pages = walk(&wire, LIST, json!({ "dev.larder/text": "nowhere" })).await;
    assert!(pages.len() > 1, "9 MB of titles were looked at for one page");
    assert!(pages.iter().all(|page| items(page).is_empty()));
}

#[tokio::test]
async fn one_that_cannot_narrow_today_is_shown_as_it_is_held() {
    let wire = Wire::open(Plan::of("shelf").setting("shelf", "broken", "yes")).await;
    assert_eq!(count(&wire, json!({ "dev.larder/kind": "disc" })).await, 1_000);
    assert_eq!(count(&wire, json!({ "dev.larder/uriPrefix": "shelf://disc/0000" })).await, 3);
}
