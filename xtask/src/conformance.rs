//! The official conformance suites, run against `larder serve` with the `conformance` provider. Each suite
//! has a list of scenarios that are expected to fail because Larder does not support their feature. The lists
//! can only get shorter: the suites report a listed scenario that passes as an error.

use std::fs;

use anyhow::Result;

use crate::clients::{config, node};
use crate::run::{Output, root, target};
use crate::server::RunningServer;
use crate::step::Outcome;

pub(crate) fn first_2025(output: &Output) -> Result<Outcome> {
    let scope = ["--suite", "all", "--spec-version", "2025-11-25"];
    suite(output, "conformance-0.1", "0.1.16", &scope)
}

pub(crate) fn second_2025(output: &Output) -> Result<Outcome> {
    suite(output, "conformance-0.2", "0.2-2025-11-25", &["--requirements", "2025-11-25"])
}

pub(crate) fn second_2026(output: &Output) -> Result<Outcome> {
    suite(output, "conformance-0.2", "0.2-2026-07-28", &["--requirements", "2026-07-28"])
}

fn suite(output: &Output, package: &str, run: &str, scope: &[&str]) -> Result<Outcome> {
    let results = target("xtask").join(format!("conformance-{run}"));
    // Otherwise the suite would mix results of an earlier run with those of this run.
    if results.exists() {
        fs::remove_dir_all(&results)?;
    }
    let server = RunningServer::start(&config("conformance", "", &[])?, output)?;
    let expected = root().join(format!("host/tests/conformance/expected-{run}.yaml"));
    let mut suite = node(&format!("node_modules/{package}/dist/index.js"));
    suite.args(["server", "--url", &server.url]).args(scope);
    suite.arg("-o").arg(&results).arg("--expected-failures").arg(expected);
    let result = output.run(&mut suite);
    // The server is stopped properly, and this is logged, also if the suite failed.
    let stopped = server.stop();
    result.and(stopped)?;
    Ok(Outcome::Passed)
}
