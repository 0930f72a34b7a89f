//! The build of the demo: only the served programs, with a profile that takes little time to compile, and in a folder
//! of its own, so that it does not replace the programs of the tests. It needs Rust and a C compiler, and no tools of
//! other languages.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::plugins::{TARGET, add_target};
use crate::run::{Output, cargo};

/// The providers of the demo. They only need the repository.
const PROVIDERS: [&str; 4] = ["conformance", "files", "git", "notes"];
/// In the manifests of the server and of the providers.
const PROFILE: &str = "demo";

/// The folder whose components become a part of the server, in the build script of `larder-builtin`.
const BUILTIN_PROVIDERS: &str = "LARDER_BUILTIN_PROVIDERS";

/// Builds the providers and the server in this folder. Cargo's own progress is on the terminal.
pub(super) fn build(output: &Output, folder: &Path) -> Result<()> {
    output.write_line("1 of 2: the providers")?;
    add_target(output)?;
    let mut providers = with_profile(
        &[
            "build",
            "--manifest-path",
            "plugins/Cargo.toml",
            "--target",
            TARGET,
        ],
        folder,
    );
    for name in PROVIDERS {
        providers.args(["--package", name]);
    }
    output.run(&mut providers)?;
    output.write_line("2 of 2: the server, which takes some minutes the first time")?;
    // The demo needs none of the optional parts.
    let mut server = with_profile(
        &["build", "--package", "larder", "--no-default-features"],
        folder,
    );
    server.env(BUILTIN_PROVIDERS, components(folder));
    output.run(&mut server)
}

fn with_profile(args: &[&str], folder: &Path) -> Command {
    let mut cargo = cargo(args);
    cargo
        .args(["--profile", PROFILE, "--target-dir"])
        .arg(folder);
    cargo
}

/// The built server.
pub(super) fn server(folder: &Path) -> PathBuf {
    folder
        .join(PROFILE)
        .join(format!("larder{}", std::env::consts::EXE_SUFFIX))
}

/// The folder of the built components.
pub(super) fn components(folder: &Path) -> PathBuf {
    folder.join(TARGET).join(PROFILE)
}
