//! Live reload: a running server whose plugins folder changes, with real files and real components.

mod files;
mod folder;
mod links;
mod swap;

use std::path::PathBuf;

use crate::support::harness::{TestServer, TestServerBuilder};
use crate::support::revision::revision;

/// Starts a server that serves the first revision.
async fn start_with_first_revision() -> TestServer {
    start_running(TestServer::builder("").file("revision.wasm", &revision(1))).await
}

async fn start_running(builder: TestServerBuilder) -> TestServer {
    let mut server = builder.start().await;
    server.run_reconciler();
    server
}

/// The file of the component in the plugins folder.
fn component_file(server: &TestServer) -> PathBuf {
    server.plugins.join("revision.wasm")
}
