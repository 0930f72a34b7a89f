//! The example provider of a language. It is built from a clean copy, and must return the responses in
//! `examples/session.md`.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};

use super::language::Language;
use super::{folder, session, shell};
use crate::run::{Output, command, larder};

/// The component of an example that was checked.
pub(crate) fn component(language: &str) -> PathBuf {
    folder::of(language, "session/plugins/changelog.wasm")
}

/// Builds the example with the tools of its language. Returns the path of the component.
pub(crate) fn build(output: &Output, language: &Language) -> Result<PathBuf> {
    let here = folder::replace_with_example(output, language.name)?;
    for line in language.example {
        shell::run(output, &here, line)?;
    }
    Ok(here.join(language.example_component))
}

/// Builds the example, runs its tests, and runs the session with it. Returns the number of commands.
pub(super) fn check(output: &Output, language: &Language) -> Result<usize> {
    let built = build(output, language)?;
    if language.name == "rust" {
        // The tests of the projects use the same target folder.
        let test = "cargo test --locked";
        shell::run(output, &folder::project(language.name), test)?;
    }
    let session = folder::empty(language.name, "session")?;
    let component = component(language.name);
    fs::create_dir_all(session.join("plugins"))?;
    fs::copy(&built, &component).with_context(|| format!("{} was not built", built.display()))?;
    output.run(
        command(larder())
            .args(["inspect", "--json"])
            .arg(&component),
    )?;
    let count = session::run(output, &session, &component)?;
    ensure!(count > 0, "the session has no commands");
    Ok(count)
}
