//! The official conformance suites, run against `larder serve` with the `conformance` provider. Every scored scenario
//! must pass. The suites also run scenarios that are not scored, for example the scenarios of the tasks extension,
//! which Larder does not support.

use std::fs;
use std::path::PathBuf;

use anyhow::Result;

use crate::clients::{config, grant_interactions, node};
use crate::run::{Output, target};
use crate::server::RunningServer;
use crate::step::Outcome;

pub(crate) fn first_2025(output: &Output) -> Result<Outcome> {
    let scope = ["--suite", "all", "--spec-version", "2025-11-25"];
    suite(output, "conformance-0.1", "0.1.16", &scope)
}

pub(crate) fn second_2025(output: &Output) -> Result<Outcome> {
    suite(
        output,
        "conformance-0.2",
        "0.2-2025-11-25",
        &["--requirements", "2025-11-25"],
    )
}

pub(crate) fn second_2026(output: &Output) -> Result<Outcome> {
    suite(
        output,
        "conformance-0.2",
        "0.2-2026-07-28",
        &["--requirements", "2026-07-28"],
    )
}

fn suite(output: &Output, package: &str, run: &str, scope: &[&str]) -> Result<Outcome> {
    let results = target("xtask").join(format!("conformance-{run}"));
    // Otherwise the suite would mix results of an earlier run with those of this run.
    if results.exists() {
        fs::remove_dir_all(&results)?;
    }
    let server = RunningServer::start(&granted()?, output)?;
    let mut suite = node(&format!("node_modules/{package}/dist/index.js"));
    suite.args(["server", "--url", &server.url]).args(scope);
    suite.arg("-o").arg(&results);
    let result = output.run(&mut suite);
    // The server is stopped in order, and this is logged, also if the suite failed.
    let stopped = server.stop();
    result.and(stopped)?;
    Ok(Outcome::Passed)
}

/// Configures the providers in a new folder, and grants the tools and prompts of `conformance`.
fn granted() -> Result<PathBuf> {
    let folder = target("xtask").join("conformance");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    let (file, state) = (config("conformance", "", &[])?, folder.join("state"));
    fs::create_dir_all(&state)?;
    grant_interactions(&file, &state)?;
    Ok(file)
}
