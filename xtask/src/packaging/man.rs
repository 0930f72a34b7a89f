//! The manual pages: each command has a page, and `man` can format all pages.

use std::fs;

use anyhow::{Context as _, Result, ensure};

use super::{larder_command, work_folder};
use crate::run::{Output, command};
use crate::step::Outcome;
use crate::tools;

pub(crate) fn check(output: &Output) -> Result<Outcome> {
    if let Outcome::Skipped(reason) = tools::debian_package(output, "groff", "groff-base")? {
        return tools::missing(&reason);
    }
    let work = work_folder("man")?;
    output.run(larder_command(&["man"]).arg(&work))?;
    let mut count = 0;
    for page in fs::read_dir(&work)? {
        let path = page?.path();
        // Warnings are errors.
        let formatted = command("groff")
            .args(["-Kutf8", "-man", "-Tutf8", "-ww"])
            .arg(&path)
            .output()
            .context("groff")?;
        let warnings = String::from_utf8_lossy(&formatted.stderr).into_owned();
        ensure!(
            formatted.status.success() && warnings.is_empty(),
            "{}: {warnings}",
            path.display()
        );
        count += 1;
    }
    ensure!(
        work.join("larder-serve.1").is_file() && count > 20,
        "there are only {count} pages"
    );
    Ok(Outcome::PassedWithNote(format!("{count} pages")))
}
