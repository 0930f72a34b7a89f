//! The definitions of tools, from the functions and from what is configured for them.

use serde_json::value::RawValue;

use larder_functions::{Function, FunctionSet};
use larder_model::policy::{FunctionSettings, FunctionTool};
use larder_model::tool::{Hints, Tool, ToolName};

/// Returns all functions as tools.
pub(super) fn tools(functions: &FunctionSet, settings: &FunctionSettings) -> Vec<Tool> {
    let functions = functions.functions.iter();
    functions
        .filter_map(|function| tool(function, settings.tools.get(&function.tool)))
        .collect()
}

/// The compiler process wrote valid names and schemas, unless a component deceived it.
fn tool(function: &Function, settings: Option<&FunctionTool>) -> Option<Tool> {
    let description = settings.and_then(|settings| settings.description.as_ref());
    let output = function.output_schema.as_deref();
    Some(Tool {
        name: ToolName::parse(&function.tool).ok()?,
        title: settings.and_then(|settings| settings.title.clone()),
        description: Some(description.unwrap_or(&function.description).clone()),
        input_schema: crate::json::object(&function.input_schema)?,
        output_schema: output.and_then(crate::json::object),
        hints: settings.map_or_else(Hints::default, |settings| settings.hints),
        icons: Vec::new(),
        metadata: Vec::new(),
    })
}

/// Says which configured functions do not exist.
pub(super) fn unknown_names<'a>(
    functions: &'a FunctionSet,
    settings: &'a FunctionSettings,
) -> impl Iterator<Item = String> + 'a {
    let names = settings.tools.keys();
    let unknown = names.filter(|name| functions.find(name).is_none());
    unknown.map(|name| format!("the settings of the function {name:?}: it has no such function"))
}

/// Bytes of the texts of tools.
pub(super) fn size(tools: &[Tool]) -> usize {
    let text = |schema: &RawValue| schema.get().len();
    let size = |tool: &Tool| {
        tool.name.as_str().len()
            + tool.description.as_ref().map_or(0, String::len)
            + text(&tool.input_schema)
            + tool.output_schema.as_deref().map_or(0, text)
    };
    tools.iter().map(size).sum()
}
