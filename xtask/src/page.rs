//! Test of the page for operators: `host/tests/page` starts servers and uses their page in Chromium. The screenshots of
//! all views are in `target/xtask/page`.

use std::fs;
use std::path::PathBuf;

use anyhow::{Result, ensure};

use crate::run::{Output, command, in_ci, larder, root, target};
use crate::step::Outcome;
use crate::tools;

/// Programs that playwright-core can control. The first one is the program of Debian.
const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

pub(crate) fn check(output: &Output) -> Result<Outcome> {
    let browser = match browser(output)? {
        Ok(browser) => browser,
        Err(skipped) => return Ok(skipped),
    };
    let work = target("xtask/page");
    if work.exists() {
        fs::remove_dir_all(&work)?;
    }
    fs::create_dir_all(&work)?;
    let mut node = command("node");
    node.arg(target("page/main.mjs"));
    node.env("LARDER", larder())
        .env("BROWSER", browser)
        .env("WORK", &work);
    node.env("REPOSITORY", root()).env("COMPONENTS", target(""));
    output.run(&mut node)?;
    let passed = output
        .contents()
        .lines()
        .filter(|line| line.starts_with("ok    "))
        .count();
    ensure!(
        passed > 0 || matches!(output, Output::Terminal),
        "no check of the page ran"
    );
    Ok(Outcome::PassedWithNote(format!(
        "{passed} checks; screenshots in target/xtask/page"
    )))
}

/// Finds a browser, or installs one. If there is no browser, returns the outcome of the step.
pub(crate) fn browser(output: &Output) -> Result<Result<PathBuf, Outcome>> {
    let find = || BROWSERS.into_iter().find_map(tools::find_program);
    if let Some(browser) = find() {
        return Ok(Ok(browser));
    }
    let installed = match tools::debian_package(output, "chromium", "chromium") {
        Err(error) if !in_ci() => {
            Outcome::Skipped(format!("chromium cannot be installed: {error:#}"))
        }
        outcome => outcome?,
    };
    Ok(find().ok_or(installed))
}
