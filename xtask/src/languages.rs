//! The examples: each built from a clean copy with the tools of its language, and all asked the same questions, to
//! which they have to give the same answers.

mod copy;
mod session;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::plugins::{TARGET, add_target};
use crate::run::{Output, command, larder, target};
use crate::step::Outcome;
use crate::tools::{self, missing, works};

pub(crate) fn rust(output: &Output) -> Result<Outcome> {
    add_target(output)?;
    let here = copy::fresh("changelog-rust")?;
    // What was compiled of others is kept between two runs; the example is not.
    let built = target("examples/cargo");
    let mut cargo = command("cargo");
    cargo.args(["build", "--release", "--locked", "--target", TARGET, "--target-dir"]).arg(&built);
    output.run(cargo.current_dir(&here))?;
    ask(output, "rust", &built.join(TARGET).join("release/changelog_rust.wasm"))
}

pub(crate) fn python(output: &Output) -> Result<Outcome> {
    let here = copy::fresh("changelog-python")?;
    let mut build = command(tools::author("componentize-py"));
    build.args(["-w", "full-provider", "componentize", "-p", ".", "-p", "../../sdk/python", "provider"]);
    output.run(build.args(["-o", "changelog.wasm"]).current_dir(&here))?;
    ask(output, "python", &here.join("changelog.wasm"))
}

pub(crate) fn javascript(output: &Output) -> Result<Outcome> {
    if !works(command("npm").arg("--version")) {
        return missing("npm is not installed; it comes with Node: https://nodejs.org");
    }
    let here = copy::fresh("changelog-javascript")?;
    let npm = |words: &[&str]| output.run(command("npm").args(words).current_dir(&here));
    // The only package from elsewhere is pinned, and pins what it needs. (A lock file would be without the binaries
    // of the systems that it was not made on.)
    npm(&["install", "--install-links", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error"])?;
    npm(&["run", "build"])?;
    ask(output, "javascript", &here.join("changelog.wasm"))
}

pub(crate) fn go(output: &Output) -> Result<Outcome> {
    if let Some(without) = tools::made_by(tools::go, output)? {
        return Ok(without);
    }
    make(output, "go")
}

pub(crate) fn c(output: &Output) -> Result<Outcome> {
    if let Some(without) = tools::made_by(tools::cc, output)? {
        return Ok(without);
    }
    make(output, "c")
}

/// With the compiler that was installed for the authors, and our own program for the rest.
fn make(output: &Output, language: &str) -> Result<Outcome> {
    let here = copy::fresh(&format!("changelog-{language}"))?;
    let mut make = with_tools(command("make"))?;
    output.run(make.arg(format!("LARDER={}", larder().display())).current_dir(&here))?;
    ask(output, language, &here.join("changelog.wasm"))
}

/// A command that finds our program and the authors' tools first, and whose caches are ours.
#[expect(clippy::disallowed_methods, reason = "the ban is about the product's configuration")]
pub(crate) fn with_tools(mut command: Command) -> Result<Command> {
    let ours = target("authors/venv/bin");
    let theirs = std::env::var_os("PATH").unwrap_or_default();
    let path = [target("debug"), ours].into_iter().chain(std::env::split_paths(&theirs));
    let path = std::env::join_paths(path)?;
    if let Some(flags) = tools::make_flags() {
        command.env("MAKEFLAGS", flags);
    }
    command.env("PATH", path).env("GOPROXY", "off").env("GOTOOLCHAIN", "local");
    // As on a machine where all builds go to one place; projects do not depend on it.
    command.env("CARGO_TARGET_DIR", target("examples/elsewhere"));
    command.env("GOCACHE", target("examples/go")).env("ZIG_GLOBAL_CACHE_DIR", target("examples/zig"));
    Ok(command)
}

/// Loads the component into the real host, and asks.
fn ask(output: &Output, language: &str, component: &Path) -> Result<Outcome> {
    let at: PathBuf = target("examples").join(format!("asked-{language}"));
    if at.exists() {
        fs::remove_dir_all(&at)?;
    }
    fs::create_dir_all(at.join("plugins"))?;
    let size = fs::copy(component, at.join("plugins/changelog.wasm"))
        .with_context(|| format!("no {} was built", component.display()))?;
    let asked = session::hold(output, &at)?;
    output.run(command(larder()).args(["inspect", "--json"]).arg(component))?;
    ensure!(asked > 0, "the session has no questions");
    Ok(Outcome::Noted(format!("{} KiB, {asked} questions", size.div_ceil(1024))))
}
