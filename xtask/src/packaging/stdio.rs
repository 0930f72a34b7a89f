//! Starts a server as clients do, and reads a file from it over stdin and stdout.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

/// Longer than a server needs to compile its providers and to answer.
const LIMIT: Duration = Duration::from_secs(60);
/// What the served file contains.
const TEXT: &str = "a line of the served file\n";

/// Creates a folder with a file.
pub(crate) fn create_folder(work: &Path) -> Result<PathBuf> {
    let folder = work.join("served");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("a.txt"), TEXT)?;
    Ok(folder)
}

/// Starts the server, which serves the folder of [`create_folder`], and reads the file in it.
pub(crate) fn read_file(server: &mut Command) -> Result<()> {
    let mut child = server
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("{server:?}"))?;
    let mut input = child.stdin.take().context("stdin")?;
    for message in messages() {
        writeln!(input, "{message}")?;
    }
    drop(input);
    // A server that does not serve stdin would never end.
    if !super::eventually(LIMIT, || !matches!(child.try_wait(), Ok(None))) {
        child.kill()?;
    }
    let result = child.wait_with_output()?;
    let answers = String::from_utf8(result.stdout)?;
    ensure!(result.status.success(), "{server:?}: {}", result.status);
    let text = answers.lines().find_map(text_of_file);
    ensure!(text.as_deref() == Some(TEXT), "{server:?}: {answers}");
    Ok(())
}

fn messages() -> [Value; 3] {
    let initialize = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": { "name": "xtask", "version": "1" },
    });
    let read = json!({ "uri": "file:///served/a.txt" });
    [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "resources/read", "params": read }),
    ]
}

/// The text in the answer to the second request.
fn text_of_file(answer: &str) -> Option<String> {
    let answer: Value = serde_json::from_str(answer).ok()?;
    if answer["id"] != 2 {
        return None;
    }
    let text = answer["result"]["contents"][0]["text"].as_str()?;
    Some(text.to_owned())
}
