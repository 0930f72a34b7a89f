//! Type-checks the program for macOS, and tests the functions for systems other than Linux here.

use std::process::Command;

use anyhow::Result;

use crate::compiler_script::compiler_script;
use crate::linted_build::linted;
use crate::run::{Output, cargo, target};
use crate::step::Outcome;
use crate::test_log::count_tests;
use crate::tools;

/// A target that is type-checked, and the name of its system in Zig.
struct Target {
    rust: &'static str,
    zig: &'static str,
}

const TARGETS: [Target; 2] = [
    Target {
        rust: "aarch64-apple-darwin",
        zig: "aarch64-macos",
    },
    Target {
        rust: "x86_64-apple-darwin",
        zig: "x86_64-macos",
    },
];

/// Type-checks the program for each target. Build scripts compile C for it with Zig.
pub(crate) fn check(output: &Output) -> Result<Outcome> {
    let missing = missing_targets()?;
    if !missing.is_empty() {
        let missing = missing.join(" ");
        return tools::missing(&format!(
            "the standard library of other systems is not installed: run `rustup target add {missing}`"
        ));
    }
    for of in &TARGETS {
        output.run(&mut check_program(of)?)?;
    }
    let names = TARGETS.map(|target| target.rust);
    Ok(Outcome::PassedWithNote(format!(
        "compiles, was not run: {}",
        names.join(", ")
    )))
}

/// Runs the tests of what differs between systems with the functions for systems other than Linux.
pub(crate) fn check_fallbacks(output: &Output) -> Result<Outcome> {
    let mut tests = linted(&["test", "--package", "larder-platform", "--lib"]);
    tests
        .arg("--target-dir")
        .arg(target("portable"))
        .env("RUSTFLAGS", "--cfg larder_portable");
    output.run(&mut tests)?;
    Ok(Outcome::PassedWithNote(count_tests(&output.contents())))
}

/// The targets whose standard library is not installed.
fn missing_targets() -> Result<Vec<&'static str>> {
    let mut missing = Vec::new();
    for Target { rust, .. } in TARGETS {
        if !tools::has_standard_library(rust)? {
            missing.push(rust);
        }
    }
    Ok(missing)
}

fn check_program(of: &Target) -> Result<Command> {
    let zig = format!("'{}' -m ziglang", tools::author_tool("python").display());
    let compiler = compiler_script(
        &format!("cc-{}", of.zig),
        &format!("{zig} cc -target {}", of.zig),
    )?;
    let archiver = compiler_script(&format!("ar-{}", of.zig), &format!("{zig} ar"))?;
    let variable = of.rust.replace('-', "_");
    let mut cargo = cargo(&["check", "--package", "larder", "--target", of.rust]);
    cargo
        .arg("--target-dir")
        .arg(target("platforms"))
        .env(format!("CC_{variable}"), compiler)
        .env(format!("AR_{variable}"), archiver)
        .env("ZIG_GLOBAL_CACHE_DIR", tools::zig_cache());
    Ok(cargo)
}
