//! The bundle for Claude Desktop, here with the debug build: the official tool accepts and unpacks it, and its command
//! serves a folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::{platform_folder, stdio, this_platform, work_folder};
use crate::dist::mcpb;
use crate::run::{Output, command, target};
use crate::step::Outcome;
use crate::tools;

const TOOL: &str = "@anthropic-ai/mcpb@2.1.2";

pub(crate) fn check(output: &Output) -> Result<Outcome> {
    let Some(platform) = this_platform() else {
        return tools::missing("there is no bundle for this platform");
    };
    if !tools::has_python() {
        return tools::missing("Python 3.11 or newer with venv is not installed");
    }
    let tool = target("packaging/mcpb");
    if let Outcome::Skipped(reason) = tools::npm_package(output, &tool, TOOL)? {
        return tools::missing(&reason);
    }
    let tool = tool.join("node_modules/.bin/mcpb");
    let work = work_folder("mcpb")?;
    let staged = platform_folder(output, &work)?;
    let bundle = mcpb::pack(output, &staged, platform, &work)?;
    let folder = work.join("unpacked");
    output.run(command(&tool).arg("unpack").arg(&bundle).arg(&folder))?;
    let manifest = folder.join("manifest.json");
    output.run(command(&tool).arg("validate").arg(&manifest))?;
    let manifest = serde_json::from_str(&fs::read_to_string(manifest)?)?;
    let served = stdio::create_folder(&work)?;
    stdio::read_file(&mut start_command(&manifest, &folder, &served)?)?;
    // The folder takes much space.
    fs::remove_dir_all(&work)?;
    Ok(Outcome::Passed)
}

/// The command of the manifest, with the values that a client puts into it.
fn start_command(manifest: &Value, folder: &Path, served: &Path) -> Result<Command> {
    let config = &manifest["server"]["mcp_config"];
    let program = config["command"].as_str().context("a command")?;
    let arguments = config["args"].as_array().context("arguments")?;
    let mut start = command(replace(program, folder, served));
    for argument in arguments {
        let argument = argument.as_str().context("an argument")?;
        start.arg(replace(argument, folder, served));
    }
    Ok(start)
}

fn replace(text: &str, folder: &Path, served: &Path) -> PathBuf {
    text.replace("${__dirname}", &folder.display().to_string())
        .replace("${user_config.folders}", &served.display().to_string())
        .into()
}
