//! The server's own tools, which read resources for clients that support only tools.

use larder_json_schema::{Effort, JsonSchema};
use serde_json::{Value, json};

use super::endpoint::{TestEndpoint, TestResponse};
use super::guests::{echo, full};
use super::tools::{names, with_tools};
use crate::Duration;
use larder_core::catalog::Collision;
use larder_core::test_team::template;
use larder_model::name::Digest;
use larder_model::resource::{Entry, Freshness, Scope};
use larder_model::search::Hit;
use larder_provider::fake::{FakeContent, entry};
use larder_provider::{CallError, ListPage};

/// The names of the tools, in their order.
const NAMES: [&str; 6] = [
    "list_resources",
    "list_resource_templates",
    "read_resource",
    "search_resources",
    "search",
    "fetch",
];

/// An endpoint that offers the tools.
async fn serve<'a>(providers: impl IntoIterator<Item = (&'a str, FakeContent)>) -> TestEndpoint {
    let mut http = TestEndpoint::serve(providers).await;
    http.team.offer_resource_tools();
    http
}

async fn serve_echo() -> TestEndpoint {
    serve([("echo", echo())]).await
}

async fn call(http: &TestEndpoint, name: &str, arguments: &Value) -> TestResponse {
    let params = json!({"name": name, "arguments": arguments});
    http.modern("tools/call", params).await
}

async fn result(http: &TestEndpoint, name: &str, arguments: Value) -> Value {
    call(http, name, &arguments).await.json()["result"].take()
}

/// The structured result of a call. Checks that the text has the same JSON.
async fn structured(http: &TestEndpoint, name: &str, arguments: Value) -> Value {
    let mut result = result(http, name, arguments).await;
    let text = result["content"][0]["text"].as_str();
    let text: Value = serde_json::from_str(text.unwrap()).unwrap();
    assert_eq!(text, result["structuredContent"], "{result}");
    assert_eq!(result["content"].as_array().unwrap().len(), 1, "{result}");
    result["structuredContent"].take()
}

/// The text of a failed call for the model.
async fn failure(http: &TestEndpoint, name: &str, arguments: Value) -> String {
    let result = result(http, name, arguments).await;
    assert_eq!(result["isError"], true, "{result}");
    result["content"][0]["text"].as_str().unwrap().to_owned()
}

fn texts<'a>(list: &'a Value, key: &str) -> Vec<&'a str> {
    let items = list.as_array().unwrap_or_else(|| panic!("{list}"));
    items
        .iter()
        .map(|item| item[key].as_str().unwrap())
        .collect()
}

/// A provider that finds one of its resources.
fn searchable() -> FakeContent {
    const ONE: &str = "searchable:one";
    FakeContent::default()
        .with_entry(Entry {
            name: "listed one".to_owned(),
            ..entry(ONE)
        })
        .with_text(ONE, "the text")
        .with_searcher(|query, _| {
            let prefix = query.uri_prefix.as_deref().unwrap_or_default();
            let hit = ONE.starts_with(prefix).then(|| Hit {
                entry: entry(ONE),
                excerpt: Some(format!("about {}", query.text)),
            });
            Ok(hit.into_iter().collect())
        })
}

/// A provider whose list depends on the caller, and cannot be listed for callers.
fn broken() -> FakeContent {
    FakeContent::default().with_lister(|_, call| match call.caller {
        Some(_) => Err(CallError::Unavailable("not today".into())),
        None => Ok(ListPage {
            freshness: Some(Freshness {
                ttl: Duration::from_secs(60),
                scope: Scope::Caller,
            }),
            ..ListPage::empty()
        }),
    })
}

#[tokio::test]
async fn they_are_off_by_default() {
    let http = TestEndpoint::serve([("defined", with_tools(&["double", "search"]))]).await;
    let list = http.request("tools/list", json!({})).await;
    assert_eq!(names(&list), ["double", "search"]);
    let unknown = call(&http, "read_resource", &json!({"uri": "a:b"})).await;
    let unknown = &unknown.json()["error"]["message"];
    assert_eq!(unknown, "Unknown tool: read_resource");
    assert_eq!(http.team.reader.snapshot().collisions(), []);
}

#[tokio::test]
async fn they_precede_tools_with_the_same_names() {
    let tools = with_tools(&["double", "search", "fetch", "other"]);
    let http = serve([("defined", tools)]).await;
    let list = http.request("tools/list", json!({})).await;
    let all = [&NAMES[..], &["double", "other"]].concat();
    assert_eq!(names(&list), all);
    let catalog = http.team.reader.snapshot();
    let collisions = catalog.collisions();
    assert_eq!(collisions.len(), 2, "{collisions:?}");
    let line = collisions[0].to_string();
    assert!(
        line.contains("`tool search` of `defined` is not offered"),
        "{line}"
    );
    let summary = Collision::summarize(collisions);
    assert!(
        summary[0].starts_with("2 tools of `defined`, such as `tool search`, are not offered"),
        "{summary:?}"
    );
    let found = structured(&http, "search", json!({"query": "x"})).await;
    assert_eq!(found, json!({"results": []}));
    let doubled = result(&http, "double", json!({"n": 1})).await;
    assert_eq!(doubled["content"][0]["text"], r#"{"n":1}"#);
}

#[tokio::test]
async fn lists_are_paged_and_filtered() {
    let many = (0..250).fold(FakeContent::default(), |content, n| {
        content.with_text(&format!("many://{n}"), "")
    });
    let many = many.with_template(template("many://{n}"));
    let http = serve([("many", many)]).await;
    let first = structured(&http, "list_resources", json!({})).await;
    assert_eq!(texts(&first["resources"], "uri").len(), 50);
    assert!(first["nextCursor"].is_string());
    let mut count = 0;
    let mut arguments = json!({"limit": 100});
    loop {
        let page = structured(&http, "list_resources", arguments).await;
        count += texts(&page["resources"], "uri").len();
        match page.get("nextCursor") {
            Some(cursor) => arguments = json!({"limit": 100, "cursor": cursor}),
            None => break,
        }
    }
    assert_eq!(count, 250);
    let filtered = json!({"text": "many://24", "uri_prefix": "many:", "cursor": null});
    let filtered = structured(&http, "list_resources", filtered).await;
    assert_eq!(texts(&filtered["resources"], "uri").len(), 11);
    let templates = structured(&http, "list_resource_templates", json!({})).await;
    let templates = texts(&templates["resourceTemplates"], "uriTemplate");
    assert_eq!(templates, ["many://{n}"]);
    let wrong = failure(&http, "list_resources", json!({"cursor": "x"})).await;
    assert!(wrong.contains("unknown cursor"), "{wrong}");
}

#[tokio::test]
async fn reads_return_texts_and_data() {
    let http = serve_echo().await;
    let read = async |uri: &str| result(&http, "read_resource", json!({"uri": uri})).await;
    let hello = read("echo://hello").await;
    let text = json!([{"type": "text", "text": "echo://hello"}]);
    assert_eq!(hello["content"], text, "{hello}");
    let contents =
        json!([{"uri": "echo://hello", "mimeType": "text/plain", "text": "echo://hello"}]);
    assert_eq!(hello["structuredContent"], json!({"contents": contents}));
    let blob = read("echo://blob").await;
    let resource =
        json!({"uri": "echo://blob", "mimeType": "application/octet-stream", "blob": "AJ+Slg=="});
    let block = json!([{"type": "resource", "resource": resource}]);
    assert_eq!(blob["content"], block, "{blob}");
    assert_eq!(blob["structuredContent"]["contents"][0]["size"], 4);
    let many = read("echo://many").await;
    let blocks = many["content"].as_array().unwrap();
    let contents = many["structuredContent"]["contents"].as_array().unwrap();
    assert_eq!((blocks.len(), contents.len()), (6, 3), "{many}");
    assert_eq!(blocks[0]["text"], contents[0]["uri"]);
    assert_eq!(blocks[1]["text"], contents[0]["text"]);
}

#[tokio::test]
async fn searches_return_what_connectors_expect() {
    let http = serve([("searchable", searchable()), ("echo", echo())]).await;
    let found = structured(&http, "search_resources", json!({"query": "hello"})).await;
    let both = ["searchable:one", "echo://hello"];
    assert_eq!(texts(&found["results"], "uri"), both);
    assert_eq!(found["results"][0]["excerpt"], "about hello");
    let one = json!({"query": "hello", "limit": 1, "uri_prefix": "echo:"});
    let one = structured(&http, "search_resources", one).await;
    assert_eq!(texts(&one["results"], "uri"), ["echo://hello"]);
    let documents = structured(&http, "search", json!({"query": "hello"})).await;
    let links = both.map(|uri| json!({"id": uri, "title": uri, "url": uri}));
    assert_eq!(documents, json!({"results": links}));
    let document = structured(&http, "fetch", json!({"id": "searchable:one"})).await;
    let version = Digest::of(b"the text").to_string();
    let expected = json!({
        "id": "searchable:one", "title": "listed one", "text": "the text",
        "url": "searchable:one", "metadata": {"mimeType": "text/plain", "version": version},
    });
    assert_eq!(document, expected);
    let data = failure(&http, "fetch", json!({"id": "echo://blob"})).await;
    assert!(
        data.contains("has no text: its content is application/octet-stream"),
        "{data}"
    );
}

#[tokio::test]
async fn a_model_is_told_what_is_wrong() {
    let http = serve_echo().await;
    for (name, arguments, expected) in [
        ("read_resource", json!({}), "\"uri\" is a required property"),
        (
            "read_resource",
            json!({"uri": "x:1", "limit": 1}),
            "'limit' was unexpected",
        ),
        (
            "read_resource",
            json!({"uri": "nobody:x"}),
            "There is no resource `nobody:x`",
        ),
        ("read_resource", json!({"uri": "no uri"}), "URI"),
        (
            "read_resource",
            json!({"uri": "echo://error/denied"}),
            "denied the request",
        ),
        ("fetch", json!({"id": "nobody:x"}), "There is no resource"),
        (
            "search_resources",
            json!({"query": " "}),
            "the text to search for is empty",
        ),
        (
            "search_resources",
            json!({"query": "a", "limit": 101}),
            "101 is greater than the maximum of 100",
        ),
    ] {
        let text = failure(&http, name, arguments).await;
        assert!(text.contains(expected), "{name}: {text}");
    }
}

#[tokio::test]
async fn results_match_their_schemas() {
    let providers = [("echo", echo()), ("full", full()), ("personal", broken())];
    let http = serve(providers).await;
    let tools = http.request("tools/list", json!({})).await;
    for (name, arguments) in [
        ("list_resources", json!({"limit": 3})),
        ("list_resource_templates", json!({})),
        ("read_resource", json!({"uri": "echo://many"})),
        ("read_resource", json!({"uri": "echo://blob"})),
        ("search_resources", json!({"query": "echo full"})),
        ("search", json!({"query": "echo"})),
        ("fetch", json!({"id": "echo://hello"})),
    ] {
        let mut tools = tools["tools"].as_array().unwrap().iter();
        let tool = tools.find(|tool| tool["name"] == name).unwrap();
        assert_eq!(tool["annotations"]["readOnlyHint"], true);
        let result = result(&http, name, arguments).await["structuredContent"].take();
        let schema = JsonSchema::compile(&tool["outputSchema"], 1 << 20).unwrap();
        let outcome = schema.validate(&result, &mut Effort::new(u64::MAX));
        assert!(outcome.is_ok(), "{name}: {outcome:?} {result}");
        assert!(result.is_object(), "{name}: {result}");
    }
}

#[tokio::test]
async fn a_read_shares_the_cache_with_resources_read() {
    let content = FakeContent::default()
        .with_text("x:a", "a")
        .with_text("x:b", "b")
        .unstable();
    let http = serve([("x", content)]).await;
    let read = async |uri: &str| http.read(uri).await["contents"].take();
    let call = async |uri: &str| {
        // The client of a tool can take part in its call.
        let meta = json!({"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}});
        let params = json!({"name": "read_resource", "arguments": {"uri": uri}, "_meta": meta});
        let mut result = http.request("tools/call", params).await;
        result["structuredContent"]["contents"].take()
    };
    assert_eq!(read("x:a").await, call("x:a").await);
    assert_eq!(call("x:b").await, read("x:b").await);
}

#[tokio::test]
async fn incomplete_results_say_so() {
    let http = serve([("personal", broken()), ("echo", echo())]).await;
    for (name, arguments) in [
        ("list_resources", json!({})),
        ("search_resources", json!({"query": "hello"})),
    ] {
        let result = result(&http, name, arguments).await;
        let missing = json!(["personal"]);
        let structured = &result["structuredContent"]["incomplete"];
        assert_eq!(structured, &missing, "{name}: {result}");
        assert_eq!(result["_meta"]["dev.larder/incomplete"], missing);
    }
}

#[tokio::test]
async fn results_are_the_same_in_both_eras() {
    let http = serve_echo().await;
    let session = http.session("2025-11-25").await;
    let modern = http.request("tools/list", json!({})).await;
    let legacy = http.legacy(&session, "tools/list", json!({})).await.json();
    assert_eq!([names(&modern), names(&legacy["result"])], [NAMES, NAMES]);
    for (name, arguments) in [
        ("read_resource", json!({"uri": "echo://hello"})),
        ("search", json!({"query": "hello"})),
    ] {
        let new = result(&http, name, arguments.clone()).await;
        assert!(new["structuredContent"].is_object(), "{new}");
        assert_eq!(new.get("isError"), None, "{new}");
        let params = json!({"name": name, "arguments": arguments});
        let old = http.legacy(&session, "tools/call", params).await.json();
        for key in ["content", "structuredContent"] {
            assert_eq!(new[key], old["result"][key], "{old}");
        }
    }
}
