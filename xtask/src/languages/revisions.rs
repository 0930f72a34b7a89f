//! Revisions of the examples: each is built from a changed source, as an author does it. `cargo xtask bench` measures
//! how long the server takes to serve them.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use super::{RUST_BUILD, componentize_python, copy};
use crate::plugins::TARGET;
use crate::run::{Output, command, target};

/// How many revisions of each language are built.
const COUNT: usize = 8;
/// The sentence of the sample that is changed.
const SENTENCE: &str = "A provider in each language.";

/// How the component is built in a copy of the example. Returns its path.
type Rebuild = fn(&Output, &Path) -> Result<PathBuf>;

/// The languages, with the source file that contains the sample.
const LANGUAGES: [(&str, &str, Rebuild); 3] = [
    ("rust", "src/sample.md", rebuild_rust),
    ("javascript", "changelog.js", rebuild_javascript),
    ("python", "changelog.py", rebuild_python),
];

/// Whether revisions of the example in this language are built.
pub(crate) fn exist_in(language: &str) -> bool {
    LANGUAGES.into_iter().any(|(name, ..)| name == language)
}

/// Builds the revisions of each example that was built before, into `LANGUAGE/NUMBER.wasm`.
pub(crate) fn build(output: &Output, folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    for (language, source, rebuild) in LANGUAGES {
        // Without Node, there is no copy of the example in JavaScript.
        let here = copy::folder(language);
        if !here.exists() {
            continue;
        }
        eprintln!("building {COUNT} revisions of the example in {language}");
        let to = folder.join(language);
        fs::create_dir_all(&to)?;
        let (source, original) = (here.join(source), fs::read_to_string(here.join(source))?);
        ensure!(original.contains(SENTENCE), "{} does not contain `{SENTENCE}`", source.display());
        for number in 0..COUNT {
            fs::write(&source, original.replace(SENTENCE, &sentence(number)))?;
            let built = rebuild(output, &here).with_context(|| format!("revision {number} in {language}"))?;
            fs::copy(built, to.join(format!("{number}.wasm")))?;
        }
        fs::write(&source, original)?;
    }
    Ok(())
}

/// Its length differs, so what follows it in memory moves, as it does if an author changes a text.
fn sentence(number: usize) -> String {
    format!("{SENTENCE} Changed{}.", " again".repeat(number))
}

/// As `larder dev` builds it, with debug information: such a component has 4 MB.
fn rebuild_rust(output: &Output, here: &Path) -> Result<PathBuf> {
    let mut cargo = command("cargo");
    cargo.args(["build", "--release", "--locked", "--target", TARGET, "--target-dir"]);
    cargo.arg(target(RUST_BUILD)).env("CARGO_PROFILE_RELEASE_DEBUG", "true");
    output.run(cargo.env("CARGO_PROFILE_RELEASE_STRIP", "none").current_dir(here))?;
    Ok(target(RUST_BUILD).join(TARGET).join("release/changelog_rust.wasm"))
}

fn rebuild_javascript(output: &Output, here: &Path) -> Result<PathBuf> {
    output.run(command("npm").args(["run", "build"]).current_dir(here))?;
    Ok(here.join("changelog.wasm"))
}

fn rebuild_python(output: &Output, here: &Path) -> Result<PathBuf> {
    componentize_python(output, here)?;
    Ok(here.join("changelog.wasm"))
}
