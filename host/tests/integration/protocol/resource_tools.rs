//! The server's own tools, which read resources for clients that support only tools.

mod settings;
mod transports;

use serde_json::{Value, json};

use crate::support::harness::TestServerBuilder;
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

async fn call(server: &HttpTestServer, name: &str, arguments: Value) -> HttpResponse {
    server
        .modern(
            "tools/call",
            json!({ "name": name, "arguments": arguments }),
        )
        .await
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
