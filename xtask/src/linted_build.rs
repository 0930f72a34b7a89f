//! Builds with clippy. clippy checks the crates of a workspace while they are compiled for the tests, so that
//! dependencies are not compiled again only for the lints.

use std::process::Command;

use anyhow::Result;

use crate::run::{Output, cargo, command};
use crate::tools::succeeds;

const DRIVER: &str = "clippy-driver";
/// The arguments of the driver, in the form in which cargo-clippy passes them.
const ARGUMENTS: &str = "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__";
/// A call of cargo that compiles with clippy, whose warnings are errors. Without clippy, it only compiles.
pub(crate) fn linted(args: &[&str]) -> Command {
    let mut cargo = cargo(args);
    if has_clippy() {
        cargo
            .env("RUSTC_WORKSPACE_WRAPPER", DRIVER)
            .env("CLIPPY_ARGS", ARGUMENTS);
    }
    cargo
}

/// Builds the server together with its tests. Two builds would compile most dependencies twice, because the tests
/// enable more features of them.
pub(crate) fn build_server(output: &Output) -> Result<()> {
    output.run(&mut linted(&["test", "--no-run", "--workspace", "--tests"]))
}

/// Whether clippy is installed.
pub(crate) fn has_clippy() -> bool {
    succeeds(command(DRIVER).arg("--version"))
}
