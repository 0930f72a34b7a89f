//! The step of each language. It builds the example, two projects of `larder new`, and a provider with correct and
//! faulty behaviour, one after another in the same folder, so that tools and dependencies are installed and compiled
//! once.

mod edits;
mod example;
mod folder;
mod functions;
mod language;
mod packages;
mod project;
pub(crate) mod revisions;
mod session;
mod shell;
mod surroundings;
mod trial;
mod web;

use std::time::Duration;

use anyhow::{Context as _, Result};

pub(crate) use self::example::{build as build_example, component as example_component};
pub(crate) use self::language::LANGUAGES;
pub(crate) use self::shell::with_tools;

use self::language::Language;
use self::project::Project;
use self::trial::Trial;
use crate::run::{self, Output};
use crate::step::Outcome;

/// The step of the language with this name.
pub(crate) fn check(output: &Output, name: &str) -> Result<Outcome> {
    let language = LANGUAGES
        .iter()
        .find(|language| language.name == name)
        .context("an unknown language")?;
    if let Some(skipped) = (language.install_tools)(output)? {
        return Ok(skipped);
    }
    // The other parts use the cache of what one part compiled.
    run::use_cache(folder::of(name, "cache"));
    let commands = example::check(output, language)?;
    if matches!(name, "rust" | "python") {
        Project::create(output, language, &["--kind", "function"])?.check_functions()?;
    }
    let interactive = Project::create(output, language, &["--interactive"])?;
    interactive.check_interactive()?;
    if matches!(name, "javascript" | "typescript") {
        packages::check(&interactive)?;
    }
    if name == "javascript" {
        functions::check(&interactive)?;
    }
    let duration = check_project(output, language)?;
    if name == "javascript" {
        surroundings::check_workspace(output, language)?;
    }
    Ok(Outcome::PassedWithNote(format!(
        "{commands} commands, {} cases, served {:.2} s after a save",
        trial::CASES.len(),
        duration.as_secs_f64()
    )))
}

/// Checks a project, edits it, and replaces its source by the trial.
fn check_project(output: &Output, language: &'static Language) -> Result<Duration> {
    let project = Project::create(output, language, &[])?;
    surroundings::check_missing_compiler(&project)?;
    project.check()?;
    let trial = Trial::new(&project)?;
    let duration = edits::check(&project, &trial)?;
    // In TypeScript, the trial only runs under `larder dev`: its components have the runtime of those in JavaScript.
    if language.name != "typescript" {
        trial.check()?;
    }
    Ok(duration)
}

#[cfg(test)]
mod tests {
    use std::fs;

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
            assert!(
                source.windows(code.len()).any(|part| part == code),
                "{path} does not contain {code:#?}"
            );
        }
        assert!(quotes.len() > 10);
    }
}
