//! Checks that all copies of the contract are identical and that all its files have the same version. That it
//! parses is checked by the builds of the host and of the providers.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use crate::run::{Output, root};
use crate::step::Outcome;

const PACKAGE: &str = "package larder:provider@";
/// Folders that are not searched for copies.
const SKIPPED: [&str; 3] = ["target", "node_modules", ".git"];

pub(crate) fn check(output: &Output) -> Result<Outcome> {
    let contract = root().join("wit");
    let version = version(&contract.join("world.wit"))?;
    let files = wit_files(&contract)?;
    for file in &files {
        ensure!(self::version(file)? == version, "{} does not have version {version}", file.display());
    }
    let mut copies = Vec::new();
    find_copies(root(), &mut copies)?;
    for copy in copies.iter().filter(|copy| **copy != contract) {
        output.write_line(&format!("{} is a copy", copy.display()))?;
        check_copy(&files, copy)?;
    }
    let note = format!("{} files of version {version}, copies: {}", files.len(), copies.len() - 1);
    Ok(Outcome::PassedWithNote(note))
}

/// The current version of the contract.
pub(crate) fn current_version() -> Result<String> {
    version(&root().join("wit/world.wit"))
}

fn check_copy(files: &[PathBuf], copy: &Path) -> Result<()> {
    for file in files {
        let copied = copy.join(file.file_name().unwrap_or_default());
        let text = fs::read(&copied).with_context(|| format!("{} is missing", copied.display()))?;
        ensure!(text == fs::read(file)?, "{} differs from wit/; copy it again", copied.display());
    }
    Ok(())
}

/// Finds all folders with a `world.wit` of the contract.
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
    let paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    Ok(paths.into_iter().filter(|path| path.extension().is_some_and(|e| e == "wit")).collect())
}

fn version(file: &Path) -> Result<String> {
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let package = text.lines().next().and_then(|line| line.strip_prefix(PACKAGE)?.strip_suffix(';'));
    Ok(package.with_context(|| format!("{} belongs to another package", file.display()))?.to_owned())
}
