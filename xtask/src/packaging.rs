//! Checks of `deploy/`: the tools accept the files in this folder, and the files work with a real server.

pub(crate) mod archive;
pub(crate) mod container;
pub(crate) mod crates;
pub(crate) mod kubernetes;
pub(crate) mod man;
pub(crate) mod monitoring;
pub(crate) mod proxy;
pub(crate) mod systemd;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use crate::clients::copy_providers;
use crate::run::{Output, command, larder, root, target};
use crate::server::RunningServer;

/// An empty folder for one check.
fn work_folder(name: &str) -> Result<PathBuf> {
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
