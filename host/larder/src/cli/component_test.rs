//! `larder test`: runs a component with the commands of a file, and compares what they print.

mod comparison;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::{Args, ValueHint};
use tempfile::{NamedTempFile, TempDir};

use super::error::CommandError;
use super::{Outcome, out, temp_plugins};
use larder_author::{Case, Cases};

/// The beginning of the name of a configuration that a case uses.
const CONFIG_PREFIX: &str = ".larder-test-";

/// Run commands with a component, and compare their output with a file
///
/// The file is Markdown. A block of `toml` is the configuration of the blocks that follow it, without `plugins`. A block
/// of `console` has lines such as `$ larder list`, each followed by its output. Each command runs with the component
/// under all limits of the configuration, and nothing is granted that the configuration does not grant. Paths in the
/// configuration are relative to the file. JSON is compared by its value, tables without the spaces between their
/// columns, and `[..]` is any text.
#[derive(Debug, Args)]
#[command(after_help = "Exit code 1 if an output differs.")]
pub(super) struct Test {
    /// The component
    #[arg(value_name = "FILE.wasm", value_hint = ValueHint::FilePath)]
    component: PathBuf,
    /// The commands and their output
    #[arg(value_name = "CASES.md", default_value = "session.md", value_hint = ValueHint::FilePath)]
    cases: PathBuf,
    /// Write the output of the commands to the file, where it differs
    #[arg(long)]
    update: bool,
}

/// What the commands of all cases use.
struct Surroundings {
    /// The component, alone in a folder.
    plugins: TempDir,
    /// What the server stores.
    state: TempDir,
    /// Relative paths of configurations are relative to this folder.
    folder: PathBuf,
}

impl Test {
    pub(super) fn run(self) -> Result<Outcome, CommandError> {
        let text = read(&self.cases)?;
        let mut cases = Cases::parse(&text).map_err(|error| CommandError::Cases {
            path: self.cases.clone(),
            error,
        })?;
        let surroundings = Surroundings::create(&self.component, &self.cases)?;
        let mut differences = 0;
        for at in 0..cases.count() {
            let case = cases.case(at);
            let actual = surroundings.run(&case)?;
            let is_equal = comparison::is_equal(case.expected, &actual);
            out::text(&report(&case, &actual, is_equal))?;
            if !is_equal {
                differences += 1;
                cases.set_output(at, &actual);
            }
        }
        if self.update && differences > 0 {
            return self.update(cases, differences);
        }
        out::text(&summary(cases.count(), differences))?;
        Ok(Outcome::success_if(differences == 0))
    }

    fn update(&self, cases: Cases, differences: usize) -> Result<Outcome, CommandError> {
        let text = cases.into_text().map_err(|error| CommandError::Cases {
            path: self.cases.clone(),
            error,
        })?;
        fs::write(&self.cases, text).map_err(CommandError::file(&self.cases))?;
        let path = self.cases.display();
        out::text(&format!("\nwrote {differences} outputs to {path}\n"))?;
        Ok(Outcome::Success)
    }
}

fn read(path: &Path) -> Result<String, CommandError> {
    fs::read_to_string(path).map_err(CommandError::input(path))
}

fn report(case: &Case<'_>, actual: &str, is_equal: bool) -> String {
    let command = case.arguments.join(" ");
    if is_equal {
        return format!("ok       larder {command}\n");
    }
    let expected = indented(case.expected);
    let actual = indented(actual);
    format!("DIFFERS  larder {command}\n  expected:\n{expected}  actual:\n{actual}")
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}

fn summary(count: usize, differences: usize) -> String {
    match differences {
        0 => format!("\nall {count} outputs are as expected\n"),
        _ => format!(
            "\n{differences} of {count} outputs differ; `--update` writes the actual ones to the file\n"
        ),
    }
}

impl Surroundings {
    fn create(component: &Path, cases: &Path) -> Result<Self, CommandError> {
        let bytes = fs::read(component).map_err(CommandError::input(component))?;
        let parent = cases.parent().filter(|parent| *parent != Path::new(""));
        Ok(Self {
            plugins: temp_plugins::create(component, &bytes)?,
            state: tempfile::tempdir()?,
            folder: parent.unwrap_or(Path::new(".")).to_owned(),
        })
    }

    /// Returns what a command prints to stdout, and then what it prints to stderr.
    fn run(&self, case: &Case<'_>) -> Result<String, CommandError> {
        let config = self.write_config(case)?;
        let output = Command::new(std::env::current_exe()?)
            .args(case.arguments)
            .arg("--in-process")
            .arg("--config")
            .arg(config.path())
            .output()?;
        let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&String::from_utf8_lossy(&output.stderr));
        Ok(text)
    }

    /// Writes the configuration of a case beside the cases. It is deleted when the result is dropped.
    fn write_config(&self, case: &Case<'_>) -> Result<NamedTempFile, CommandError> {
        let plugins = self.plugins.path().display().to_string();
        let state = self.state.path().display().to_string();
        let text = format!(
            "plugins = {plugins:?}\nstate_dir = {state:?}\n{}",
            case.config
        );
        let file = tempfile::Builder::new()
            .prefix(CONFIG_PREFIX)
            .suffix(".toml")
            .tempfile_in(&self.folder)
            .and_then(|file| fs::write(file.path(), text).map(|()| file));
        file.map_err(CommandError::file(&self.folder))
    }
}
