//! The server's own tools, which read resources for clients that support only tools.

mod results;
mod settings;
mod transports;

use serde_json::{Value, json};

use crate::support::harness::{TestServer, TestServerBuilder};
use crate::support::http_server::{HttpResponse, HttpTestServer};

/// The names of the tools, in their order.
const NAMES: [&str; 6] = [
    "list_resources",
    "list_resource_templates",
    "read_resource",
    "search_resources",
    "search",
    "fetch",
];

/// A server that offers the tools.
async fn server(builder: TestServerBuilder) -> HttpTestServer {
    HttpTestServer::from_builder(builder.resource_tools()).await
}

async fn echo() -> HttpTestServer {
    server(TestServer::builder("echo")).await
}

async fn call(server: &HttpTestServer, name: &str, arguments: Value) -> HttpResponse {
    server
        .modern(
            "tools/call",
            json!({ "name": name, "arguments": arguments }),
        )
        .await
}

/// The structured result of a call. Checks that the text has the same JSON.
async fn structured(server: &HttpTestServer, name: &str, arguments: Value) -> Value {
    let result = call(server, name, arguments).await.json()["result"].clone();
    let text = result["content"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("{result}"));
    let structured = result["structuredContent"].clone();
    assert_eq!(
        serde_json::from_str::<Value>(text).unwrap(),
        structured,
        "{result}"
    );
    assert_eq!(result["content"].as_array().unwrap().len(), 1, "{result}");
    structured
}

/// The text of a failed call for the model.
async fn failure(server: &HttpTestServer, name: &str, arguments: Value) -> String {
    let result = call(server, name, arguments).await.json();
    assert_eq!(result["result"]["isError"], true, "{result}");
    result["result"]["content"][0]["text"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// The names in a list of tools.
fn names(page: &Value) -> Vec<String> {
    let tools = page["result"]["tools"]
        .as_array()
        .unwrap_or_else(|| panic!("{page}"));
    tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect()
}
