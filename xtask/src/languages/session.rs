//! `examples/session.md`: commands, and the output that every example must produce.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::run::{Output, command, larder, root};

/// A completion with more suggestions than a response may contain.
const LONG_COMPLETION: &str = "[provider.changelog]\n\
    dirs = [{ host = \"FOLDER\", guest = \"/changelog\" }]\n\
    settings = { file = \"many.md\" }";

/// Runs all commands with this component. Returns the number of commands.
pub(super) fn run(output: &Output, folder: &Path, component: &Path) -> Result<usize> {
    let session = folder.join("session.md");
    fs::copy(root().join("examples/session.md"), &session)?;
    write_files(&folder.join("FOLDER"))?;
    output.run(command(larder()).arg("test").arg(component).arg(&session))?;
    check_long_completion(folder)?;
    let text = fs::read_to_string(session)?;
    Ok(text
        .lines()
        .filter(|line| line.starts_with("$ larder "))
        .count())
}

/// Checks a completion with more suggestions than a response may contain: it must be truncated and state the total.
fn check_long_completion(folder: &Path) -> Result<()> {
    let config = folder.join("larder.toml");
    fs::write(&config, format!("plugins = \"plugins\"\n{LONG_COMPLETION}"))?;
    let output = command(larder())
        .args([
            "complete",
            "changelog://releases/{version}",
            "version",
            "1.",
        ])
        .args(["--json", "--in-process", "--config"])
        .arg(&config)
        .output()?;
    let found: Value = serde_json::from_slice(&output.stdout)
        .with_context(|| String::from_utf8_lossy(&output.stderr).into_owned())?;
    let values = found["values"].as_array().map_or(0, Vec::len);
    let is_truncated = values == 100 && found["total"] == 150 && found["hasMore"] == true;
    ensure!(is_truncated, "expected 100 of 150 suggestions: {found}");
    Ok(())
}

/// Writes the granted folder: the changelog of the session with both kinds of line endings, a file that is
/// not UTF-8, an empty file, and a changelog with many releases.
fn write_files(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    let changelog =
        fs::read_to_string(root().join("examples/session.changelog.md"))?.replace("\r\n", "\n");
    fs::write(folder.join("CHANGELOG.md"), &changelog)?;
    fs::write(folder.join("windows.md"), changelog.replace('\n', "\r\n"))?;
    fs::write(folder.join("latin1.md"), b"## 1.0.0\n\nSch\xf6n\n")?;
    fs::write(folder.join("empty.md"), b"")?;
    let many: String = (0..150)
        .map(|minor| format!("## 1.{minor}.0\n\nWords.\n\n"))
        .collect();
    fs::write(folder.join("many.md"), many)?;
    Ok(())
}
