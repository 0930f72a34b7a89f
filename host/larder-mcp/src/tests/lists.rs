//! Lists, their filters and their cursors.

use serde_json::{Value, json};

use super::endpoint::TestEndpoint;
use super::guests::{echo, full};
use crate::Duration;
use larder_core::test_team::template;
use larder_model::resource::{Freshness, Scope};
use larder_provider::fake::FakeContent;

const LIST: &str = "resources/list";
const TEMPLATES: &str = "resources/templates/list";

fn filtered(filter: &Value) -> Value {
    json!({"_meta": filter})
}

fn uris(result: &Value) -> Vec<&str> {
    let items = result["resources"].as_array().unwrap().iter();
    items.map(|item| item["uri"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn each_filter_field() {
    let http = TestEndpoint::serve([("full", full()), ("echo", echo())]).await;
    let session = http.session("2025-11-25").await;
    for filter in [
        json!({"dev.larder/uriPrefix": "full:"}),
        json!({"dev.larder/kind": "file"}),
        json!({"dev.larder/mimeType": "text/*", "dev.larder/uriPrefix": "full:"}),
        json!({"dev.larder/provider": "full"}),
        json!({"dev.larder/text": "THE FIRST"}),
        json!({"dev.larder/team": "default", "dev.larder/text": "one", "dev.larder/kind": "file"}),
    ] {
        let found = http.request(LIST, filtered(&filter)).await;
        assert_eq!(uris(&found), ["full://one"], "{filter}");
        let legacy = http.legacy(&session, LIST, filtered(&filter)).await.json();
        assert_eq!(uris(&legacy["result"]), ["full://one"], "{filter}");
    }
    let all = filtered(&json!({"dev.larder/team": "default"}));
    assert_eq!(uris(&http.request(LIST, all).await).len(), 5);
    for nothing in [
        json!({"dev.larder/team": "other"}),
        json!({"dev.larder/provider": "echo", "dev.larder/kind": "file"}),
        json!({"dev.larder/text": "nowhere"}),
        json!({"dev.larder/mimeType": "image/*"}),
    ] {
        let found = http.request(LIST, filtered(&nothing)).await;
        assert!(uris(&found).is_empty(), "{nothing}");
    }
}

#[tokio::test]
async fn filters_templates() {
    let books = FakeContent::default()
        .with_template(template("books://book/{n}"))
        .with_template(template("books://disc/{n}{?track}"));
    let http = TestEndpoint::serve([("books", books), ("echo", echo())]).await;
    let found = async |filter: Value| -> Vec<String> {
        let result = http.request(TEMPLATES, filtered(&filter)).await;
        let items = result["resourceTemplates"].as_array().unwrap().iter();
        items
            .map(|item| item["uriTemplate"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(
        found(json!({"dev.larder/provider": "books"})).await,
        ["books://book/{n}", "books://disc/{n}{?track}"]
    );
    assert_eq!(
        found(json!({"dev.larder/uriPrefix": "books://book/00"})).await,
        ["books://book/{n}"]
    );
    assert_eq!(
        found(json!({"dev.larder/text": "TRACK"})).await,
        ["books://disc/{n}{?track}"]
    );
}

#[tokio::test]
async fn rejects_an_unknown_filter_field() {
    let http = TestEndpoint::serve([("echo", echo())]).await;
    for method in [LIST, TEMPLATES] {
        let unknown = filtered(&json!({"dev.larder/colour": "red"}));
        let error = http.request(method, unknown).await;
        let message = error["message"].as_str().unwrap();
        assert_eq!(error["code"], -32602);
        assert!(message.contains("`dev.larder/colour`"), "{message}");
        assert!(message.contains("`dev.larder/uriPrefix`"), "{message}");
        let number = filtered(&json!({"dev.larder/kind": 1}));
        let answer = http.modern(method, number).await;
        assert!(
            answer.body.contains("`dev.larder/kind` must be a string"),
            "{}",
            answer.body
        );
        // Fields of other vendors are ignored.
        let others = filtered(&json!({"com.example/colour": "red"}));
        assert_eq!(http.modern(method, others).await.verdict(), "200 ok");
    }
}

#[tokio::test]
async fn a_cursor_contains_its_filter() {
    let discs = (0..30).fold(FakeContent::default(), |content, n| {
        let kind = if n % 2 == 0 { "book" } else { "disc" };
        content.with_text(&format!("shop://{kind}/{n:02}"), "")
    });
    let http = TestEndpoint::with_page_size([("shop", discs)], 10).await;
    let filter = json!({"dev.larder/uriPrefix": "shop://disc/"});
    let first = http.request(LIST, filtered(&filter)).await;
    assert_eq!(uris(&first).len(), 10);
    let from = |filter: Value| json!({"cursor": first["nextCursor"], "_meta": filter});
    let alone = http.request(LIST, from(json!({}))).await;
    let same = http.request(LIST, from(filter)).await;
    assert_eq!(uris(&alone).len(), 5);
    assert_eq!(uris(&alone), uris(&same));
    assert!(
        uris(&alone)
            .iter()
            .all(|uri| uri.starts_with("shop://disc/"))
    );
    let other = from(json!({"dev.larder/mimeType": "text/*"}));
    let other = http.modern(LIST, other).await;
    assert_eq!(other.verdict(), "200 -32602");
    assert!(other.body.contains("another filter"), "{}", other.body);
    let unfiltered = http.request(LIST, json!({})).await["nextCursor"].take();
    let late = json!({"cursor": unfiltered, "_meta": {"dev.larder/kind": "disc"}});
    assert_eq!(http.modern(LIST, late).await.verdict(), "200 -32602");
}

#[tokio::test(start_paused = true)]
async fn a_client_is_told_what_is_missing() {
    let slow = FakeContent::default()
        .with_list_freshness(Freshness {
            ttl: Duration::from_secs(60),
            scope: Scope::Caller,
        })
        .with_list_delay(Duration::from_secs(3_600));
    let providers = [("p00", slow.clone()), ("p01", slow), ("echo", echo())];
    let http = TestEndpoint::serve(providers).await;
    let list = http.request(LIST, json!({})).await;
    let incomplete = &list["_meta"]["dev.larder/incomplete"];
    assert_eq!(incomplete, &json!(["p00", "p01"]), "{list}");
    assert_eq!(list["ttlMs"], 0);
    assert_eq!(uris(&list).len(), 4);
    let templates = http.request(TEMPLATES, json!({})).await;
    let incomplete = templates["_meta"].get("dev.larder/incomplete");
    assert_eq!(incomplete, None, "{templates}");
}
