//! `cargo deny`: licences, banned crates and sources of all dependencies. Advisories are checked where their database can
//! be reached, which is not the case on every machine that runs the tests.

use anyhow::Result;

use crate::run::{Output, cargo, command, target};
use crate::step::Outcome;
use crate::tools::works;

/// The version that is installed where the machine has none.
const PINNED: &str = "cargo-deny@0.20.2";

const WORKSPACES: [&str; 4] =
    ["Cargo.toml", "plugins/Cargo.toml", "host/tests/guests/Cargo.toml", "bench/Cargo.toml"];

pub(crate) fn run(output: &Output) -> Result<Outcome> {
    let program = program(output)?;
    for manifest in WORKSPACES {
        let mut deny = command(&program);
        deny.args([
            "--manifest-path",
            manifest,
            "--offline",
            "check",
            "--config",
            "deny.toml",
            "bans",
            "licenses",
            "sources",
        ]);
        output.run(&mut deny)?;
    }
    if works(command(&program).args(["fetch", "db"])) {
        output.run(command(&program).args(["check", "advisories"]))?;
        return Ok(Outcome::Passed);
    }
    Ok(Outcome::Noted("the advisory database cannot be reached: advisories were not checked".into()))
}

/// The machine's own cargo-deny, else one that is built once under `target/tools`.
fn program(output: &Output) -> Result<std::path::PathBuf> {
    if works(command("cargo-deny").arg("--version")) {
        return Ok("cargo-deny".into());
    }
    let tools = target("tools");
    let installed = tools.join("bin/cargo-deny");
    if !installed.exists() {
        let mut install = cargo(&["install", "--quiet", "--locked", "--debug", PINNED, "--root"]);
        output.run(install.arg(&tools).arg("--target-dir").arg(target("tools/build")))?;
    }
    Ok(installed)
}
