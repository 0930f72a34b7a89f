//! Requests of the modern protocol (2026-07-28).

use expect_test::{Expect, expect};
use serde_json::json;

use super::endpoint::{ACCEPT, JSON, MODERN, TestEndpoint, meta};
use super::guests::{echo, full, nothing, trap_nth};
use larder_provider::fake::FakeContent;

async fn check(
    provider: (&str, FakeContent),
    method: &str,
    params: serde_json::Value,
    expected: Expect,
) {
    let endpoint = TestEndpoint::serve([provider]).await;
    let answer = endpoint.modern(method, params).await;
    assert_eq!(answer.headers["content-type"], "application/json");
    // A list with a TTL of one minute has slightly less time left.
    let body = match answer.body.split_once("\"ttlMs\":59") {
        Some((before, after)) => format!("{before}\"ttlMs\":60000{}", &after[3..]),
        None => answer.body,
    };
    expected.assert_eq(&format!("{} {body}", answer.status));
}

#[tokio::test]
async fn discover() {
    check(("echo", echo()), "server/discover", json!({}), expect![[r#"200 {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26"],"capabilities":{"resources":{"subscribe":true,"listChanged":true},"tools":{"listChanged":true},"prompts":{"listChanged":true},"completions":{},"logging":{},"extensions":{"io.modelcontextprotocol/skills":{"directoryRead":true}}},"instructions":"Echo: Read echo://hello to see who you are.","ttlMs":0,"cacheScope":"public","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"larder","version":"0.1.0","title":"Test"}}}}"#]]).await;
}

#[tokio::test]
async fn advertises_resources_even_without_providers() {
    // A provider may be added later. If a client once received no `resources` capability, it would never list the
    // resources.
    let answer = TestEndpoint::serve([])
        .await
        .modern("server/discover", json!({}))
        .await
        .json();
    assert_eq!(
        answer["result"]["capabilities"]["resources"],
        json!({ "subscribe": true, "listChanged": true })
    );
}

#[tokio::test]
async fn lists_nothing() {
    check(("nothing", nothing()), "resources/list", json!({}), expect![[r#"200 {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","resources":[],"ttlMs":0,"cacheScope":"public","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"larder","version":"0.1.0","title":"Test"}}}}"#]]).await;
}

#[tokio::test]
async fn lists_templates() {
    check(("full", full()), "resources/templates/list", json!({}), expect![[r#"200 {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","resourceTemplates":[{"uriTemplate":"full://word/{word}{?style}","name":"full://word/{word}{?style}"}],"ttlMs":60000,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"larder","version":"0.1.0","title":"Test"}}}}"#]]).await;
}

#[tokio::test]
async fn reads_text() {
    check(("full", full()), "resources/read", json!({ "uri": "full://one" }), expect![[r#"200 {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","contents":[{"uri":"full://one","mimeType":"text/plain","text":"one"}],"ttlMs":5000,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"larder","version":"0.1.0","title":"Test"},"dev.larder/version":"1"}}}"#]]).await;
}

#[tokio::test]
async fn reads_a_blob() {
    check(("echo", echo()), "resources/read", json!({ "uri": "echo://blob" }), expect![[r#"200 {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","contents":[{"uri":"echo://blob","mimeType":"application/octet-stream","blob":"AJ+Slg=="}],"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"larder","version":"0.1.0","title":"Test"}}}}"#]]).await;
}

#[tokio::test]
async fn reports_a_missing_resource() {
    check(("echo", echo()), "resources/read", json!({ "uri": "echo://nothing/here" }), expect![[r#"200 {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Resource not found","data":{"uri":"echo://nothing/here"}}}"#]]).await;
}

#[tokio::test]
async fn completes_a_variable() {
    let params = json!({
        "ref": { "type": "ref/resource", "uri": "echo://say/{word}" },
        "argument": { "name": "word", "value": "he" },
        "context": { "arguments": { "owner": "x" } },
    });
    check(("echo", echo()), "completion/complete", params, expect![[r#"200 {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","completion":{"values":["hello","help","owner=x"],"total":3,"hasMore":false},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"larder","version":"0.1.0","title":"Test"}}}}"#]]).await;
}

#[tokio::test]
async fn pages_to_the_end_of_the_list() {
    let providers = [("echo", echo()), ("full", full()), ("trap_nth", trap_nth())];
    let http = TestEndpoint::with_page_size(providers, 4).await;
    let mut uris = Vec::new();
    let mut params = json!({});
    loop {
        let answer = http.modern("resources/list", params.clone()).await.json();
        let result = &answer["result"];
        let page = result["resources"].as_array().unwrap();
        assert!(page.len() <= 4);
        uris.extend(
            page.iter()
                .map(|entry| entry["uri"].as_str().unwrap().to_owned()),
        );
        match result.get("nextCursor") {
            Some(next) => params = json!({ "cursor": next }),
            None => break,
        }
    }
    assert_eq!(uris.len(), 15, "{uris:?}");
    let answer = http
        .modern("resources/list", json!({ "cursor": "nonsense" }))
        .await;
    assert_eq!(answer.verdict(), "200 -32602");
}

/// A name, the headers in addition to the common ones, and a body.
type Case<'a> = (&'a str, Vec<(&'a str, &'a str)>, String);

/// All kinds of invalid modern requests, and the response to each.
#[tokio::test]
async fn validates_each_part_of_a_request() {
    let http = TestEndpoint::serve([("echo", echo())]).await;
    let list = |meta: serde_json::Value| {
        json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/list", "params": { "_meta": meta } })
            .to_string()
    };
    let read = json!({
        "jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": { "uri": "echo://hello", "_meta": meta() },
    })
    .to_string();
    let method = |name: &'static str| ("mcp-method", name);
    let call = |name: &str| {
        json!({ "jsonrpc": "2.0", "id": 1, "method": name, "params": { "_meta": meta() } })
            .to_string()
    };
    let version = |version: &str| {
        list(json!({
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientCapabilities": {},
        }))
    };
    let common = [JSON, ACCEPT];
    let cases: Vec<Case<'_>> = vec![
        (
            "a valid request",
            vec![MODERN, method("resources/list")],
            list(meta()),
        ),
        (
            "no capabilities",
            vec![MODERN, method("resources/list")],
            list(json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28" })),
        ),
        (
            "capabilities of a wrong type",
            vec![MODERN, method("resources/list")],
            list(
                json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": 1 }),
            ),
        ),
        (
            "header and claim differ",
            vec![
                ("mcp-protocol-version", "2025-11-25"),
                method("resources/list"),
            ],
            list(meta()),
        ),
        (
            "an unknown version",
            vec![("mcp-protocol-version", "v999"), method("resources/list")],
            version("v999"),
        ),
        (
            "no version header",
            vec![method("resources/list")],
            list(meta()),
        ),
        ("no method header", vec![MODERN], list(meta())),
        (
            "another method header",
            vec![MODERN, method("resources/read")],
            list(meta()),
        ),
        (
            "no name header",
            vec![MODERN, method("resources/read")],
            read.clone(),
        ),
        (
            "another name header",
            vec![
                MODERN,
                method("resources/read"),
                ("mcp-name", "echo://other"),
            ],
            read.clone(),
        ),
        (
            "a name in base64",
            vec![
                MODERN,
                method("resources/read"),
                ("mcp-name", "=?base64?ZWNobzovL2hlbGxv?="),
            ],
            read.clone(),
        ),
        (
            "a name in bad base64",
            vec![
                MODERN,
                method("resources/read"),
                ("mcp-name", "=?base64?*?="),
            ],
            read.clone(),
        ),
        (
            "initialize",
            vec![MODERN, method("initialize")],
            call("initialize"),
        ),
        ("ping", vec![MODERN, method("ping")], call("ping")),
        (
            "tools/list",
            vec![MODERN, method("tools/list")],
            call("tools/list"),
        ),
        (
            "resources/subscribe",
            vec![MODERN, method("resources/subscribe")],
            call("resources/subscribe"),
        ),
        (
            "no claim, modern header",
            vec![MODERN],
            json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/list" }).to_string(),
        ),
        (
            "no claim, discover",
            vec![],
            json!({ "jsonrpc": "2.0", "id": 1, "method": "server/discover" }).to_string(),
        ),
        (
            "no claim, no session",
            vec![],
            json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/list" }).to_string(),
        ),
        (
            "a session is ignored",
            vec![
                MODERN,
                method("resources/list"),
                ("mcp-session-id", "stolen"),
            ],
            list(meta()),
        ),
        (
            "a read without uri",
            vec![MODERN, method("resources/read")],
            call("resources/read"),
        ),
        (
            "a batch",
            vec![MODERN, method("resources/list")],
            format!("[{}]", list(meta())),
        ),
    ];
    let mut results = String::new();
    for (name, headers, body) in cases {
        let headers: Vec<_> = common.iter().copied().chain(headers).collect();
        let answer = http.post(&headers, body).await;
        results += &format!("{name}: {}\n", answer.verdict());
    }
    expect![[r#"
        a valid request: 200 ok
        no capabilities: 400 -32602
        capabilities of a wrong type: 400 -32602
        header and claim differ: 400 -32020
        an unknown version: 400 -32022
        no version header: 400 -32020
        no method header: 400 -32020
        another method header: 400 -32020
        no name header: 400 -32020
        another name header: 400 -32020
        a name in base64: 200 ok
        a name in bad base64: 400 -32020
        initialize: 404 -32601
        ping: 404 -32601
        tools/list: 200 ok
        resources/subscribe: 404 -32601
        no claim, modern header: 400 -32602
        no claim, discover: 400 -32602
        no claim, no session: 400 -32600
        a session is ignored: 200 ok
        a read without uri: 400 -32020
        a batch: 400 -32600
    "#]]
    .assert_eq(&results);
}
