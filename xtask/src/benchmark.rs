//! The program of the benchmark, which is in `bench/`.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::plugins;
use crate::run::{Output, cargo, command, root, target};

/// The folder of the examples, in `target/`.
pub(crate) const EXAMPLES: &str = "bench/examples";
/// The folder of their revisions, in `target/`.
pub(crate) const REVISIONS: &str = "bench/revisions";

/// Builds the benchmark, and the components that its servers have.
pub(crate) fn build(output: &Output) -> Result<()> {
    plugins::guests(output)?;
    output.run(
        cargo(&["build", "--release", "--manifest-path", "bench/Cargo.toml"])
            .arg("--target-dir")
            .arg(target("bench")),
    )
}

/// The benchmark of this server, with the paths of what it measures.
pub(crate) fn benchmark(server: &Path) -> Command {
    let mut bench = command(target("bench/release/larder-bench"));
    bench
        .args(["run", "--larder"])
        .arg(server)
        .arg("--guests")
        .arg(target("guests"))
        .arg("--fixtures")
        .arg(root().join("host/tests/fixtures/0.1.0"))
        .arg("--examples")
        .arg(target(EXAMPLES))
        .arg("--revisions")
        .arg(target(REVISIONS))
        .arg("--scratch")
        .arg(target("bench/scratch"));
    bench
}
