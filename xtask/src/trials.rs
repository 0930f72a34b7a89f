//! Tests with the providers in `xtask/trials`: one in each language, with correct and faulty behaviour on
//! request. Each replaces the source of a project of `larder new`, is built in two revisions, and is loaded
//! by a running server.

mod server;
mod web;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::languages::{share_rust_target, with_tools};
use crate::plugins::{TARGET, add_target};
use crate::run::{Output, command, larder, root, target};
use crate::step::Outcome;
use crate::tools::{self, missing, succeeds};

/// A language and its project layout.
struct Language {
    name: &'static str,
    /// The source file of the provider.
    source: &'static str,
    /// An additional source file, which is the same in both builds.
    extra_source: Option<&'static str>,
    /// The command that installs tools; may be empty.
    install: &'static [&'static str],
    build: &'static [&'static str],
    component: &'static str,
    /// Log text with the location of an exception in the source file, if the language reports it.
    error_location: Option<&'static str>,
    /// Log text of a guest that terminates itself.
    exit_message: &'static str,
    /// Whether `larder dev` loads the program into a development component.
    has_development: bool,
}

pub(crate) fn rust(output: &Output) -> Result<Outcome> {
    add_target(output)?;
    let rust = Language {
        name: "rust",
        source: "src/lib.rs",
        extra_source: None,
        install: &[],
        build: &["cargo", "build", "--release", "--target", TARGET, "--target-dir", "target"],
        component: "target/wasm32-wasip2/release/provider.wasm",
        error_location: None,
        exit_message: "last words",
        has_development: false,
    };
    rust.check(output)
}

pub(crate) fn python(output: &Output) -> Result<Outcome> {
    let python = Language {
        name: "python",
        source: "trial.py",
        // The provider class is not in the main module of the component.
        extra_source: Some("app.py"),
        install: &[],
        build: &["componentize-py", "-w", "provider", "componentize", "app", "-o", "trial.wasm"],
        component: "trial.wasm",
        error_location: Some("trial.py"),
        exit_message: "last words",
        has_development: true,
    };
    python.check(output)
}

pub(crate) fn javascript(output: &Output) -> Result<Outcome> {
    check_npm_project(output, "javascript", "provider.js", "/provider.js:")
}

pub(crate) fn typescript(output: &Output) -> Result<Outcome> {
    // The place in the source, not in the bundle.
    check_npm_project(output, "typescript", "provider.ts", "(provider.ts:")
}

fn check_npm_project(
    output: &Output,
    name: &'static str,
    source: &'static str,
    error_location: &'static str,
) -> Result<Outcome> {
    if !succeeds(command("npm").arg("--version")) {
        return missing("npm is not installed; it comes with Node: https://nodejs.org");
    }
    let language = Language {
        name,
        source,
        extra_source: None,
        install: &["npm", "install", "--no-audit", "--no-fund", "--loglevel=error"],
        build: &["npm", "run", "build"],
        component: "trial.wasm",
        error_location: Some(error_location),
        exit_message: "expected string: FromJs",
        has_development: true,
    };
    language.check(output)
}

pub(crate) fn go(output: &Output) -> Result<Outcome> {
    if let Some(skipped) = tools::require_make_and(tools::go, output)? {
        return Ok(skipped);
    }
    check_make_project(output, "go", "main.go", Some("main.go:"))
}

pub(crate) fn c(output: &Output) -> Result<Outcome> {
    if let Some(skipped) = tools::require_make_and(tools::cc, output)? {
        return Ok(skipped);
    }
    check_make_project(output, "c", "app.c", None)
}

pub(crate) fn cpp(output: &Output) -> Result<Outcome> {
    if let Some(skipped) = tools::require_make_and(tools::cc, output)? {
        return Ok(skipped);
    }
    check_make_project(output, "cpp", "app.cpp", None)
}

fn check_make_project(
    output: &Output,
    name: &'static str,
    source: &'static str,
    error_location: Option<&'static str>,
) -> Result<Outcome> {
    let language = Language {
        name,
        source,
        extra_source: None,
        install: &[],
        build: &["make"],
        component: "trial.wasm",
        error_location,
        exit_message: "last words",
        has_development: false,
    };
    language.check(output)
}

/// The command of a line; none for an empty one.
fn line_command(here: &Path, line: &[&str]) -> Result<Option<Command>> {
    let Some((program, args)) = line.split_first() else { return Ok(None) };
    let mut command: Command = with_tools(command(program))?;
    command.args(args).env("LARDER", larder()).current_dir(here);
    Ok(Some(command))
}

impl Language {
    fn check(&self, output: &Output) -> Result<Outcome> {
        let dir = target("examples").join(format!("trial-{}", self.name));
        if dir.exists() {
            fs::remove_dir_all(&dir)?;
        }
        fs::create_dir_all(&dir)?;
        let new = ["new", "trial", "--lang", self.name];
        output.run(command(larder()).args(new).current_dir(&dir))?;
        let here = dir.join("trial");
        if self.name == "rust" {
            share_rust_target(&here)?;
        }
        if let Some(mut install) = line_command(&here, self.install)? {
            output.install(&mut install)?;
        }
        let builds = [self.build(output, &here, "first")?, self.build(output, &here, "second")?];
        let tested = server::run(output, &dir, &builds, self)?;
        let development = tested.development.map(|duration| {
            format!(", the same with `larder dev`, which served a save after {:.2} s", duration.as_secs_f64())
        });
        let note = format!("{} cases{}", tested.cases, development.unwrap_or_default());
        Ok(Outcome::PassedWithNote(note))
    }

    /// Writes a revision: the source with `first` replaced by this name.
    fn write(&self, here: &Path, revision: &str) -> Result<()> {
        let name = Path::new(self.source).file_name().context("a file has a name")?;
        let text = fs::read_to_string(root().join("xtask/trials").join(name))?;
        Ok(fs::write(here.join(self.source), text.replace("\"first\"", &format!("\"{revision}\"")))?)
    }

    /// Builds a revision.
    fn build(&self, output: &Output, here: &Path, revision: &str) -> Result<PathBuf> {
        if let Some(extra) = self.extra_source {
            fs::copy(root().join("xtask/trials").join(extra), here.join(extra))?;
        }
        self.write(here, revision)?;
        if let Some(mut build) = line_command(here, self.build)? {
            output.run(&mut build)?;
        }
        let copy = here.with_file_name(format!("{revision}.wasm"));
        let built = here.join(self.component);
        fs::copy(&built, &copy).with_context(|| format!("{} was not built", built.display()))?;
        Ok(copy)
    }
}
