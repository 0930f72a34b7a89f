//! The formula for Homebrew, here with the archive of the debug build: Ruby accepts it, and it installs the archive and
//! passes its test. Homebrew itself is not used.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use super::{archive, work_folder};
use crate::dist::archive::{Compression, EXTENSION};
use crate::dist::targets::TARGETS;
use crate::dist::{self, homebrew};
use crate::run::{Output, command, root, stdout_of};
use crate::step::Outcome;
use crate::tools;

pub(crate) fn check(output: &Output) -> Result<Outcome> {
    for program in ["zstd", "ruby"] {
        if let Outcome::Skipped(reason) = tools::debian_package(output, program, program)? {
            return tools::missing(&reason);
        }
    }
    let work = work_folder("homebrew")?;
    let program = archive::stripped(output, &work)?;
    let archive = dist::pack(output, &program, archive::TRIPLE, &work, Compression::Fast)?;
    let formula = write_formula(&archive, &work)?;
    let prefix = work.join("prefix");
    output.run(
        command("ruby")
            .arg(root().join("xtask/packaging/formula.rb"))
            .args([&formula, &archive, &prefix]),
    )?;
    for file in ["bin/larder", "share/man/man1/larder-serve.1"] {
        ensure!(prefix.join(file).is_file(), "{file} is not installed");
    }
    // The folder takes much space.
    fs::remove_dir_all(&work)?;
    Ok(Outcome::Passed)
}

/// Writes the formula with the digest of the archive, and as if other machines had built the other archives.
fn write_formula(archive: &Path, work: &Path) -> Result<PathBuf> {
    let digest = stdout_of(command("sha256sum").arg(archive))?;
    let digest = digest.split_whitespace().next().context("a digest")?;
    let lines = TARGETS.iter().map(|target| {
        let name = dist::archive_name(target.triple);
        format!("{digest}  {name}.{EXTENSION}\n")
    });
    let formula = homebrew::formula(&lines.collect::<String>(), "https://example.com")?;
    let file = work.join(homebrew::FILE);
    fs::write(&file, formula)?;
    Ok(file)
}
