//! Edits of a project while `larder dev` is running.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};

use super::{HELLO, Project, read_greeting};
use crate::languages::with_tools;
use crate::run::{Output, command, larder};
use crate::server::RunningServer;

/// Longer than building the project and compiling its component takes on a loaded machine.
const TIMEOUT: Duration = Duration::from_secs(300);

/// A language with a development component, which loads the program. So a save does not build a component.
pub(super) struct Development {
    /// A line that fails when the module runs.
    pub(super) failure: &'static str,
    /// What is printed for it, up to the number of the line.
    pub(super) message: &'static str,
    /// A line for the beginning that needs something that the development component does not contain.
    pub(super) new_import: Option<&'static str>,
    /// A file whose change builds the development component again.
    pub(super) dependencies: &'static str,
}

/// A project under `larder dev`.
struct Edited<'a> {
    output: &'a Output,
    here: &'a Path,
    server: RunningServer,
    /// The source when the project was created.
    source: String,
    file: &'static str,
    /// The name in the greeting that is served.
    greeted: &'static str,
}

/// Changes the source under `larder dev`. Returns the shortest time from a save to its response.
pub(super) fn check(output: &Output, here: &Path, project: &Project) -> Result<Duration> {
    let mut dev = with_tools(command(larder()))?;
    dev.args(["dev", ".", "--listen", "127.0.0.1:0"]).current_dir(here);
    let server = RunningServer::spawn(dev, output)?;
    let source = fs::read_to_string(here.join(project.source))?;
    ensure!(source.contains("\"world\""), "`\"world\"` is missing in {}", project.source);
    let mut edited = Edited { output, here, server, source, file: project.source, greeted: "world" };
    wait_for("the first load", || Ok(edited.read().is_ok_and(|text| text == HELLO)))?;
    let mut duration = edited.greet("moon", "")?;
    if let Some(development) = &project.development {
        for name in ["sun", "sea", "sky"] {
            duration = duration.min(edited.greet(name, "")?);
        }
        edited.check_failure(development)?;
        edited.check_dependencies(development)?;
    }
    edited.server.stop()?;
    Ok(duration)
}

impl Edited<'_> {
    fn read(&self) -> Result<String> {
        read_greeting(self.here, ["--url", &self.server.url])
    }

    /// Greets another name, and waits for the new response. Until then, every read must return the old response, even
    /// during the build.
    fn greet(&mut self, name: &'static str, prefix: &str) -> Result<Duration> {
        let greeting = |name: &str| format!("Hello, {name}!\n");
        let (before, after) = (greeting(self.greeted), greeting(name));
        self.save(&format!("{prefix}{}", self.source.replace("\"world\"", &format!("{name:?}"))))?;
        let duration = wait_for("the edited response", || match self.read()? {
            text if text == after => Ok(true),
            text if text == before => Ok(false),
            other => bail!("unexpected response {other:?}"),
        })?;
        self.greeted = name;
        Ok(duration)
    }

    fn save(&self, text: &str) -> Result<()> {
        Ok(fs::write(self.here.join(self.file), text)?)
    }

    /// Waits for a new line in the output of `larder dev`.
    fn wait_for_output(&self, before: &str, expected: &str) -> Result<()> {
        let count = |text: &str| text.lines().filter(|line| line.contains(expected)).count();
        let known = count(before);
        wait_for(&format!("`{expected}` in the output"), || Ok(count(&self.output.contents()) > known))
            .map(drop)
    }

    /// A program that fails is reported with the line, and the last good one stays in service.
    fn check_failure(&mut self, development: &Development) -> Result<()> {
        let before = self.output.contents();
        let line = self.source.lines().count() + 1;
        self.save(&format!("{}{}\n", self.source, development.failure))?;
        self.wait_for_output(&before, &format!("{}:{line})", development.message))?;
        let text = self.read()?;
        ensure!(
            text == format!("Hello, {}!\n", self.greeted),
            "the last good program is not served: {text:?}"
        );
        self.greet("wind", "").map(drop)
    }

    /// What the development component lacks, or contains in another version, is built into it.
    fn check_dependencies(&mut self, development: &Development) -> Result<()> {
        if let Some(import) = development.new_import {
            self.greet("rain", &format!("{import}\n"))?;
        }
        let before = self.output.contents();
        let path = self.here.join(development.dependencies);
        let text = fs::read_to_string(&path).unwrap_or_default();
        fs::write(path, text + "\n")?;
        self.wait_for_output(&before, "building the development component")?;
        self.wait_for_output(&before, "rebuilt in ")?;
        self.greet("snow", "").map(drop)
    }
}

/// Waits for a condition and returns how long it took.
fn wait_for(what: &str, mut condition: impl FnMut() -> Result<bool>) -> Result<Duration> {
    let start = Instant::now();
    while !condition()? {
        ensure!(start.elapsed() < TIMEOUT, "timed out after {TIMEOUT:?}: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(start.elapsed())
}
