//! The modern protocol (2026-07-28) over real HTTP, with real components.

use expect_test::{Expect, expect};
use serde_json::json;

use crate::support::harness::TestServer;
use crate::support::http_server::{ACCEPT, HttpTestServer, JSON, MODERN, meta};

async fn check(guests: &str, method: &str, params: serde_json::Value, expected: Expect) {
    let answer = HttpTestServer::start(guests)
        .await
        .modern(method, params)
        .await;
    assert_eq!(answer.headers["content-type"], "application/json");
    // A list with a TTL of one minute has slightly less time left.
    let body = regex_lite::Regex::new(r#""ttlMs":59\d{3}"#)
        .unwrap()
        .replace(&answer.body, r#""ttlMs":60000"#);
    expected.assert_eq(&format!("{} {body}", answer.status));
}

#[tokio::test]
async fn discover() {
    check("echo", "server/discover", json!({}), expect![[r#"200 {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26"],"capabilities":{"resources":{"subscribe":true,"listChanged":true},"tools":{"listChanged":true},"prompts":{"listChanged":true},"completions":{},"logging":{},"extensions":{"io.modelcontextprotocol/skills":{"directoryRead":true}}},"instructions":"Echo: Read echo://hello to see who you are.","ttlMs":0,"cacheScope":"public","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"larder","version":"0.1.0","title":"Test"}}}}"#]]).await;
}

#[tokio::test]
async fn advertises_resources_even_without_providers() {
    // A provider may be added later. If a client once received no `resources` capability, it would never list the
    // resources.
    let answer = HttpTestServer::start("")
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
async fn lists_every_field() {
    check("full", "resources/list", json!({}), expect![[r#"200 {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","resources":[{"uri":"full://one","name":"one","title":"One","description":"the first","mimeType":"text/plain","size":3,"icons":[{"src":"https://example.com/icon.png","mimeType":"image/png","sizes":["48x48"],"theme":"dark"}],"annotations":{"audience":["user","assistant"],"priority":0.5,"lastModified":"2026-01-02T03:04:05Z"},"_meta":{"dev.larder/kind":"file","dev.larder/version":"1","example.com/colour":{"name":"blue"}}}],"ttlMs":60000,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"larder","version":"0.1.0","title":"Test"}}}}"#]]).await;
}

#[tokio::test]
async fn lists_nothing() {
    check("nothing", "resources/list", json!({}), expect![[r#"200 {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","resources":[],"ttlMs":0,"cacheScope":"public","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"larder","version":"0.1.0","title":"Test"}}}}"#]]).await;
}

#[tokio::test]
async fn lists_templates() {
    check("full", "resources/templates/list", json!({}), expect![[r#"200 {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","resourceTemplates":[{"uriTemplate":"full://word/{word}{?style}","name":"full://word/{word}{?style}"}],"ttlMs":60000,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"larder","version":"0.1.0","title":"Test"}}}}"#]]).await;
}

#[tokio::test]
async fn reads_text() {
    check("full", "resources/read", json!({ "uri": "full://one" }), expect![[r#"200 {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","contents":[{"uri":"full://one","mimeType":"text/plain","text":"one"}],"ttlMs":5000,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"larder","version":"0.1.0","title":"Test"},"dev.larder/version":"1"}}}"#]]).await;
}

#[tokio::test]
async fn reads_a_blob() {
    check("echo", "resources/read", json!({ "uri": "echo://blob" }), expect![[r#"200 {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","contents":[{"uri":"echo://blob","mimeType":"application/octet-stream","blob":"AJ+Slg=="}],"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"larder","version":"0.1.0","title":"Test"}}}}"#]]).await;
}

#[tokio::test]
async fn reads_several_contents() {
    check("echo", "resources/read", json!({ "uri": "echo://many" }), expect![[r#"200 {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","contents":[{"uri":"echo://many/1","mimeType":"text/plain","text":"first"},{"uri":"echo://many/2","mimeType":"text/plain","blob":"c2Vjb25k"},{"uri":"echo://many","mimeType":"text/markdown","text":"third"}],"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"larder","version":"0.1.0","title":"Test"}}}}"#]]).await;
}

#[tokio::test]
async fn reports_a_missing_resource() {
    check("echo", "resources/read", json!({ "uri": "echo://nothing/here" }), expect![[r#"200 {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Resource not found","data":{"uri":"echo://nothing/here"}}}"#]]).await;
}

#[tokio::test]
async fn completes_a_variable() {
    let params = json!({
        "ref": { "type": "ref/resource", "uri": "echo://say/{word}" },
        "argument": { "name": "word", "value": "he" },
        "context": { "arguments": { "owner": "x" } },
    });
    check("echo", "completion/complete", params, expect![[r#"200 {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","completion":{"values":["hello","help","owner=x"],"total":3,"hasMore":false},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"larder","version":"0.1.0","title":"Test"}}}}"#]]).await;
}

#[tokio::test]
async fn reports_each_kind_of_error() {
    let http = HttpTestServer::start("echo trap_nth").await;
    let mut results = String::new();
    for uri in [
        "echo://error/not-found",
        "echo://error/invalid",
        "echo://error/denied",
        "echo://error/unavailable",
        "echo://error/failed",
        "echo://say/%2e%2e",
        "trap://7",
    ] {
        let answer = http.read(uri).await;
        let error = &answer.json()["error"];
        results += &format!(
            "{} {} {} {}\n",
            answer.verdict(),
            uri,
            error["message"],
            error["data"]
        );
    }
    expect![[r#"
        200 -32602 echo://error/not-found "Resource not found" {"uri":"echo://error/not-found"}
        200 -32602 echo://error/invalid "the provider `echo` refused the request: because the test wants it" null
        200 -32603 echo://error/denied "the provider `echo` denied the request: because the test wants it" {"kind":"denied","provider":"echo"}
        200 -32603 echo://error/unavailable "the provider `echo` is unavailable at the moment: because the test wants it" {"kind":"unavailable","provider":"echo"}
        200 -32603 echo://error/failed "the provider `echo` failed: because the test wants it" {"kind":"failed","provider":"echo"}
        200 -32602 echo://say/%2e%2e "`echo://say/%2e%2e` is refused: the value of `word` has a `..` segment" null
        200 -32603 trap://7 "the provider `trap_nth` failed: it trapped: wasm trap: wasm `unreachable` instruction executed" {"kind":"fault","provider":"trap_nth"}
    "#]].assert_eq(&results);
}

#[tokio::test]
async fn request_metadata_reaches_the_provider() {
    let http = HttpTestServer::start("echo").await;
    let params =
        json!({ "uri": "echo://hello", "_meta": { "com.example/trace": { "a": [1, 2] } } });
    let answer = http.modern("resources/read", params).await.json();
    let text = answer["result"]["contents"][0]["text"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        text.contains("metadata: com.example/trace={\"a\":[1,2]}"),
        "{text}"
    );
}

#[tokio::test]
async fn pages_to_the_end_of_the_list() {
    let http =
        HttpTestServer::from_builder(TestServer::builder("echo full trap_nth").page_size(4)).await;
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
    let http = HttpTestServer::start("echo").await;
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

#[tokio::test]
async fn streams_progress_only_on_request() {
    let http = HttpTestServer::start("echo").await;
    let plain = http.read("echo://progress").await;
    assert_eq!(plain.headers["content-type"], "application/json");
    let params = json!({ "uri": "echo://progress", "_meta": { "progressToken": "p1" } });
    let streamed = http.modern("resources/read", params).await;
    assert_eq!(streamed.headers["content-type"], "text/event-stream");
    expect![[r#"
        event: message
        data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p1","progress":1.0,"total":3.0,"message":"step 1"}}

        event: message
        data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p1","progress":2.0,"total":3.0,"message":"step 2"}}

        event: message
        data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p1","progress":3.0,"total":3.0,"message":"step 3"}}

        event: message
        data: {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","contents":[{"uri":"echo://progress","mimeType":"text/plain","text":"done, cancelled: false"}],"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"larder","version":"0.1.0","title":"Test"}}}}

    "#]].assert_eq(&streamed.body);
    let params = json!({ "uri": "echo://hello", "_meta": { "progressToken": "p1" } });
    let without_progress = http.modern("resources/read", params).await;
    assert_eq!(without_progress.headers["content-type"], "application/json");
}
