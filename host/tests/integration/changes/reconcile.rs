//! Reconciling with real components from sources in memory, without a file system. Most tests run single passes, which
//! need no clock. The others pause the clock or wait for events.

mod event_loop;
mod missing_source;
mod passes;
mod pending;
mod several_sources;
mod start;

use larder_core::source::MemorySource;
use larder_model::name::TeamName;
use larder_runtime::drain::Drain;
use larder_sandbox::Sandbox;

use crate::support::harness::{TestServer, sandbox_config};
use crate::support::revision::NOW;

/// What a read of the guest `revision` returns while it is not served.
fn not_served() -> String {
    format!("error: no resource at `{NOW}`")
}

/// Starts a server for this source. The server loads the components of the source.
async fn start(source: &MemorySource) -> TestServer {
    TestServer::builder("").source(source.clone()).start().await
}

/// Compiles components and pauses the clock. While the clock is paused, no code can wait for a compiler process,
/// because its timeout would pass at once.
async fn compile_and_pause(components: &[&[u8]]) {
    let sandbox = Sandbox::new(&sandbox_config(), &Drain::new()).unwrap();
    for component in components {
        sandbox
            .compile(&TeamName::default_team(), component.to_vec().into())
            .await
            .unwrap();
    }
    tokio::time::pause();
}
