//! Apps of the real engine: who gets the tools, which domains and permissions a page gets, and what an operator approves.

use serde_json::{Value, json};

use crate::support::harness::TestServer;
use crate::support::http_server::{ACCEPT, HttpTestServer, JSON};
use larder_model::policy::{ApprovalMode, ToolGrant};

const REQUEST: &[u8] = b"[apps]\nconnect_domains = ['https://*.example.com']\npermissions = ['camera', 'clipboard-write']\n";

async fn server(request: &[u8], approve: ApprovalMode) -> HttpTestServer {
    let builder = TestServer::builder("apps")
        .file("apps.toml", request)
        .provider("apps", |grant, _| grant.tools = ToolGrant::All)
        .approve("apps", approve);
    HttpTestServer::from_builder(builder).await
}

/// The metadata of a client that shows apps.
fn with_apps() -> Value {
    let ui = json!({ "mimeTypes": ["text/html;profile=mcp-app"] });
    let capabilities = json!({ "extensions": { "io.modelcontextprotocol/ui": ui } });
    json!({ "io.modelcontextprotocol/clientCapabilities": capabilities })
}

async fn ui_of(server: &HttpTestServer, uri: &str) -> Value {
    let read = server.read(uri).await.json();
    let content = &read["result"]["contents"][0];
    assert_eq!(content["mimeType"], "text/html;profile=mcp-app", "{read}");
    content["_meta"]["ui"].clone()
}

fn names(listed: &Value) -> Vec<&str> {
    let tools = listed["result"]["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_page_gets_only_what_is_granted() {
    let server = server(b"", ApprovalMode::Always).await;
    let ui = ui_of(&server, "ui://apps/view.html").await;
    assert_eq!(ui, json!({ "csp": {}, "permissions": {}, "prefersBorder": true }));
    let ui = ui_of(&server, "ui://apps/hostile.html").await;
    assert_eq!(ui, json!({ "csp": {}, "permissions": {} }));
    let listed = server.modern("resources/list", json!({})).await.json();
    let entry = &listed["result"]["resources"][0];
    assert_eq!(entry["_meta"]["ui"], json!({ "csp": {} }), "{listed}");
}

#[tokio::test]
async fn what_a_component_requests_is_granted_after_an_approval() {
    let waiting = server(REQUEST, ApprovalMode::Ask).await;
    let catalog = waiting.server.reader.snapshot();
    let pending = catalog.pending_approvals().iter();
    let lines: Vec<_> = pending.flat_map(|one| one.lines.clone()).collect();
    let expected = [
        "app connects to https://*.example.com",
        "app uses the camera",
        "app writes to the clipboard",
    ];
    assert_eq!(lines, expected);

    let approved = server(REQUEST, ApprovalMode::Always).await;
    let ui = ui_of(&approved, "ui://apps/view.html").await;
    let csp = json!({ "connectDomains": ["https://api.example.com"] });
    assert_eq!(
        ui,
        json!({ "csp": csp, "permissions": { "camera": {} }, "prefersBorder": true })
    );
    let ui = ui_of(&approved, "ui://apps/hostile.html").await;
    let permissions = json!({ "camera": {}, "clipboardWrite": {} });
    assert_eq!(ui, json!({ "csp": {}, "permissions": permissions }));
}

#[tokio::test]
async fn only_clients_that_show_apps_get_the_tools_of_apps() {
    let server = server(b"", ApprovalMode::Always).await;
    let discovered = server.modern("server/discover", json!({})).await.json();
    let extensions = &discovered["result"]["capabilities"]["extensions"];
    assert_eq!(extensions["io.modelcontextprotocol/ui"], json!({}));

    let list = async |meta: Value| {
        let params = json!({ "_meta": meta });
        server.modern("tools/list", params).await.json()
    };
    let listed = list(json!({})).await;
    assert_eq!(names(&listed), ["show"]);
    let tools = &listed["result"]["tools"];
    let page = json!({ "resourceUri": "ui://apps/view.html" });
    assert_eq!(tools[0]["_meta"]["ui"], page);
    let listed = list(with_apps()).await;
    assert_eq!(names(&listed), ["refresh", "show"]);

    let call = async |meta: Value| {
        let params = json!({ "name": "refresh", "arguments": {}, "_meta": meta });
        server.modern("tools/call", params).await.json()
    };
    let refused = call(json!({})).await;
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.contains("refresh"), "{refused}");
    let called = call(with_apps()).await;
    assert_eq!(called["result"]["content"][0]["text"], "sunny", "{called}");
}

#[tokio::test]
async fn a_legacy_client_declares_apps_when_it_initializes() {
    let server = server(b"", ApprovalMode::Always).await;
    for (extensions, expected) in [
        (json!({}), vec!["show"]),
        (
            json!({ "io.modelcontextprotocol/ui": {} }),
            vec!["refresh", "show"],
        ),
    ] {
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": { "extensions": extensions },
            "clientInfo": { "name": "t", "version": "1" },
        });
        let body = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        let opened = server.post(&[JSON, ACCEPT], body.to_string()).await;
        let declared = &opened.json()["result"]["capabilities"]["extensions"];
        assert_eq!(declared["io.modelcontextprotocol/ui"], json!({}));
        let session = opened.headers["mcp-session-id"].to_str().unwrap();
        let listed = server.legacy(session, "tools/list", json!({})).await.json();
        assert_eq!(names(&listed), expected, "{listed}");
    }
}
