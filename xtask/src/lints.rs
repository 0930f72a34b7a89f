//! Runs clippy on code that the builds of the tests do not compile.

use anyhow::Result;

use crate::linted_build::{has_clippy, linted};
use crate::plugins::{self, TARGET};
use crate::run::{Output, cargo, target};
use crate::step::Outcome;
use crate::tools::missing;

/// The crates of `plugins/` with code that is compiled only for WebAssembly.
const WASM_CRATES: [&str; 2] = ["larder-provider", "provider-support"];

/// Checks code that the builds of the tests do not compile: the code of the SDK that is only for WebAssembly.
pub(crate) fn check(output: &Output) -> Result<Outcome> {
    if !has_clippy() {
        return missing("clippy is not installed: `rustup component add clippy`");
    }
    plugins::add_target(output)?;
    // The guests have compiled the macros with these features and this profile.
    let mut clippy = cargo(&[
        "clippy",
        "--quiet",
        "--manifest-path",
        "plugins/Cargo.toml",
        "--all-features",
    ]);
    clippy.args(["--target", TARGET]);
    for name in WASM_CRATES {
        clippy.args(["--package", name]);
    }
    output.run(clippy.args(["--", "-D", "warnings"]))?;
    Ok(Outcome::Passed)
}

/// Checks what no other step compiles: the microbenchmarks, the benchmark of servers, and the fuzz targets.
pub(crate) fn check_benchmark_and_fuzzing(output: &Output) -> Result<Outcome> {
    output.run(&mut linted(&[
        "test",
        "--no-run",
        "--workspace",
        "--bench",
        "micro",
    ]))?;
    for (manifest, folder) in [("bench/Cargo.toml", "bench"), ("fuzz/Cargo.toml", "fuzz")] {
        let mut clippy = cargo(&[
            "clippy",
            "--quiet",
            "--manifest-path",
            manifest,
            "--target-dir",
        ]);
        output.run(clippy.arg(target(folder)).args(["--", "-D", "warnings"]))?;
    }
    Ok(Outcome::Passed)
}
