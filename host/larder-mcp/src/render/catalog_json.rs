//! What the catalog contains, as JSON in the form in which MCP clients receive it. Each item is rendered once, and the
//! lists share the rendered JSON.

use larder_core::catalog::{OfferedPrompt, OfferedTool};
use larder_model::resource::{Entry, Template};

/// Returns an entry of a list as JSON.
pub fn entry(entry: &Entry) -> &[u8] {
    super::entry_json(entry)
}

/// Returns a template as JSON.
pub fn template(template: &Template) -> &[u8] {
    super::template_json(template)
}

/// Returns a tool as JSON.
pub fn tool(tool: &OfferedTool) -> &[u8] {
    super::definitions::tool_json(tool)
}

/// Returns a prompt as JSON.
pub fn prompt(prompt: &OfferedPrompt) -> &[u8] {
    super::definitions::prompt_json(prompt)
}
