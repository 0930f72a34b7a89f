//! The formula with which Homebrew installs the archives of a release.

use std::fs;

use anyhow::{Context as _, Result, bail};

use super::archive::EXTENSION;
use super::wrappers::VERSION;
use crate::run::root;

/// The file name, which Homebrew derives from the name of the formula.
pub(crate) const FILE: &str = "larder.rb";
/// What stands before a target in the template, for the digest of its archive.
const DIGEST: &str = "DIGEST-";

/// The formula for the archives in a list of checksums, which are below this address. An error if an archive is
/// missing, because it was built on another machine.
pub(crate) fn formula(checksums: &str, release: &str) -> Result<String> {
    let template = fs::read_to_string(root().join("deploy/homebrew").join(FILE))?;
    let mut formula = template
        .replace("VERSION", VERSION)
        .replace("RELEASE", release);
    for line in checksums.lines() {
        let (digest, file) = line.split_once("  ").context("a line of sha256sum")?;
        if let Some(triple) = triple_of(file) {
            formula = formula.replace(&format!("{DIGEST}{triple}\""), &format!("{digest}\""));
        }
    }
    if let Some((_, rest)) = formula.split_once(DIGEST) {
        let triple = rest.split('"').next().unwrap_or_default();
        bail!("there is no archive for {triple}");
    }
    Ok(formula)
}

/// The target of an archive.
fn triple_of(file: &str) -> Option<&str> {
    file.strip_prefix("larder-")?
        .strip_prefix(VERSION)?
        .strip_prefix('-')?
        .strip_suffix(EXTENSION)?
        .strip_suffix('.')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::archive_name;
    use crate::dist::targets::TARGETS;

    #[test]
    fn the_formula_has_the_digest_of_each_archive() -> Result<()> {
        let mut sums = String::new();
        for (number, target) in TARGETS.iter().enumerate() {
            let name = archive_name(target.triple);
            sums.push_str(&format!("{number:064}  {name}.{EXTENSION}\n"));
        }
        let formula = formula(&sums, "https://example.com/v1")?;
        for (number, target) in TARGETS.iter().enumerate() {
            let url = format!(
                "url \"https://example.com/v1/{}.{EXTENSION}\"\n      sha256 \"{number:064}\"",
                archive_name(target.triple)
            );
            assert!(formula.contains(&url), "{url}\n{formula}");
        }
        Ok(())
    }

    #[test]
    fn a_formula_without_an_archive_is_refused() -> Result<()> {
        let error = formula("", "https://example.com/v1").err();
        let error = error.context("an error")?;
        let expected = "there is no archive for aarch64-apple-darwin";
        assert_eq!(error.to_string(), expected);
        Ok(())
    }
}
