//! Tools that change the lists of tools and prompts. A guest keeps no state between two calls, so files in the folder
//! `/state` decide whether a list has one more entry. Without this folder, the lists stay the same.

use std::fs;
use std::path::Path;

use larder_provider::{Call, Result, Tools, prompts_changed, tools_changed};

use super::tool;

/// If this file exists, there is one more tool.
const ADDED_TOOL: &str = "/state/added-tool";
/// If this file exists, there is one more prompt.
const ADDED_PROMPT: &str = "/state/added-prompt";

pub(super) fn add<P: 'static>(tools: Tools<P>) -> Tools<P> {
    let tools = tools
        .tool(tool(
            "test_trigger_tool_change",
            "Changes the list of tools.",
            of_tools,
        ))
        .tool(tool(
            "test_trigger_prompt_change",
            "Changes the list of prompts.",
            of_prompts,
        ));
    match Path::new(ADDED_TOOL).exists() {
        true => tools.tool(tool(
            "test_added_tool",
            "Was added while the server runs.",
            added,
        )),
        false => tools,
    }
}

/// Whether there is one more prompt.
pub(crate) fn has_added_prompt() -> bool {
    Path::new(ADDED_PROMPT).exists()
}

fn of_tools(_call: &Call) -> Result<String> {
    let result = toggle(ADDED_TOOL, "tools");
    tools_changed();
    Ok(result)
}

fn of_prompts(_call: &Call) -> Result<String> {
    let result = toggle(ADDED_PROMPT, "prompts");
    prompts_changed();
    Ok(result)
}

fn added(_call: &Call) -> Result<String> {
    Ok("This tool was added.".to_owned())
}

/// Creates or removes a file.
fn toggle(file: &str, what: &str) -> String {
    let toggled = match Path::new(file).exists() {
        true => fs::remove_file(file),
        false => fs::write(file, ""),
    };
    match toggled {
        Ok(()) => format!("The {what} changed."),
        Err(_) => {
            format!("The {what} stay the same, because no folder is granted for writing as /state.")
        }
    }
}
