//! Clippy. In `cargo xtask test`, it checks the crates of a workspace while they are compiled for the tests, so that
//! dependencies are not compiled again for the lints alone.

use std::process::Command;

use anyhow::Result;

use crate::plugins::{self, TARGET};
use crate::run::{Output, cargo, target};
use crate::step::Outcome;
use crate::tools::{missing, succeeds};

const DRIVER: &str = "clippy-driver";
/// The arguments of the driver, in the form in which cargo-clippy passes them.
const ARGUMENTS: &str = "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__";
/// The crates of `plugins/` with code that is compiled only for WebAssembly.
const WASM_CRATES: [&str; 2] = ["larder-provider", "provider-support"];

/// A call of cargo that compiles with clippy, whose warnings are errors. Without clippy, it only compiles.
pub(crate) fn linted(args: &[&str]) -> Command {
    let mut cargo = cargo(args);
    if is_installed() {
        cargo.env("RUSTC_WORKSPACE_WRAPPER", DRIVER).env("CLIPPY_ARGS", ARGUMENTS);
    }
    cargo
}

/// Builds the server together with its tests. Two builds would compile most dependencies twice, because the tests
/// enable more features of them.
pub(crate) fn build_server(output: &Output) -> Result<()> {
    output.run(&mut linted(&["test", "--no-run", "--workspace", "--all-targets"]))
}

fn is_installed() -> bool {
    succeeds(crate::run::command(DRIVER).arg("--version"))
}

/// Checks what the builds of the tests do not compile: the code of the SDK that is only for WebAssembly.
pub(crate) fn check(output: &Output) -> Result<Outcome> {
    if !is_installed() {
        return missing("clippy is not installed: `rustup component add clippy`");
    }
    plugins::add_target(output)?;
    let mut clippy = cargo(&["clippy", "--quiet", "--manifest-path", "plugins/Cargo.toml", "--release"]);
    clippy.args(["--target", TARGET]);
    for name in WASM_CRATES {
        clippy.args(["--package", name]);
    }
    output.run(clippy.args(["--", "-D", "warnings"]))?;
    Ok(Outcome::Passed)
}

/// Checks the workspaces that no other step compiles. They stand alone, because their dependencies occur nowhere else.
pub(crate) fn check_benchmark_and_fuzzing(output: &Output) -> Result<Outcome> {
    for (manifest, folder) in [("bench/Cargo.toml", "bench"), ("fuzz/Cargo.toml", "fuzz")] {
        let mut clippy = cargo(&["clippy", "--quiet", "--manifest-path", manifest, "--target-dir"]);
        output.run(clippy.arg(target(folder)).args(["--", "-D", "warnings"]))?;
    }
    Ok(Outcome::Passed)
}
