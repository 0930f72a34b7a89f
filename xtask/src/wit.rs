//! Checks that all files of the contract have the same version, and that each SDK has a link to them instead of a copy,
//! which could differ. The builds of the host and of the providers check that the contract can be parsed.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use crate::run::{Output, root};
use crate::step::Outcome;

const PACKAGE: &str = "package larder:provider@";
/// Folders that are not searched for copies.
const SKIPPED: [&str; 3] = ["target", "node_modules", ".git"];

pub(crate) fn check(_output: &Output) -> Result<Outcome> {
    let contract = root().join("wit");
    let version = version(&contract.join("world.wit"))?;
    let files = wit_files(&contract)?;
    for file in &files {
        ensure!(
            self::version(file)? == version,
            "{} does not have version {version}",
            file.display()
        );
    }
    let mut copies = Vec::new();
    find_copies(root(), &mut copies)?;
    copies.retain(|copy| *copy != contract);
    ensure!(
        copies.is_empty(),
        "replace these copies of wit/ by symbolic links: {copies:?}"
    );
    Ok(Outcome::PassedWithNote(format!(
        "{} files of version {version}",
        files.len()
    )))
}

/// The current version of the contract.
pub(crate) fn current_version() -> Result<String> {
    version(&root().join("wit/world.wit"))
}

/// Finds all folders with a `world.wit` of the contract. Does not follow links.
fn find_copies(folder: &Path, copies: &mut Vec<PathBuf>) -> Result<()> {
    if fs::read_to_string(folder.join("world.wit")).is_ok_and(|text| text.starts_with(PACKAGE)) {
        copies.push(folder.to_owned());
    }
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let is_skipped = SKIPPED.iter().any(|name| entry.file_name() == *name);
        if !is_skipped && entry.file_type()?.is_dir() {
            find_copies(&entry.path(), copies)?;
        }
    }
    Ok(())
}

fn wit_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let paths = fs::read_dir(folder)?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<_>>>()?;
    Ok(paths
        .into_iter()
        .filter(|path| path.extension().is_some_and(|e| e == "wit"))
        .collect())
}

fn version(file: &Path) -> Result<String> {
    let text =
        fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let package = text
        .lines()
        .next()
        .and_then(|line| line.strip_prefix(PACKAGE)?.strip_suffix(';'));
    Ok(package
        .with_context(|| format!("{} belongs to another package", file.display()))?
        .to_owned())
}
