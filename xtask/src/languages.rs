//! Tests of the example providers. Each is built from a clean copy with the tools of its language. All of
//! them must return the same responses to the commands in `examples/session.md`.

mod copy;
pub(crate) mod revisions;
mod session;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::plugins::{TARGET, add_target};
use crate::run::{Output, command, larder, target};
use crate::step::Outcome;
use crate::tools::{self, missing, succeeds};

/// A built example, or why it was skipped.
pub(crate) enum Built {
    Component(PathBuf),
    Skipped(Outcome),
}

/// Builds the example of a language.
type Build = fn(&Output) -> Result<Built>;
/// Installs a tool, or returns why it cannot be installed.
type Tool = fn(&Output) -> Result<Option<Outcome>>;

/// All languages that have an example.
pub(crate) const LANGUAGES: [(&str, Build); 7] = [
    ("rust", build_rust),
    ("go", |output| make(output, "go", tools::go)),
    ("python", build_python),
    ("javascript", |output| npm(output, "javascript")),
    ("typescript", |output| npm(output, "typescript")),
    ("c", |output| make(output, "c", tools::cc)),
    ("cpp", |output| make(output, "cpp", tools::cc)),
];

/// All projects in Rust are built here, so that their dependencies are compiled once.
const RUST_BUILD: &str = "examples/cargo";

/// Makes `target` of a project in Rust a link to the folder that all projects share. The commands of its README read the
/// component from `target`.
pub(crate) fn share_rust_target(project: &Path) -> Result<()> {
    fs::create_dir_all(target(RUST_BUILD))?;
    Ok(std::os::unix::fs::symlink(target(RUST_BUILD), project.join("target"))?)
}

pub(crate) fn rust(output: &Output) -> Result<Outcome> {
    let built = build_rust(output)?;
    let mut test = command("cargo");
    test.args(["test", "--quiet", "--locked", "--target-dir"]).arg(target(RUST_BUILD));
    output.run(test.current_dir(copy::folder("rust")))?;
    check_session(output, "rust", built)
}

pub(crate) fn python(output: &Output) -> Result<Outcome> {
    build_and_check(output, "python")
}

pub(crate) fn javascript(output: &Output) -> Result<Outcome> {
    build_and_check(output, "javascript")
}

pub(crate) fn typescript(output: &Output) -> Result<Outcome> {
    build_and_check(output, "typescript")
}

pub(crate) fn go(output: &Output) -> Result<Outcome> {
    build_and_check(output, "go")
}

pub(crate) fn c(output: &Output) -> Result<Outcome> {
    build_and_check(output, "c")
}

pub(crate) fn cpp(output: &Output) -> Result<Outcome> {
    build_and_check(output, "cpp")
}

fn build_and_check(output: &Output, language: &str) -> Result<Outcome> {
    let (_, build) =
        LANGUAGES.into_iter().find(|(name, _)| *name == language).context("an unknown language")?;
    check_session(output, language, build(output)?)
}

fn build_rust(output: &Output) -> Result<Built> {
    add_target(output)?;
    let here = copy::with_sdk(output, "rust")?;
    let mut cargo = command("cargo");
    cargo
        .args(["build", "--release", "--locked", "--target", TARGET, "--target-dir"])
        .arg(target(RUST_BUILD));
    output.run(cargo.current_dir(&here))?;
    Ok(Built::Component(target(RUST_BUILD).join(TARGET).join("release/changelog_rust.wasm")))
}

fn build_python(output: &Output) -> Result<Built> {
    let here = copy::with_sdk(output, "python")?;
    componentize_python(output, &here)?;
    Ok(Built::Component(here.join("changelog.wasm")))
}

/// Builds the component in a copy of the example.
fn componentize_python(output: &Output, here: &Path) -> Result<()> {
    let mut build = command(tools::author_tool("componentize-py"));
    build.args(["-w", "interactive-provider", "componentize", "provider", "-o", "changelog.wasm"]);
    output.run(build.current_dir(here))
}

/// Builds an example with the packages of its `package.json`.
fn npm(output: &Output, language: &str) -> Result<Built> {
    if !succeeds(command("npm").arg("--version")) {
        return missing("npm is not installed; it comes with Node: https://nodejs.org").map(Built::Skipped);
    }
    let here = copy::with_sdk(output, language)?;
    let npm = |args: &[&str]| {
        let mut npm = command("npm");
        npm.args(args).current_dir(&here);
        npm
    };
    // The external packages are pinned, and pin their dependencies. A lock file would contain only the binaries
    // for the system on which it was created.
    let install = ["install", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error"];
    output.install(&mut npm(&install))?;
    output.run(&mut npm(&["run", "build"]))?;
    Ok(Built::Component(here.join("changelog.wasm")))
}

/// Builds an example with `make`, this compiler and the built `larder`.
fn make(output: &Output, language: &str, tool: Tool) -> Result<Built> {
    if let Some(skipped) = tools::require_make_and(tool, output)? {
        return Ok(Built::Skipped(skipped));
    }
    let here = copy::with_sdk(output, language)?;
    let mut make = with_tools(command("make"))?;
    output.run(make.arg(format!("LARDER={}", larder().display())).current_dir(&here))?;
    Ok(Built::Component(here.join("changelog.wasm")))
}

/// Configures a command so that `PATH` begins with the built `larder` and the author tools, and caches are in
/// `target`.
#[expect(clippy::disallowed_methods, reason = "the lint is for the server's configuration")]
pub(crate) fn with_tools(mut command: Command) -> Result<Command> {
    let tools = target("authors/venv/bin");
    let inherited = std::env::var_os("PATH").unwrap_or_default();
    let path = [target("debug"), tools].into_iter().chain(std::env::split_paths(&inherited));
    let path = std::env::join_paths(path)?;
    if let Some(flags) = tools::make_flags() {
        command.env("MAKEFLAGS", flags);
    }
    command.env("PATH", path).env("GOPROXY", "off").env("GOTOOLCHAIN", "local");
    // Simulates a machine with a shared target folder. Projects must not depend on the default.
    command.env("CARGO_TARGET_DIR", target("examples/elsewhere"));
    command.env("GOCACHE", target("examples/go")).env("ZIG_GLOBAL_CACHE_DIR", target("examples/zig"));
    Ok(command)
}

/// Runs the session with this component.
fn check_session(output: &Output, language: &str, built: Built) -> Result<Outcome> {
    let component = match built {
        Built::Component(component) => component,
        Built::Skipped(skipped) => return Ok(skipped),
    };
    let dir: PathBuf = target("examples").join(format!("session-{language}"));
    if dir.exists() {
        fs::remove_dir_all(&dir)?;
    }
    fs::create_dir_all(dir.join("plugins"))?;
    let size = fs::copy(&component, dir.join("plugins/changelog.wasm"))
        .with_context(|| format!("{} was not built", component.display()))?;
    let count = session::run(output, &dir)?;
    output.run(command(larder()).args(["inspect", "--json"]).arg(&component))?;
    ensure!(count > 0, "the session has no commands");
    Ok(Outcome::PassedWithNote(format!("{} KiB, {count} commands", size.div_ceil(1024))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::root;

    /// The lines of a text, without indentation.
    fn lines(text: &str) -> Vec<&str> {
        text.lines().map(str::trim).collect()
    }

    #[test]
    fn the_guide_quotes_the_examples() {
        let folder = root().join("examples");
        let guide = fs::read_to_string(folder.join("README.md")).unwrap();
        let quotes: Vec<_> = guide.split("<!-- changelog-").skip(1).collect();
        for quote in &quotes {
            let (path, rest) = quote.split_once(" -->\n```").unwrap();
            let (_, rest) = rest.split_once('\n').unwrap();
            let (code, _) = rest.split_once("\n```").unwrap();
            let source = fs::read_to_string(folder.join(format!("changelog-{path}"))).unwrap();
            let (source, code) = (lines(&source), lines(code));
            assert!(source.windows(code.len()).any(|part| part == code), "{path} does not contain {code:#?}");
        }
        assert!(quotes.len() > 10);
    }
}
