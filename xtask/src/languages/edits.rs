//! Edits of a project while `larder dev` is running.

use std::fs;
use std::time::Duration;

use anyhow::{Result, bail, ensure};

use super::language::Development;
use super::project::{Project, greeting};
use super::shell;
use super::trial::Trial;
use crate::run::{command, larder};
use crate::server::RunningServer;
use crate::wait::wait_for;

/// What `larder dev` prints before it builds a development component.
const BUILDING: &str = "building the development component";

/// A project under `larder dev`.
struct EditedProject<'a> {
    project: &'a Project<'a>,
    server: RunningServer,
    /// The source when the project was created.
    source: String,
    /// The name in the current greeting.
    greeted: &'static str,
}

/// Changes the source under `larder dev`. If it loads the program into a development component, the trial is checked
/// too. Returns the shortest time from a save to its response.
pub(super) fn check(project: &Project<'_>, trial: &Trial<'_>) -> Result<Duration> {
    let mut edited = EditedProject::start(project, trial)?;
    let mut duration = edited.greet("moon")?;
    if let Some(development) = &project.language.development {
        for name in ["sun", "sea", "sky"] {
            duration = duration.min(edited.greet(name)?);
        }
        edited.check_failure(development)?;
        ensure!(edited.builds() == 1, "a save alone built a component");
        if let Some(file) = development.dependencies {
            edited.check_dependencies(file)?;
        }
        trial.check_development(&edited.server)?;
        ensure!(
            edited.builds() > 1,
            "the development component was not built again"
        );
    }
    edited.server.stop()?;
    Ok(duration)
}

impl<'a> EditedProject<'a> {
    fn start(project: &'a Project<'a>, trial: &Trial<'_>) -> Result<Self> {
        let file = project.language.source;
        let source = fs::read_to_string(project.here.join(file))?;
        ensure!(
            source.contains("\"world\""),
            "`\"world\"` is missing in {file}"
        );
        let mut dev = shell::with_tools(command(larder()))?;
        dev.args(["dev", ".", "--listen", "127.0.0.1:0", "--config"])
            .arg(trial.config());
        dev.current_dir(&project.here);
        let server = RunningServer::spawn(dev, project.output)?;
        let edited = Self {
            project,
            server,
            source,
            greeted: "world",
        };
        wait_for("the first load", || {
            Ok(edited.read().is_ok_and(|text| text == greeting("world")))
        })?;
        Ok(edited)
    }

    fn read(&self) -> Result<String> {
        self.project.read("hello", ["--url", &self.server.url])
    }

    /// Greets another name, and waits for the new response. Until then, every read must return the old response, even
    /// during the build.
    fn greet(&mut self, name: &'static str) -> Result<Duration> {
        let (before, after) = (greeting(self.greeted), greeting(name));
        self.save(&self.source.replace("\"world\"", &format!("{name:?}")))?;
        let duration = wait_for("the edited response", || match self.read()? {
            text if text == after => Ok(true),
            text if text == before => Ok(false),
            other => bail!("unexpected response {other:?}"),
        })?;
        self.greeted = name;
        Ok(duration)
    }

    fn save(&self, text: &str) -> Result<()> {
        Ok(fs::write(
            self.project.here.join(self.project.language.source),
            text,
        )?)
    }

    /// Waits for a new line in the output of `larder dev`.
    fn wait_for_output(&self, before: &str, expected: &str) -> Result<()> {
        let count = |text: &str| text.lines().filter(|line| line.contains(expected)).count();
        let known = count(before);
        let is_new = || Ok(count(&self.project.output.contents()) > known);
        wait_for(&format!("`{expected}` in the output"), is_new).map(drop)
    }

    /// A program that fails is reported with the line, and the last working program stays in service.
    fn check_failure(&mut self, development: &Development) -> Result<()> {
        let before = self.project.output.contents();
        let line = self.source.lines().count() + 1;
        self.save(&format!("{}{}\n", self.source, development.failure))?;
        self.wait_for_output(
            &before,
            &format!(
                "{} ({}:{line})",
                development.message, self.project.language.source
            ),
        )?;
        let text = self.read()?;
        ensure!(
            text == greeting(self.greeted),
            "the last good program is not served: {text:?}"
        );
        self.greet("wind").map(drop)
    }

    /// Changes the file with the versions of packages, and waits until the development component was built again.
    fn check_dependencies(&mut self, file: &str) -> Result<()> {
        let before = self.project.output.contents();
        let path = self.project.here.join(file);
        let text = fs::read_to_string(&path).unwrap_or_default();
        fs::write(path, text + "\n")?;
        self.wait_for_output(&before, BUILDING)?;
        self.wait_for_output(&before, "rebuilt in ")?;
        self.greet("snow").map(drop)
    }

    /// The number of builds of the development component: one at the start, and one for each change that needs it.
    fn builds(&self) -> usize {
        self.project.output.contents().matches(BUILDING).count()
    }
}
