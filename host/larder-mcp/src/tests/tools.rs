//! Lists of tools.

use serde_json::{Value, json};

use super::endpoint::TestEndpoint;
use larder_provider::fake::FakeContent;

const LIST: &str = "tools/list";
const SCHEMA: &str = r#"{"type": "object"}"#;

pub(super) fn names(list: &Value) -> Vec<&str> {
    let tools = list["tools"].as_array().unwrap_or_else(|| panic!("{list}"));
    tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect()
}

/// A provider with tools of these names.
pub(super) fn with_tools(names: &[&str]) -> FakeContent {
    names.iter().fold(FakeContent::default(), |content, name| {
        content.with_tool(name, SCHEMA)
    })
}

#[tokio::test]
async fn the_first_of_two_tools_with_one_name_is_served() {
    let double = || with_tools(&["double"]);
    let http = TestEndpoint::serve([("a", double()), ("b", double())]).await;
    assert_eq!(names(&http.request(LIST, json!({})).await), ["double"]);
    assert_eq!(
        http.team.collisions(),
        ["`tool double` is offered by both `a` and `b`; it is served from `a`"]
    );
}

#[tokio::test]
async fn a_page_has_at_most_a_mebibyte() {
    let long = json!({"type": "object", "description": "x".repeat(16_000)}).to_string();
    let content = (0..101).fold(FakeContent::default(), |content, number| {
        content.with_tool(&format!("tool_{number:03}"), &long)
    });
    let http = TestEndpoint::serve([("long", content)]).await;
    let first = http.modern(LIST, json!({})).await;
    let bytes = first.body.len();
    assert!(bytes < (1 << 20) + (32 << 10), "{bytes}");
    let first = &first.json()["result"];
    let second = json!({"cursor": first["nextCursor"]});
    let second = http.request(LIST, second).await;
    assert_eq!(names(first).len() + names(&second).len(), 101);
    assert_eq!(second.get("nextCursor"), None);
}

#[tokio::test]
async fn pages_follow_each_other() {
    let all = ["append", "ask", "change", "everything", "tell"];
    let http = TestEndpoint::new(with_tools(&all)).await;
    let mut listed = Vec::new();
    let mut params = json!({});
    loop {
        let page = http.request(LIST, params).await;
        let names = names(&page);
        assert!(names.len() <= 2, "{page}");
        listed.extend(names.into_iter().map(ToOwned::to_owned));
        match page["nextCursor"].as_str() {
            Some(cursor) => params = json!({"cursor": cursor}),
            None => break,
        }
    }
    assert_eq!(listed, all);
    for cursor in ["x", "eyJrIjoiciJ9"] {
        let refused = http.request(LIST, json!({"cursor": cursor})).await;
        assert_eq!(refused["code"], -32602, "{refused}");
    }
}
