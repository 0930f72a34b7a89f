//! The official conformance suites, against `larder serve` with the `conformance` provider. Each
//! has a list of scenarios that need what Larder does not have; a list may only get shorter, since
//! the suites refuse a listed scenario that passes.

use std::fs;

use anyhow::Result;

use crate::clients::{config, node};
use crate::run::{Output, root, target};
use crate::server::Serving;
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
    // Results of an earlier run would be read as results of this one.
    if results.exists() {
        fs::remove_dir_all(&results)?;
    }
    let serving = Serving::start(&config("conformance", "", &[])?, output)?;
    let expected = root().join(format!("host/tests/conformance/expected-{run}.yaml"));
    let mut suite = node(&format!("node_modules/{package}/dist/index.js"));
    suite.args(["server", "--url", &serving.url]).args(scope);
    suite.arg("-o").arg(&results).arg("--expected-failures").arg(expected);
    let ran = output.run(&mut suite);
    // How it stops is told also where the suite failed.
    let stopped = serving.stop();
    ran.and(stopped)?;
    Ok(Outcome::Passed)
}
