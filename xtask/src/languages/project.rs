//! A project of `larder new`. It is built with the commands in its own README, and tested with its own tests.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use super::language::Language;
use super::{folder, shell};
use crate::run::{Output, command, larder, root};
use crate::tools::succeeds;

/// A project in this folder.
pub(super) struct Project<'a> {
    pub(super) output: &'a Output,
    pub(super) language: &'static Language,
    pub(super) name: &'static str,
    pub(super) here: PathBuf,
}

impl<'a> Project<'a> {
    /// Creates a project in the folder of its language.
    pub(super) fn create(
        output: &'a Output,
        language: &'static Language,
        options: &[&str],
    ) -> Result<Self> {
        let name = language.project;
        let here = folder::replace_with_new(output, language.name, name, options)?;
        fs::create_dir(here.join("PLUGINS"))?;
        if language.name == "rust" {
            share_dependencies(&here)?;
        }
        Ok(Self {
            output,
            language,
            name,
            here,
        })
    }

    /// Checks the project that `larder new` creates.
    pub(super) fn check(&self) -> Result<()> {
        self.install_and_test()?;
        if self.language.name == "rust" {
            self.check_names()?;
        }
        let text = self.read("hello", ["--plugins", "PLUGINS"])?;
        ensure!(text == greeting("world"), "unexpected greeting {text:?}");
        Ok(())
    }

    /// Checks the project that `larder new --interactive` creates.
    pub(super) fn check_interactive(&self) -> Result<()> {
        self.install_and_test()?;
        let check = command(larder())
            .arg("check")
            .arg(self.component())
            .output()?;
        let text = String::from_utf8(check.stdout)?;
        ensure!(check.status.success(), "larder check: {text}");
        for line in [
            "tools     greet",
            "prompts   welcome",
            "search    ",
            "settings  greeting",
        ] {
            ensure!(
                text.contains(&format!("ok      {line}")),
                "`{line}` is missing: {text}"
            );
        }
        Ok(())
    }

    /// Checks the project that `larder new --kind function` creates.
    pub(super) fn check_functions(&self) -> Result<()> {
        let readme = self.file("README.md")?;
        let [install, build, deploy] = readme_commands(&readme)?;
        self.check_build_command(build)?;
        check_pinned_versions(install)?;
        let test = self.language.test.replace("provider", "functions");
        ensure!(
            readme.contains(&format!("`{test}`")),
            "`{test}` is missing in the README"
        );
        self.install(install)?;
        shell::run(self.output, &self.here, &test)?;
        // The test in Python has built the component with the same command, which takes half a minute.
        if self.language.name != "python" {
            shell::run(self.output, &self.here, build)?;
        }
        shell::run(self.output, &self.here, deploy)?;
        let bytes = fs::read(self.component())?;
        let docs = b"Returns the mean of some numbers.";
        ensure!(
            bytes.windows(docs.len()).any(|part| part == docs),
            "the component has no documentation"
        );
        Ok(())
    }

    /// Runs the commands in the README. The tests of the project build it with the same command.
    fn install_and_test(&self) -> Result<()> {
        let readme = self.file("README.md")?;
        let [install, build, deploy] = readme_commands(&readme)?;
        self.check_build_command(build)?;
        let test = self.language.test;
        ensure!(
            readme.contains(&format!("`{test}`")),
            "`{test}` is missing in the README"
        );
        check_pinned_versions(install)?;
        check_pinned_versions(&self.file("Makefile").unwrap_or_default())?;
        self.install(install)?;
        shell::run(self.output, &self.here, test)?;
        shell::run(self.output, &self.here, deploy)?;
        let mut session = command(larder());
        session.arg("test").arg(self.component());
        self.output
            .run(session.arg("session.md").current_dir(&self.here))
    }

    /// Runs the install command of the README. Without rustup or pip, the tools were installed in a different way.
    fn install(&self, line: &str) -> Result<()> {
        let installer = line.split_whitespace().next().unwrap_or_default();
        if succeeds(shell::with_tools(command(installer))?.arg("--version")) {
            shell::run(self.output, &self.here, line)?;
        }
        Ok(())
    }

    /// Checks that the README and `larder-dev.toml` have the same command.
    fn check_build_command(&self, build: &str) -> Result<()> {
        let words: Vec<&str> = build
            .split_whitespace()
            .take_while(|word| *word != "#")
            .collect();
        let project = self.file("larder-dev.toml")?.replace("\"--silent\", ", "");
        let expected = format!("{words:?}");
        ensure!(
            project.contains(&expected),
            "`{expected}` is missing in larder-dev.toml"
        );
        Ok(())
    }

    /// Builds the component with the commands in the README. Returns its path.
    pub(super) fn build(&self) -> Result<PathBuf> {
        let readme = self.file("README.md")?;
        let [_, build, deploy] = readme_commands(&readme)?;
        shell::run(self.output, &self.here, build)?;
        shell::run(self.output, &self.here, deploy)?;
        Ok(self.component())
    }

    /// The path of the component that was built and deployed last.
    pub(super) fn component(&self) -> PathBuf {
        self.here.join(format!("PLUGINS/{}.wasm", self.name))
    }

    /// Checks that a component in Rust contains the names of its functions, so that a trap has a backtrace.
    fn check_names(&self) -> Result<()> {
        let bytes = fs::read(self.component())?;
        let name = b"rust_panic";
        ensure!(
            bytes.windows(name.len()).any(|part| part == name),
            "the component has no names of functions"
        );
        Ok(())
    }

    fn file(&self, name: &str) -> Result<String> {
        fs::read_to_string(self.here.join(name)).with_context(|| format!("cannot read {name}"))
    }

    /// Reads a resource of the project, either from a server or from a plugins folder.
    pub(super) fn read(&self, path: &str, source: [&str; 2]) -> Result<String> {
        let mut read = command(larder());
        read.arg("read")
            .arg(format!("{}://{path}", self.name))
            .args(source)
            .current_dir(&self.here);
        let read = read.output()?;
        ensure!(
            read.status.success(),
            "larder read: {}",
            String::from_utf8_lossy(&read.stderr)
        );
        Ok(String::from_utf8(read.stdout)?)
    }
}

/// Gives a project in Rust the same versions of dependencies as the example. With other versions, all dependencies would be
/// compiled again. The dependency on `syn` selects the features that the macros of the example need, so that the macros are
/// not compiled again either.
fn share_dependencies(project: &Path) -> Result<()> {
    let lock = root().join("examples/changelog-rust/Cargo.lock");
    fs::copy(lock, project.join("Cargo.lock"))?;
    let mut manifest = OpenOptions::new()
        .append(true)
        .open(project.join("Cargo.toml"))?;
    Ok(manifest.write_all(b"\n[build-dependencies]\nsyn = \"3\"\n")?)
}

/// The response of a project whose author wrote this name.
pub(super) fn greeting(name: &str) -> String {
    format!("Hello, {name}!\n")
}

/// The three commands of a README: install tools, build, copy the component to the plugins folder.
fn readme_commands(readme: &str) -> Result<[&str; 3]> {
    let (_, rest) = readme
        .split_once("```sh\n")
        .context("the README has no commands")?;
    let (block, _) = rest
        .split_once("```")
        .context("the README's command block is not closed")?;
    let lines: Vec<&str> = block.lines().collect();
    lines
        .try_into()
        .map_err(|lines| anyhow::anyhow!("expected three commands in the README: {lines:?}"))
}

/// Checks that install commands use the tool versions with which the tests run.
fn check_pinned_versions(install: &str) -> Result<()> {
    let pinned = fs::read_to_string(root().join("examples/requirements.txt"))?;
    let packages = install
        .split_whitespace()
        .filter(|word| word.contains("=="));
    for package in packages.map(|word| word.trim_matches(['\'', '"'])) {
        ensure!(
            pinned.lines().any(|line| line == package),
            "{package} is not in examples/requirements.txt"
        );
    }
    Ok(())
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
