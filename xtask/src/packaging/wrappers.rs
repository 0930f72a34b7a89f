//! The packages for `npx` and `uvx`, here with the debug build: both are installed from their files, without a
//! registry, and start the program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};

use super::{platform_folder, stdio, work_folder};
use crate::dist::targets::Platform;
use crate::dist::wrappers::{self, NAME};
use crate::run::{Output, command, stdout_of};
use crate::step::Outcome;
use crate::tools;

pub(crate) fn check(output: &Output) -> Result<Outcome> {
    let Some(platform) = super::this_platform() else {
        return tools::missing("there are no packages for this platform");
    };
    if !tools::succeeds(command("npm").arg("--version")) {
        return tools::missing("npm is not installed; it comes with Node: https://nodejs.org");
    }
    if !tools::has_python() {
        return tools::missing("Python 3.11 or newer with venv is not installed");
    }
    let work = work_folder("wrappers")?;
    let staged = platform_folder(output, &work)?;
    check_npm(output, &staged, platform, &work)?;
    check_wheel(output, &staged, platform, &work)?;
    // The folder takes much space.
    fs::remove_dir_all(&work)?;
    Ok(Outcome::Passed)
}

fn check_npm(output: &Output, staged: &Path, platform: &Platform, work: &Path) -> Result<()> {
    let launcher = wrappers::pack_launcher(output, work)?;
    let program = wrappers::pack_program(output, staged, platform, work)?;
    let complete = install_npm(output, &[&launcher, &program], &work.join("complete"))?;
    check_installed(|| command(&complete), work)?;
    check_exit_code(&complete, staged)?;
    check_signal(&complete, work)?;
    let incomplete = install_npm(output, &[&launcher], &work.join("incomplete"))?;
    check_missing_program(&incomplete, platform)
}

/// Installs packages of npm into an empty folder. Returns the command that they install.
fn install_npm(output: &Output, packages: &[&Path], folder: &Path) -> Result<PathBuf> {
    fs::create_dir_all(folder)?;
    // Other platforms have packages too. Without `--offline`, npm would look for these in the registry.
    let options = ["--offline", "--no-audit", "--no-fund", "--loglevel=error"];
    let mut install = command("npm");
    install
        .arg("install")
        .args(options)
        .arg("--prefix")
        .arg(folder)
        .args(packages)
        .current_dir(folder);
    output.run(&mut install)?;
    Ok(folder.join("node_modules/.bin").join(NAME))
}

fn check_wheel(output: &Output, staged: &Path, platform: &Platform, work: &Path) -> Result<()> {
    let wheels = work.join("wheels");
    fs::create_dir_all(&wheels)?;
    wrappers::pack_wheel(output, staged, platform, &wheels)?;
    let venv = work.join("venv");
    output.run(command("python3").args(["-m", "venv"]).arg(&venv))?;
    let options = ["--no-index", "--disable-pip-version-check", "--quiet"];
    let mut install = command(venv.join("bin/python"));
    install
        .args(["-m", "pip", "install"])
        .args(options)
        .arg("--find-links")
        .arg(&wheels)
        .arg(NAME);
    output.run(&mut install)?;
    check_installed(|| command(venv.join("bin").join(NAME)), work)
}

/// Checks that a command is the program of this version, and serves a folder.
pub(super) fn check_installed(larder: impl Fn() -> Command, work: &Path) -> Result<()> {
    let version = stdout_of(larder().arg("--version"))?;
    ensure!(version.contains(env!("CARGO_PKG_VERSION")), "{version}");
    let folder = stdio::create_folder(work)?;
    stdio::read_file(larder().args(["up", "--stdio"]).arg(folder))
}

/// Checks that the command of npm ends with the exit code of the program.
fn check_exit_code(launcher: &Path, staged: &Path) -> Result<()> {
    let arguments = ["check", "--config", "no-such-file.toml"];
    let code = |program: &Path| -> Result<Option<i32>> {
        Ok(command(program).args(arguments).output()?.status.code())
    };
    let expected = code(&staged.join("bin/larder"))?;
    let actual = code(launcher)?;
    ensure!(expected != Some(0), "a missing file is an error");
    ensure!(actual == expected, "{actual:?} instead of {expected:?}");
    Ok(())
}

/// Checks that the program gets a signal that its launcher gets: both end.
fn check_signal(launcher: &Path, work: &Path) -> Result<()> {
    let folder = stdio::create_folder(work)?;
    let log = work.join("signal.log");
    let mut server = command(launcher);
    server
        .args(["up", "--listen", "127.0.0.1:0"])
        .arg(folder)
        .stdout(Stdio::null())
        .stderr(fs::File::create(&log)?);
    let status = terminate_when_serving(&mut server, &log)?;
    let printed = fs::read_to_string(&log)?;
    ensure!(status.success(), "{status}: {printed}");
    Ok(())
}

fn terminate_when_serving(server: &mut Command, log: &Path) -> Result<ExitStatus> {
    let mut child = server.spawn()?;
    let is_serving = || fs::read_to_string(log).is_ok_and(|text| text.contains("serves http"));
    let serves = super::eventually(Duration::from_secs(60), is_serving);
    let id = Pid::from_child(&child);
    kill_process(id, Signal::TERM)?;
    let mut status = None;
    let ended = super::eventually(Duration::from_secs(30), || {
        status = child.try_wait().ok().flatten();
        status.is_some()
    });
    if !ended {
        child.kill()?;
    }
    ensure!(serves, "the server did not start");
    status.context("the launcher did not end after SIGTERM")
}

/// Checks the error of the launcher without the package of the platform.
fn check_missing_program(launcher: &Path, platform: &Platform) -> Result<()> {
    let result = command(launcher).arg("--version").output()?;
    let error = String::from_utf8_lossy(&result.stderr);
    let package = format!(
        "{NAME}-{}-{} is not installed",
        platform.system, platform.processor
    );
    ensure!(
        result.status.code() == Some(1) && error.contains(&package),
        "{}: {error}",
        result.status
    );
    Ok(())
}
