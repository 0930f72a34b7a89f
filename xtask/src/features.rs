//! Checks the server without its optional parts, and, for a release, with each optional part alone.

use std::fs;

use anyhow::{Context as _, Result};

use crate::linted_build::linted;
use crate::run::{Output, root};
use crate::step::Outcome;

/// Compiles the tests of the program with the same features of all other crates as in the step `host`, so that only the
/// program is compiled again. The features depend on the whole workspace, and tests need more features.
const PROGRAM: [&str; 6] = [
    "test",
    "--no-run",
    "--workspace",
    "--bin=larder",
    "--no-default-features",
    "--features",
];

pub(crate) fn check_without(output: &Output) -> Result<Outcome> {
    check(output, "")?;
    Ok(Outcome::Passed)
}

pub(crate) fn check_each(output: &Output) -> Result<Outcome> {
    let optional = optional_parts()?;
    for part in &optional {
        check(output, &format!("larder/{part}"))?;
    }
    Ok(Outcome::PassedWithNote(optional.join(", ")))
}

fn check(output: &Output, features: &str) -> Result<()> {
    output.run(linted(&PROGRAM).arg(features))
}

/// The features that are on by default.
fn optional_parts() -> Result<Vec<String>> {
    let manifest: toml::Table =
        fs::read_to_string(root().join("host/larder/Cargo.toml"))?.parse()?;
    let default = manifest
        .get("features")
        .and_then(|features| features.get("default")?.as_array());
    let default = default.context("host/larder/Cargo.toml has no default features")?;
    Ok(default
        .iter()
        .filter_map(|feature| feature.as_str().map(ToOwned::to_owned))
        .collect())
}
