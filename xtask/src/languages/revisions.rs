//! Revisions of the examples: each revision is built from a changed source, as an author would build it. `cargo xtask
//! bench` measures how long the server takes to serve them.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};

use super::language::Language;
use super::{folder, shell};
use crate::run::Output;

/// How many revisions of each language are built.
const COUNT: usize = 8;
/// The sentence of the sample that is changed.
const SENTENCE: &str = "A provider in each language.";

/// The languages, with the source file that contains the sample.
const SOURCES: [(&str, &str); 3] = [
    ("rust", "src/sample.md"),
    ("javascript", "changelog.js"),
    ("python", "changelog.py"),
];

/// Whether revisions of the example in this language are built.
pub(crate) fn exist_in(language: &str) -> bool {
    SOURCES.into_iter().any(|(name, _)| name == language)
}

/// Builds revisions of the example in this language, which was built before, into `LANGUAGE/NUMBER.wasm`.
pub(crate) fn build(output: &Output, language: &Language, folder: &Path) -> Result<()> {
    let Some((_, source)) = SOURCES.into_iter().find(|(name, _)| *name == language.name) else {
        return Ok(());
    };
    eprintln!(
        "building {COUNT} revisions of the example in {}",
        language.name
    );
    let (here, to) = (folder::project(language.name), folder.join(language.name));
    fs::create_dir_all(&to)?;
    let (source, original) = (here.join(source), fs::read_to_string(here.join(source))?);
    ensure!(
        original.contains(SENTENCE),
        "{} does not contain `{SENTENCE}`",
        source.display()
    );
    for number in 0..COUNT {
        fs::write(&source, original.replace(SENTENCE, &sentence(number)))?;
        rebuild(output, language, &here)
            .with_context(|| format!("revision {number} in {}", language.name))?;
        fs::copy(
            here.join(language.example_component),
            to.join(format!("{number}.wasm")),
        )?;
    }
    Ok(fs::write(&source, original)?)
}

/// The length of the sentence differs, so data after it in memory moves, as after a change of a text by an author.
fn sentence(number: usize) -> String {
    format!("{SENTENCE} Changed{}.", " again".repeat(number))
}

/// A component in Rust has debug information, as `larder dev` builds it: such a component has 4 MB.
fn rebuild(output: &Output, language: &Language, here: &Path) -> Result<()> {
    let build = language
        .example
        .last()
        .context("no command builds the example")?;
    let mut build = shell::shell(here, build)?;
    output.run(
        build
            .env("CARGO_PROFILE_RELEASE_DEBUG", "true")
            .env("CARGO_PROFILE_RELEASE_STRIP", "none"),
    )
}
