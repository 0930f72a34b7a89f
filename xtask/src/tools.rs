//! What the clients need, installed under `target/clients`, and authors of providers, under `target/authors`. The
//! sources stay clean, and what is there already is not installed again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};

use crate::run::{Output, command, in_ci, root, target};
use crate::test::Outcome;

/// What the packages that we pin were resolved for.
const PYTHON: &str = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))";

/// The suites and the inspector need Node 22, which is one of the packages: any Node installs it.
pub(crate) fn node(output: &Output) -> Result<Outcome> {
    for program in ["node", "npm"] {
        if !works(command(program).arg("--version")) {
            return missing("Node with npm is not installed");
        }
    }
    let at = target("clients/node");
    copy_sources()?;
    let wanted = fs::read_to_string(at.join("package-lock.json"))?;
    once(&at, &wanted, || {
        let install = ["ci", "--no-audit", "--no-fund", "--loglevel=error"];
        output.run(command("npm").args(install).current_dir(&at))
    })
}

pub(crate) fn python(output: &Output) -> Result<Outcome> {
    venv(output, &target("clients/venv"), &root().join("host/tests/clients/python/requirements.txt"))
}

/// The tools of the examples: componentize-py, Go and Zig, all three out of Python's registry.
pub(crate) fn authors(output: &Output) -> Result<Outcome> {
    venv(output, &target("authors/venv"), &root().join("examples/requirements.txt"))
}

/// One of these tools.
pub(crate) fn author(program: &str) -> PathBuf {
    target("authors/venv/bin").join(program)
}

fn venv(output: &Output, at: &Path, requirements: &Path) -> Result<Outcome> {
    if !works(command("python3").args(["-c", PYTHON])) {
        return missing("Python 3.11 or newer with venv is not installed");
    }
    once(at, &fs::read_to_string(requirements)?, || {
        output.run(command("python3").args(["-m", "venv", "--clear"]).arg(at))?;
        let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"];
        output.run(command(at.join("bin/python")).args(install).arg(requirements))
    })
}

pub(crate) fn works(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

pub(crate) fn missing(what: &str) -> Result<Outcome> {
    if in_ci() {
        anyhow::bail!("{what}, and with CI=true nothing is skipped");
    }
    Ok(Outcome::Skipped(what.to_owned()))
}

/// Installs unless just this was installed; the mark is written last, so that half is not whole.
fn once(at: &Path, wanted: &str, install: impl FnOnce() -> Result<()>) -> Result<Outcome> {
    let mark = at.join(".installed");
    if fs::read_to_string(&mark).is_ok_and(|installed| installed == wanted) {
        return Ok(Outcome::Passed);
    }
    install()?;
    fs::write(&mark, wanted).with_context(|| format!("cannot write {}", mark.display()))?;
    Ok(Outcome::Passed)
}

/// Node looks for packages beside the script, so the scripts go where the packages are.
pub(crate) fn copy_sources() -> Result<()> {
    let (from, to) = (root().join("host/tests/clients"), target("clients"));
    fs::create_dir_all(to.join("node"))?;
    fs::copy(from.join("expected.json"), to.join("expected.json"))?;
    for file in fs::read_dir(from.join("node"))? {
        let file = file?;
        if file.file_type()?.is_file() {
            fs::copy(file.path(), to.join("node").join(file.file_name()))?;
        }
    }
    Ok(())
}
