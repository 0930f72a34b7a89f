//! Tools and prompts for clients: which are offered, how they are called, and what operators approve.

mod approval;
mod calls;
mod changes;
mod headers;
mod hostile;
mod input;
mod lists;
mod waiting;

use larder_model::policy::{Access, Dir, ToolGrant};
use serde_json::{Value, json};

use crate::support::harness::{TestServer, TestServerBuilder};
use crate::support::http_server::{HttpResponse, HttpTestServer};

/// A server whose provider has a grant for all tools and prompts.
fn granted(guest: &str) -> TestServerBuilder {
    TestServer::builder(guest).provider(guest, |grant, _| {
        grant.tools = ToolGrant::All;
        grant.prompts = true;
    })
}

/// Grants a folder that counts the calls of tools.
fn with_folder(
    builder: TestServerBuilder,
    guest: &str,
    folder: &std::path::Path,
) -> TestServerBuilder {
    let dir = Dir {
        host: folder.to_owned(),
        guest: "/data".to_owned(),
        access: Access::Write,
        is_canonical: false,
    };
    builder.provider(guest, |grant, _| grant.dirs.push(dir))
}

async fn call(server: &HttpTestServer, name: &str, arguments: Value) -> HttpResponse {
    server
        .modern(
            "tools/call",
            json!({ "name": name, "arguments": arguments }),
        )
        .await
}

/// The names in a list.
async fn names(server: &HttpTestServer, kind: &str) -> Vec<String> {
    let page = server
        .modern(&format!("{kind}/list"), json!({}))
        .await
        .json();
    let items = page["result"][kind]
        .as_array()
        .unwrap_or_else(|| panic!("{page}"));
    items
        .iter()
        .map(|item| item["name"].as_str().unwrap().to_owned())
        .collect()
}
