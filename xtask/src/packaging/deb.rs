//! The package for Debian, here with the debug build: dpkg installs it into a folder, replaces it, removes it and purges
//! it, with the scripts of the package.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use super::{archive, work_folder};
use crate::dist::archive::Compression;
use crate::dist::deb;
use crate::run::{Output, command, stdout_of};
use crate::step::Outcome;
use crate::tools;

const PROGRAM: &str = "usr/bin/larder";
const CONFIGURATION: &str = "etc/larder/larder.toml";
const STATE: &str = "var/lib/larder/state";
/// What an administrator adds to the configuration.
const CHANGE: &str = "# changed\n";

pub(crate) fn check(output: &Output) -> Result<Outcome> {
    let architecture = super::this_platform().and_then(|platform| platform.debian);
    let (Some(architecture), Some(_)) = (architecture, tools::find_program("dpkg")) else {
        return tools::missing("dpkg is not installed, which only Debian and its derivatives have");
    };
    if !rustix::process::geteuid().is_root() {
        return tools::missing("only root may install packages");
    }
    for (program, package) in [("zstd", "zstd"), ("systemd-sysusers", "systemd")] {
        if let Outcome::Skipped(reason) = tools::debian_package(output, program, package)? {
            return tools::missing(&reason);
        }
    }
    let work = work_folder("deb")?;
    let staged = archive::stage(output, &work)?;
    let package = pack_twice(output, &staged, architecture, &work)?;
    let system = System::create(output, &work)?;
    check_installation(&system, &package)?;
    check_replacement(&system, &package)?;
    check_removal(&system)?;
    // The folder takes much space.
    fs::remove_dir_all(&work)?;
    Ok(Outcome::Passed)
}

fn pack_twice(output: &Output, staged: &Path, architecture: &str, work: &Path) -> Result<PathBuf> {
    let pack_in = |name: &str| {
        let folder = work.join(name);
        fs::create_dir_all(&folder)?;
        deb::pack(output, staged, architecture, &folder, Compression::Fast)
    };
    let first = pack_in("first")?;
    let package = pack_in("second")?;
    ensure!(
        fs::read(first)? == fs::read(&package)?,
        "two packages of the same files differ"
    );
    Ok(package)
}

/// A folder with a database of dpkg.
struct System<'a> {
    output: &'a Output,
    root: PathBuf,
}

impl<'a> System<'a> {
    fn create(output: &'a Output, work: &Path) -> Result<Self> {
        let root = work.join("root");
        let database = root.join("var/lib/dpkg");
        fs::create_dir_all(database.join("updates"))?;
        fs::create_dir_all(database.join("info"))?;
        fs::create_dir_all(root.join("var/log"))?;
        fs::write(database.join("status"), "")?;
        Ok(Self { output, root })
    }

    /// Runs dpkg. Scripts run outside of the folder, which has no shell.
    fn dpkg(&self, action: &str, what: impl AsRef<std::ffi::OsStr>) -> Result<()> {
        self.output.run(
            command("dpkg")
                .arg(format!("--root={}", self.root.display()))
                .args(["--force-script-chrootless", "--force-confold", action])
                .arg(what)
                // Without it, dpkg would not find its own programs.
                .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"),
        )
    }

    fn file(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    fn has(&self, path: &str) -> bool {
        self.file(path).exists()
    }
}

fn check_installation(system: &System<'_>, package: &Path) -> Result<()> {
    system.dpkg("--install", package)?;
    system.dpkg("--verify", "larder")?;
    let version = stdout_of(command(system.file(PROGRAM)).arg("--version"))?;
    ensure!(version.contains(env!("CARGO_PKG_VERSION")), "{version}");
    let users = fs::read_to_string(system.file("etc/passwd")).context("no user was created")?;
    ensure!(users.contains("larder:"), "{users}");
    let unit = fs::read_to_string(system.file("usr/lib/systemd/system/larder.service"))?;
    ensure!(unit.contains("ExecStart=/usr/bin/larder "), "{unit}");
    check_configuration(system)
}

/// Checks that the program accepts the configuration of the package.
fn check_configuration(system: &System<'_>) -> Result<()> {
    let mut check = command(system.file(PROGRAM));
    check.arg("check").arg("--config");
    check.arg(system.file(CONFIGURATION));
    system.output.run(&mut check)
}

/// An upgrade keeps the configuration and the state.
fn check_replacement(system: &System<'_>, package: &Path) -> Result<()> {
    let configuration = system.file(CONFIGURATION);
    let text = fs::read_to_string(&configuration)? + CHANGE;
    fs::write(&configuration, &text)?;
    let state = system.file(STATE);
    fs::create_dir_all(state.parent().context("a folder")?)?;
    fs::write(&state, "")?;
    system.dpkg("--install", package)?;
    ensure!(
        fs::read_to_string(configuration)? == text,
        "the configuration was replaced"
    );
    ensure!(system.has(STATE), "the state is lost");
    Ok(())
}

fn check_removal(system: &System<'_>) -> Result<()> {
    system.dpkg("--remove", "larder")?;
    ensure!(!system.has(PROGRAM), "the program is still there");
    for kept in [CONFIGURATION, STATE] {
        ensure!(system.has(kept), "{kept} is lost");
    }
    system.dpkg("--purge", "larder")?;
    for deleted in [CONFIGURATION, STATE] {
        ensure!(!system.has(deleted), "{deleted} is still there");
    }
    Ok(())
}
