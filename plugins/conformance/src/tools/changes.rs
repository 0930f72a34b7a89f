//! Tools that notify the host that the lists of tools or prompts may have changed.

use larder_provider::{Call, Result, Tools, prompts_changed, tools_changed};

use super::tool;

pub(super) fn add<P: 'static>(tools: Tools<P>) -> Tools<P> {
    tools.tool(tool("test_trigger_tool_change", "Reports a change of the tools.", of_tools)).tool(tool(
        "test_trigger_prompt_change",
        "Reports a change of the prompts.",
        of_prompts,
    ))
}

fn of_tools(_call: &Call) -> Result<String> {
    tools_changed();
    Ok("The tools changed.".to_owned())
}

fn of_prompts(_call: &Call) -> Result<String> {
    prompts_changed();
    Ok("The prompts changed.".to_owned())
}
