//! `xtask/trials`: one provider in each language that does what it is asked to do, good or bad. Each takes the place of
//! the greetings in a project of `larder new`, is built twice, and meets a running server.

mod server;
mod web;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::languages::with_tools;
use crate::plugins::{TARGET, add_target};
use crate::run::{Output, command, larder, root, target};
use crate::step::Outcome;
use crate::tools::{self, missing, works};

/// What there is to know of a language and its projects.
struct Language {
    name: &'static str,
    /// The file that is its author's.
    own: &'static str,
    /// One that stands beside it, and is the same for both builds.
    beside: Option<&'static str>,
    tools: &'static [&'static str],
    build: &'static [&'static str],
    component: &'static str,
    /// What the log says where it went wrong in the author's file.
    blames: Option<&'static str>,
    /// What the log says of a guest that is ended.
    last_words: &'static str,
}

pub(crate) fn rust(output: &Output) -> Result<Outcome> {
    add_target(output)?;
    let rust = Language {
        name: "rust",
        own: "src/lib.rs",
        beside: None,
        tools: &[],
        build: &["cargo", "build", "--release", "--target", TARGET, "--target-dir", "target"],
        component: "target/wasm32-wasip2/release/provider.wasm",
        blames: None,
        last_words: "last words",
    };
    rust.check(output)
}

pub(crate) fn python(output: &Output) -> Result<Outcome> {
    let python = Language {
        name: "python",
        own: "trial.py",
        // The class is of another module than the one that is built.
        beside: Some("app.py"),
        tools: &[],
        build: &["componentize-py", "-w", "provider", "componentize", "app", "-o", "trial.wasm"],
        component: "trial.wasm",
        blames: Some("trial.py"),
        last_words: "last words",
    };
    python.check(output)
}

pub(crate) fn javascript(output: &Output) -> Result<Outcome> {
    if !works(command("npm").arg("--version")) {
        return missing("npm is not installed; it comes with Node: https://nodejs.org");
    }
    let javascript = Language {
        name: "javascript",
        own: "provider.js",
        beside: None,
        tools: &["npm", "install", "--no-audit", "--no-fund", "--loglevel=error"],
        build: &["npm", "run", "build"],
        component: "trial.wasm",
        blames: Some("/provider.js:"),
        last_words: "expected string: FromJs",
    };
    javascript.check(output)
}

pub(crate) fn go(output: &Output) -> Result<Outcome> {
    if let Some(without) = tools::made_by(tools::go, output)? {
        return Ok(without);
    }
    made(output, "go", "main.go", Some("main.go:"))
}

pub(crate) fn c(output: &Output) -> Result<Outcome> {
    if let Some(without) = tools::made_by(tools::cc, output)? {
        return Ok(without);
    }
    made(output, "c", "app.c", None)
}

fn made(
    output: &Output,
    name: &'static str,
    own: &'static str,
    blames: Option<&'static str>,
) -> Result<Outcome> {
    let (component, last_words) = ("trial.wasm", "last words");
    Language { name, own, beside: None, tools: &[], build: &["make"], component, blames, last_words }
        .check(output)
}

impl Language {
    fn check(&self, output: &Output) -> Result<Outcome> {
        let at = target("examples").join(format!("trial-{}", self.name));
        if at.exists() {
            fs::remove_dir_all(&at)?;
        }
        fs::create_dir_all(&at)?;
        let new = ["new", "trial", "--lang", self.name];
        output.run(command(larder()).args(new).current_dir(&at))?;
        let here = at.join("trial");
        self.run(output, &here, self.tools)?;
        let builds = [self.built(output, &here, "first")?, self.built(output, &here, "second")?];
        let asked = server::hold(output, &at, &builds, self)?;
        Ok(Outcome::Noted(format!("{asked} questions")))
    }

    fn run(&self, output: &Output, here: &Path, words: &[&str]) -> Result<()> {
        let Some((program, words)) = words.split_first() else { return Ok(()) };
        let mut run: Command = with_tools(command(program))?;
        run.args(words).env("LARDER", larder());
        output.run(run.current_dir(here))
    }

    /// The trial with this word in the place of `first`.
    fn built(&self, output: &Output, here: &Path, word: &str) -> Result<PathBuf> {
        let name = Path::new(self.own).file_name().context("a file has a name")?;
        let trials = root().join("xtask/trials");
        let text = fs::read_to_string(trials.join(name))?;
        if let Some(beside) = self.beside {
            fs::copy(trials.join(beside), here.join(beside))?;
        }
        fs::write(here.join(self.own), text.replace("\"first\"", &format!("\"{word}\"")))?;
        self.run(output, here, self.build)?;
        let kept = here.with_file_name(format!("{word}.wasm"));
        let built = here.join(self.component);
        fs::copy(&built, &kept).with_context(|| format!("no {} was built", built.display()))?;
        Ok(kept)
    }
}
