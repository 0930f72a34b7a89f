//! Tests of `larder new`. For each language, a project is created, built with the commands in its own README,
//! tested with its own tests, and edited while `larder dev` is running.

mod edits;
mod surroundings;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use self::edits::Development;
use crate::languages::{share_rust_target, with_tools};
use crate::plugins::add_target;
use crate::run::{Output, command, larder, root, target};
use crate::step::Outcome;
use crate::tools::{self, missing, succeeds};

const NAME: &str = "my-notes";
const HELLO: &str = "Hello, world!\n";
/// A project that `larder new` creates for a language.
struct Project {
    language: &'static str,
    /// The source file that its author edits.
    source: &'static str,
    /// The command in its README that runs its tests.
    test: &'static str,
    /// A folder with dependencies that is kept between runs.
    cached: Option<&'static str>,
    /// How `larder dev` avoids building a component after each save.
    development: Option<Development>,
}

pub(crate) fn rust(output: &Output) -> Result<Outcome> {
    add_target(output)?;
    let project = Project {
        language: "rust",
        source: "src/lib.rs",
        test: "cargo test",
        cached: None,
        development: None,
    };
    project.check(output)
}

pub(crate) fn python(output: &Output) -> Result<Outcome> {
    let test = "python test_provider.py";
    let development = Development {
        failure: "raise ValueError(\"broken\")",
        message: "ValueError: broken (app.py",
        new_import: Some("import csv"),
        dependencies: "requirements.txt",
    };
    let development = Some(development);
    Project { language: "python", source: "app.py", test, cached: None, development }.check(output)
}

pub(crate) fn javascript(output: &Output) -> Result<Outcome> {
    npm_project(output, "javascript", "provider.js", "RangeError: broken (provider.js")
}

pub(crate) fn typescript(output: &Output) -> Result<Outcome> {
    npm_project(output, "typescript", "provider.ts", "RangeError: broken (provider.ts")
}

fn npm_project(
    output: &Output,
    language: &'static str,
    source: &'static str,
    message: &'static str,
) -> Result<Outcome> {
    let new_enough = "process.exit(+(parseInt(process.versions.node) < 20))";
    if !succeeds(command("node").args(["-e", new_enough])) || !succeeds(command("npm").arg("--version")) {
        return missing("Node 20 or newer with npm is not installed: https://nodejs.org");
    }
    if language == "javascript" {
        surroundings::check_workspace(output)?;
    }
    let (test, cached) = ("npm test", Some("node_modules"));
    let failure = "throw new RangeError(\"broken\");";
    let development = Development { failure, message, new_import: None, dependencies: "package.json" };
    Project { language, source, test, cached, development: Some(development) }.check(output)
}

pub(crate) fn go(output: &Output) -> Result<Outcome> {
    if let Some(skipped) = tools::require_make_and(tools::go, output)? {
        return Ok(skipped);
    }
    check_reserved_name(output)?;
    make_project("go", "main.go").check(output)
}

pub(crate) fn c(output: &Output) -> Result<Outcome> {
    if let Some(skipped) = tools::require_make_and(tools::cc, output)? {
        return Ok(skipped);
    }
    make_project("c", "app.c").check(output)
}

pub(crate) fn cpp(output: &Output) -> Result<Outcome> {
    if let Some(skipped) = tools::require_make_and(tools::cc, output)? {
        return Ok(skipped);
    }
    make_project("cpp", "app.cpp").check(output)
}

fn make_project(language: &'static str, source: &'static str) -> Project {
    Project { language, source, test: "make test", cached: None, development: None }
}

/// Checks a project with the same name as a package of Go's standard library that the SDK imports.
fn check_reserved_name(output: &Output) -> Result<()> {
    let here = target("new/go-log");
    if here.exists() {
        fs::remove_dir_all(&here)?;
    }
    fs::create_dir_all(target("new"))?;
    output.run(command(larder()).args(["new", "log", "--lang", "go", "--path"]).arg(&here))?;
    shell(output, &here, "make")
}

impl Project {
    fn check(&self, output: &Output) -> Result<Outcome> {
        self.check_interactive(output)?;
        let here = self.create(output, self.language, &[])?;
        if self.test == "make test" {
            surroundings::check_missing_compiler(&here, self.language)?;
        }
        self.build_and_test(output, &here)?;
        if self.language == "rust" {
            surroundings::check_names(&here.join("PLUGINS").join(format!("{NAME}.wasm")))?;
        }
        ensure!(read_greeting(&here, ["--plugins", "PLUGINS"])? == HELLO, "unexpected greeting");
        let duration = edits::check(output, &here, self)?;
        Ok(Outcome::PassedWithNote(format!("served {:.2} s after a save", duration.as_secs_f64())))
    }

    /// Checks the project that `larder new --interactive` creates.
    fn check_interactive(&self, output: &Output) -> Result<()> {
        let here = self.create(output, &format!("{}-interactive", self.language), &["--interactive"])?;
        self.build_and_test(output, &here)?;
        let mut check = command(larder());
        let check = check.arg("check").arg(here.join(format!("PLUGINS/{NAME}.wasm"))).output()?;
        let text = String::from_utf8(check.stdout)?;
        ensure!(check.status.success(), "larder check: {text}");
        for line in ["tools     greet", "prompts   welcome", "search    ", "settings  greeting"] {
            ensure!(text.contains(&format!("ok      {line}")), "`{line}` is missing: {text}");
        }
        Ok(())
    }

    /// Runs the commands in the README, and the tests of the project.
    fn build_and_test(&self, output: &Output, here: &Path) -> Result<()> {
        let readme = fs::read_to_string(here.join("README.md"))?;
        let [install, build, deploy] = readme_commands(&readme)?;
        ensure!(readme.contains(&format!("`{}`", self.test)), "`{}` is missing in the README", self.test);
        check_pinned_versions(install)?;
        check_pinned_versions(&fs::read_to_string(here.join("Makefile")).unwrap_or_default())?;
        // Without rustup or pip, the tools were installed in a different way.
        let installer = install.split_whitespace().next().unwrap_or_default();
        if succeeds(with_tools(command(installer))?.arg("--version")) {
            install_packages(output, here, install)?;
        }
        shell(output, here, build)?;
        fs::create_dir(here.join("PLUGINS"))?;
        shell(output, here, deploy)?;
        shell(output, here, self.test)
    }

    /// Creates a new project, and moves the cached dependencies of the previous run into it.
    fn create(&self, output: &Output, folder: &str, options: &[&str]) -> Result<PathBuf> {
        let (here, saved) = (target("new").join(folder), target("new").join(format!("{folder}-cached")));
        fs::create_dir_all(target("new"))?;
        let cached = self.cached.map(|cached| here.join(cached));
        if let Some(cached) = cached.as_ref().filter(|cached| cached.exists() && !saved.exists()) {
            fs::rename(cached, &saved)?;
        }
        if here.exists() {
            fs::remove_dir_all(&here).with_context(|| format!("cannot remove {}", here.display()))?;
        }
        let mut new = command(larder());
        new.args(["new", NAME, "--lang", self.language]).args(options);
        output.run(new.arg("--path").arg(&here))?;
        if let Some(cached) = cached.filter(|_| saved.exists()) {
            fs::rename(&saved, cached)?;
        }
        if self.language == "rust" {
            share_rust_target(&here)?;
        }
        Ok(here)
    }
}

/// The three commands of a README: install tools, build, copy the component to the plugins folder.
fn readme_commands(readme: &str) -> Result<[&str; 3]> {
    let (_, rest) = readme.split_once("```sh\n").context("the README has no commands")?;
    let (block, _) = rest.split_once("```").context("the README's command block is not closed")?;
    let lines: Vec<&str> = block.lines().collect();
    lines.try_into().map_err(|lines| anyhow::anyhow!("expected three commands in the README: {lines:?}"))
}

/// Checks that install commands use the tool versions with which the tests run.
fn check_pinned_versions(install: &str) -> Result<()> {
    let pinned = fs::read_to_string(root().join("examples/requirements.txt"))?;
    let packages = install.split_whitespace().filter(|word| word.contains("=="));
    for package in packages.map(|word| word.trim_matches(['\'', '"'])) {
        ensure!(pinned.lines().any(|line| line == package), "{package} is not in examples/requirements.txt");
    }
    Ok(())
}

/// Runs a command line in a shell.
fn shell(output: &Output, here: &Path, line: &str) -> Result<()> {
    output.run(&mut shell_command(here, line)?)
}

/// Runs a line that installs packages.
fn install_packages(output: &Output, here: &Path, line: &str) -> Result<()> {
    output.install(&mut shell_command(here, line)?)
}

fn shell_command(here: &Path, line: &str) -> Result<Command> {
    let mut shell = with_tools(command("sh"))?;
    shell.args(["-c", line]).env("PIP_DISABLE_PIP_VERSION_CHECK", "1").current_dir(here);
    Ok(shell)
}

/// Reads the project's greeting, either from a server or from a plugins folder.
fn read_greeting(here: &Path, source: [&str; 2]) -> Result<String> {
    let mut read = command(larder());
    let read = read.arg("read").arg(format!("{NAME}://hello")).args(source).current_dir(here).output()?;
    ensure!(read.status.success(), "larder read: {}", String::from_utf8_lossy(&read.stderr));
    Ok(String::from_utf8(read.stdout)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_three_commands_of_a_readme() {
        let block = |lines: &str| {
            readme_commands(&format!("# x\n\n```sh\n{lines}```\n")).map(|lines| lines.join("|"))
        };
        assert_eq!(block("a # 1\nb\nc\n").unwrap(), "a # 1|b|c");
        assert!(block("a\nb\n").is_err() && readme_commands("# x\n").is_err());
    }

    #[test]
    fn rejects_tools_that_are_not_pinned() {
        assert!(check_pinned_versions("npm install").is_ok());
        assert!(check_pinned_versions("pip install unknown-package==1  # tools").is_err());
    }
}
