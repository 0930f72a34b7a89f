//! The results of each tool, and of calls that fail.

use larder_json_schema::{Effort, JsonSchema};
use serde_json::{Value, json};

use super::{call, echo, failure, server, structured};
use crate::support::harness::TestServer;
use crate::support::http_server::HttpTestServer;

fn texts<'a>(list: &'a Value, key: &str) -> Vec<&'a str> {
    list.as_array()
        .unwrap()
        .iter()
        .map(|item| item[key].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn lists_are_paged_and_filtered() {
    let server = server(TestServer::builder("many").setting("many", "count", "250")).await;
    let first = structured(&server, "list_resources", json!({})).await;
    assert_eq!(
        (
            first["resources"].as_array().unwrap().len(),
            first["nextCursor"].is_string()
        ),
        (50, true)
    );
    let (mut count, mut arguments) = (0, json!({ "limit": 100 }));
    loop {
        let page = structured(&server, "list_resources", arguments).await;
        count += page["resources"].as_array().unwrap().len();
        match page.get("nextCursor") {
            Some(cursor) => arguments = json!({ "limit": 100, "cursor": cursor }),
            None => break,
        }
    }
    assert_eq!(count, 250);
    let filtered = json!({ "text": "many://24", "uri_prefix": "many:", "cursor": null });
    assert_eq!(
        structured(&server, "list_resources", filtered).await["resources"]
            .as_array()
            .unwrap()
            .len(),
        11
    );
    let templates = structured(&server, "list_resource_templates", json!({})).await;
    assert_eq!(
        texts(&templates["resourceTemplates"], "uriTemplate"),
        ["many://{n}"]
    );
    let wrong = failure(&server, "list_resources", json!({ "cursor": "x" })).await;
    assert!(wrong.contains("unknown cursor"), "{wrong}");
}

#[tokio::test]
async fn reads_return_texts_and_data() {
    let server = echo().await;
    let result = call(
        &server,
        "read_resource",
        json!({ "uri": "echo://setting/x" }),
    )
    .await
    .json();
    assert_eq!(
        result["result"]["content"],
        json!([{ "type": "text", "text": "unset" }]),
        "{result}"
    );
    let contents =
        json!([{ "uri": "echo://setting/x", "mimeType": "text/plain", "text": "unset" }]);
    assert_eq!(
        result["result"]["structuredContent"],
        json!({ "contents": contents })
    );
    let blob = call(&server, "read_resource", json!({ "uri": "echo://blob" }))
        .await
        .json();
    let resource =
        json!({ "uri": "echo://blob", "mimeType": "application/octet-stream", "blob": "AJ+Slg==" });
    assert_eq!(
        blob["result"]["content"],
        json!([{ "type": "resource", "resource": resource }]),
        "{blob}"
    );
    assert_eq!(
        blob["result"]["structuredContent"]["contents"][0]["size"],
        4
    );
    let many = call(&server, "read_resource", json!({ "uri": "echo://many" }))
        .await
        .json();
    let (blocks, contents) = (
        &many["result"]["content"],
        &many["result"]["structuredContent"]["contents"],
    );
    let contents = contents.as_array().unwrap();
    assert!(
        contents.len() > 1 && blocks.as_array().unwrap().len() == 2 * contents.len(),
        "{many}"
    );
    assert_eq!(
        (&blocks[0]["text"], &blocks[1]["text"]),
        (&contents[0]["uri"], &contents[0]["text"])
    );
}

#[tokio::test]
async fn searches_return_what_connectors_expect() {
    let builder =
        TestServer::builder("searchable echo").setting("searchable", "hits", "searchable:one");
    let server = server(builder).await;
    let found = structured(&server, "search_resources", json!({ "query": "hello" })).await;
    assert_eq!(
        texts(&found["results"], "uri"),
        ["searchable:one", "echo://hello"]
    );
    assert!(
        found["results"][0]["excerpt"]
            .as_str()
            .unwrap()
            .contains("hello"),
        "{found}"
    );
    let one = json!({ "query": "hello", "limit": 1, "uri_prefix": "echo:" });
    assert_eq!(
        texts(
            &structured(&server, "search_resources", one).await["results"],
            "uri"
        ),
        ["echo://hello"]
    );
    let documents = structured(&server, "search", json!({ "query": "hello" })).await;
    let link = |uri: &str| json!({ "id": uri, "title": uri, "url": uri });
    assert_eq!(
        documents,
        json!({ "results": [link("searchable:one"), link("echo://hello")] })
    );
    let document = structured(&server, "fetch", json!({ "id": "searchable:one" })).await;
    let expected = json!({
        "id": "searchable:one", "title": "listed one", "text": "the text of searchable:one",
        "url": "searchable:one", "metadata": { "mimeType": "text/plain" },
    });
    assert_eq!(document, expected);
    let data = failure(&server, "fetch", json!({ "id": "echo://blob" })).await;
    assert!(
        data.contains("has no text: its content is application/octet-stream"),
        "{data}"
    );
}

#[tokio::test]
async fn a_model_is_told_what_is_wrong() {
    let server = echo().await;
    for (name, arguments, expected) in [
        ("read_resource", json!({}), "\"uri\" is a required property"),
        (
            "read_resource",
            json!({ "uri": "x:1", "limit": 1 }),
            "'limit' was unexpected",
        ),
        (
            "read_resource",
            json!({ "uri": "nobody:x" }),
            "There is no resource `nobody:x`",
        ),
        ("read_resource", json!({ "uri": "no uri" }), "URI"),
        (
            "read_resource",
            json!({ "uri": "echo://error/denied" }),
            "denied the request",
        ),
        ("fetch", json!({ "id": "nobody:x" }), "There is no resource"),
        (
            "search_resources",
            json!({ "query": " " }),
            "the text to search for is empty",
        ),
        (
            "search_resources",
            json!({ "query": "a", "limit": 101 }),
            "101 is greater than the maximum of 100",
        ),
    ] {
        let text = failure(&server, name, arguments).await;
        assert!(text.contains(expected), "{name}: {text}");
    }
}

#[tokio::test]
async fn results_match_their_schemas() {
    let server = server(TestServer::builder("echo full personal")).await;
    let tools = server.modern("tools/list", json!({})).await.json();
    for (name, arguments) in [
        ("list_resources", json!({ "limit": 3 })),
        ("list_resource_templates", json!({})),
        ("read_resource", json!({ "uri": "echo://many" })),
        ("read_resource", json!({ "uri": "echo://blob" })),
        ("search_resources", json!({ "query": "echo full" })),
        ("search", json!({ "query": "echo" })),
        ("fetch", json!({ "id": "echo://hello" })),
    ] {
        let tools = tools["result"]["tools"].as_array().unwrap();
        let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
        assert_eq!(tool["annotations"]["readOnlyHint"], true);
        let result =
            call(&server, name, arguments).await.json()["result"]["structuredContent"].clone();
        let schema = JsonSchema::compile(&tool["outputSchema"], 1 << 20).unwrap();
        let outcome = schema.validate(&result, &mut Effort::new(u64::MAX));
        assert!(
            outcome.is_ok() && result.is_object(),
            "{name}: {outcome:?} {result}"
        );
    }
}

#[tokio::test]
async fn a_read_shares_the_cache_with_resources_read() {
    let server = server(TestServer::builder("fresh")).await;
    for uri in ["fresh://everyone/3600000/0/a", "fresh://caller/3600000/0/a"] {
        let read = server.read(uri).await.json()["result"]["contents"].clone();
        let called = call(&server, "read_resource", json!({ "uri": uri }))
            .await
            .json();
        assert_eq!(
            called["result"]["structuredContent"]["contents"], read,
            "{called}"
        );
    }
    // This also applies if the tool reads first, although the client of a tool can take part in its call.
    let uri = "fresh://everyone/3600000/0/b";
    let meta = json!({ "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} } });
    let params = json!({ "name": "read_resource", "arguments": { "uri": uri }, "_meta": meta });
    let called = server.modern("tools/call", params).await.json();
    let read = server.read(uri).await.json()["result"]["contents"].clone();
    assert_eq!(
        called["result"]["structuredContent"]["contents"], read,
        "{called}"
    );
}

#[tokio::test]
async fn incomplete_results_say_so() {
    let server: HttpTestServer =
        server(TestServer::builder("personal echo").setting("personal", "broken", "1")).await;
    for (name, arguments) in [
        ("list_resources", json!({})),
        ("search_resources", json!({ "query": "hello" })),
    ] {
        let result = call(&server, name, arguments).await.json();
        assert_eq!(
            result["result"]["structuredContent"]["incomplete"],
            json!(["personal"]),
            "{name}: {result}"
        );
        assert_eq!(
            result["result"]["_meta"]["dev.larder/incomplete"],
            json!(["personal"])
        );
    }
}
