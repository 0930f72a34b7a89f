//! Search in lists: in the configuration of the README, and in lists of which one fails.

use std::time::Duration;

use larder_provider::http::{self, Response};
use larder_provider::{Error, Provider as _, Query, SearchQuery, set_setting, set_time_left};
use serde_json::{Value, json};

use crate::Api;

/// The resources in the README.
const SHOP: &str = r#"[
    { "uri": "shop://status", "path": "status" },
    { "uri": "shop://orders/{id}", "path": "orders/{id}", "description": "An order.",
      "list": { "path": "orders", "items": "/data", "variables": { "id": "/number" }, "title": "/customer/name",
                "paging": { "cursor": { "parameter": "after", "next": "/next" } } } }
]"#;
/// Two lists, of which the first has a search of the API.
const TWO: &str = r#"[
    { "uri": "a:{id}", "path": "a/{id}", "list": { "path": "a", "variables": { "id": "/id" } },
      "search": { "path": "find", "parameter": "q", "variables": { "id": "/id" } } },
    { "uri": "b:{id}", "path": "b/{id}", "list": { "path": "b", "variables": { "id": "/id" } } },
    { "uri": "c:one", "path": "one", "title": "Only one" }
]"#;

fn api(resources: &str, respond: impl Fn(&str) -> (u16, Value) + 'static) -> Api {
    set_setting("base_url", "https://api.example/v1");
    set_setting("resources", resources);
    http::set_responder(move |request| {
        let url = request
            .url
            .strip_prefix("https://api.example/v1/")
            .expect("a URL of the API");
        let (status, body) = respond(url);
        Ok(Response {
            status,
            headers: Vec::new(),
            body: body.to_string().into_bytes(),
        })
    });
    Api::new().expect("valid settings")
}

/// 250 orders in pages of 10.
fn orders(url: &str) -> (u16, Value) {
    let first: usize = match url.split_once("orders?after=") {
        Some((_, after)) => after.parse().expect("a number"),
        None if url == "orders" => 0,
        None => return (404, json!(null)),
    };
    let order = |number| json!({ "number": format!("o{number}"), "customer": { "name": format!("Cust {number}") } });
    let data: Vec<Value> = (first..first + 10).map(order).collect();
    let next = if first + 10 < 250 {
        json!(first + 10)
    } else {
        json!(null)
    };
    (200, json!({ "data": data, "next": next }))
}

fn search(api: &Api, text: &str) -> Vec<String> {
    let hits = api.search(&SearchQuery::new(text, 300)).expect("hits").hits;
    hits.into_iter().map(|hit| hit.entry.uri).collect()
}

#[test]
fn all_pages_of_a_list_are_searched_beside_a_single_resource() {
    let api = api(SHOP, orders);
    // A search has less time than one request may take.
    set_time_left(Duration::from_millis(900));
    assert_eq!(
        search(&api, "cust 77"),
        ["shop://orders/o77", "shop://orders/o177"]
    );
    assert_eq!(search(&api, "o77"), ["shop://orders/o77"]);
    assert_eq!(search(&api, "Cust 249"), ["shop://orders/o249"]);
    assert_eq!(search(&api, "order").len(), 250);
    assert_eq!(search(&api, "status"), ["shop://status"]);
    assert_eq!(search(&api, "nothing"), [""; 0]);
}

#[test]
fn a_search_keeps_what_was_found_when_its_time_is_over() {
    let api = api(SHOP, |url| {
        std::thread::sleep(Duration::from_millis(20));
        orders(url)
    });
    set_time_left(Duration::from_millis(200));
    let hits = api
        .search(&SearchQuery::new("cust", 300))
        .expect("hits")
        .hits;
    assert!((1..240).contains(&hits.len()), "{}", hits.len());
    let metadata = &hits
        .last()
        .unwrap()
        .entry
        .details
        .as_ref()
        .unwrap()
        .metadata;
    assert!(
        metadata
            .iter()
            .any(|(key, _)| key == "dev.larder.search/incomplete"),
        "{metadata:?}"
    );
    set_time_left(Duration::from_millis(100));
    let error = api.search(&SearchQuery::new("249", 300)).unwrap_err();
    assert!(matches!(error, Error::Unavailable(_)), "{error}");
}

#[test]
fn each_list_is_searched_in_its_own_way() {
    let api = api(TWO, |url| match url {
        "find?q=one" => (200, json!([{ "id": "seventeen" }])),
        "a" => (200, json!([{ "id": "one-of-a" }])),
        "b" => (200, json!([{ "id": "one-of-b" }, { "id": "two" }])),
        _ => (404, json!(null)),
    });
    let mut found = search(&api, "one");
    found.sort();
    assert_eq!(found, ["a:seventeen", "b:one-of-b", "c:one"]);
}

#[test]
fn a_list_that_fails_takes_away_only_itself() {
    for status in [404, 500, 503] {
        let api = api(TWO, move |url| match url {
            "b" => (200, json!([{ "id": "two" }])),
            _ => (status, json!(null)),
        });
        let page = api.list(&Query::new(9)).expect("a page");
        let uris: Vec<_> = page.entries.into_iter().map(|entry| entry.uri).collect();
        assert_eq!(
            (uris.as_slice(), page.next_cursor),
            (["c:one".to_owned(), "b:two".to_owned()].as_slice(), None)
        );
        assert_eq!(search(&api, "two"), ["b:two"]);
    }
    let nothing = r#"[{ "uri": "a:{id}", "path": "a/{id}", "list": { "path": "a", "variables": { "id": "/id" } } }]"#;
    assert!(
        api(nothing, |_| (500, json!(null)))
            .list(&Query::new(9))
            .is_err()
    );
}
