//! Checks of `deploy/`: the tools accept the files in this folder, and the files work with a real server.

pub(crate) mod archive;
pub(crate) mod container;
pub(crate) mod crates;
pub(crate) mod deb;
pub(crate) mod homebrew;
pub(crate) mod kubernetes;
pub(crate) mod man;
pub(crate) mod mcpb;
pub(crate) mod monitoring;
pub(crate) mod proxy;
pub(crate) mod registries;
pub(crate) mod stdio;
pub(crate) mod systemd;
pub(crate) mod wrappers;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use crate::clients::copy_providers;
use crate::dist::targets::{Platform, TARGETS};
use crate::run::{Output, command, larder, root, target};
use crate::server::RunningServer;

/// An empty folder for one check.
pub(crate) fn work_folder(name: &str) -> Result<PathBuf> {
    let folder = target("xtask/packaging").join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// A file of `deploy/`.
fn deploy(path: &str) -> PathBuf {
    root().join("deploy").join(path)
}

/// Writes a configuration with one provider; `rest` is added to it.
fn configure(work: &Path, rest: &str) -> Result<PathBuf> {
    copy_providers(&work.join("plugins"), &["conformance"])?;
    let config = work.join("larder.toml");
    fs::write(
        &config,
        format!("plugins = \"plugins\"\nstate_dir = \"state\"\n{rest}"),
    )?;
    Ok(config)
}

/// Starts a server with a configuration on a free port.
fn serve(config: &Path, output: &Output) -> Result<RunningServer> {
    RunningServer::start(config, output)
}

/// The body of the response to a GET request of an address of this machine.
pub(crate) fn get(url: &str) -> Result<String> {
    let mut curl = command("curl");
    curl.args([
        "--silent",
        "--show-error",
        "--fail",
        "--max-time",
        "60",
        url,
    ]);
    let output = curl.output().context("curl")?;
    ensure!(
        output.status.success(),
        "{url}: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(String::from_utf8(output.stdout)?)
}

/// A command of `larder` with the state folder of a check.
fn larder_command(arguments: &[&str]) -> std::process::Command {
    let mut command = command(larder());
    command.args(arguments);
    command
}

/// The platform of this machine; none if no packages are made for it.
fn this_platform() -> Option<&'static Platform> {
    let system = match std::env::consts::OS {
        "macos" => "darwin",
        other => other,
    };
    let processor = match std::env::consts::ARCH {
        "aarch64" => "arm64",
        "x86_64" => "x64",
        other => other,
    };
    TARGETS
        .iter()
        .map(|target| &target.platform)
        .find(|platform| platform.system == system && platform.processor == processor)
}

/// A folder like the folder of an archive, with the files that packages need.
fn platform_folder(output: &Output, work: &Path) -> Result<PathBuf> {
    let folder = work.join("staged");
    let program = folder.join("bin/larder");
    fs::create_dir_all(folder.join("bin"))?;
    // Without debug information, the packages are small.
    output.run(command("strip").arg("-o").arg(&program).arg(larder()))?;
    for licence in ["LICENSE", "THIRD-PARTY-LICENSES.txt"] {
        fs::copy(root().join("LICENSE"), folder.join(licence))?;
    }
    Ok(folder)
}

/// Waits until a condition holds, at most for this time. Returns whether it holds.
fn eventually(limit: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + limit;
    while !holds() {
        if Instant::now() >= end {
            return false;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    true
}
