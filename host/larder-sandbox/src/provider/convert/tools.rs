//! Converts tools, their calls and their results.

use std::collections::HashSet;

use serde_json::Value;
use serde_json::value::RawValue;

use super::content::blocks;
use super::input::{input_required, wit_provided_input};
use super::metadata::metadata;
use super::names::quoted;
use super::parts::{extras_size, icons, text_size};
use super::{ListLimits, MAX_ITEM_BYTES, WitPage, json, list_page};
use crate::bindings::exports::larder::provider::tool_provider as wit;
use crate::provider::omissions::Omissions;
use crate::provider::{CallError, ListPage};
use larder_model::input::Answer;
use larder_model::policy::Secrets;
use larder_model::tool::{Hints, Tool, ToolCall, ToolName, ToolResult};

/// Maximum size of a JSON Schema in bytes.
const MAX_SCHEMA: usize = 64 << 10;
/// Maximum size of a tool in bytes.
const MAX_TOOL: usize = MAX_ITEM_BYTES + 2 * MAX_SCHEMA;

pub(in crate::provider) fn tool_page(
    page: wit::ToolPage,
    max: u32,
    secrets: &Secrets,
) -> Result<ListPage<Tool>, CallError> {
    let wit::ToolPage { tools: items, next_cursor, freshness } = page;
    let limits = ListLimits { count: max, item_bytes: MAX_TOOL, one: "a tool", many: "tools", secrets };
    let mut names = HashSet::new();
    list_page(WitPage { items, next_cursor, freshness }, &limits, tool_size, |item, omissions| {
        let name = ToolName::parse(&item.name)
            .map_err(|error| omissions.add(format!("the tool {}: {error}", quoted(&item.name, omissions))))
            .ok()?;
        if !names.insert(name.clone()) {
            omissions.add(format!("a second tool `{name}`"));
            return None;
        }
        tool(name.clone(), item, omissions)
            .map_err(|why| omissions.add(format!("the tool `{name}`: {why}")))
            .ok()
    })
}

fn tool_size(tool: &wit::Tool) -> usize {
    text_size([&tool.title, &tool.description, &tool.output_schema, &None])
        + tool.name.len()
        + tool.input_schema.len()
        + extras_size(&tool.icons, &tool.metadata)
}

/// Converts a tool, or returns why it cannot be used.
fn tool(name: ToolName, item: wit::Tool, omissions: &mut Omissions<'_>) -> Result<Tool, String> {
    let input_schema = schema(&item.input_schema, "input")?;
    if !is_for_objects(&input_schema) {
        return Err("the `type` of its input schema is not `object`".into());
    }
    let output_schema = item.output_schema.map(|text| schema(&text, "output")).transpose()?;
    Ok(Tool {
        name,
        title: item.title,
        description: item.description,
        input_schema,
        output_schema,
        hints: hints(item.hints),
        icons: icons(item.icons, omissions),
        metadata: metadata(item.metadata, omissions),
    })
}

fn schema(text: &str, what: &str) -> Result<Box<RawValue>, String> {
    if text.len() > MAX_SCHEMA {
        return Err(format!("its {what} schema has {} bytes; the limit is {MAX_SCHEMA}", text.len()));
    }
    json::object(text).ok_or_else(|| format!("its {what} schema is not a JSON object"))
}

/// Whether a schema describes objects, as arguments have to be.
fn is_for_objects(schema: &RawValue) -> bool {
    serde_json::from_str::<Value>(schema.get()).is_ok_and(|schema| schema["type"] == "object")
}

fn hints(hints: wit::Hints) -> Hints {
    let wit::Hints { read_only, destructive, idempotent, open_world, long_running } = hints;
    Hints { read_only, destructive, idempotent, open_world, long_running }
}

pub(in crate::provider) fn wit_tool_call(call: ToolCall) -> wit::ToolCall {
    wit::ToolCall {
        name: call.name.to_string(),
        arguments: call.arguments,
        input: call.input.map(wit_provided_input),
    }
}

pub(in crate::provider) fn tool_result(
    answer: wit::ToolAnswer,
    omissions: &mut Omissions<'_>,
) -> Result<Answer<ToolResult>, CallError> {
    let result = match answer {
        wit::ToolAnswer::InputRequired(required) => {
            return input_required(required, omissions).map(Answer::InputRequired);
        }
        wit::ToolAnswer::Complete(result) => result,
    };
    let structured = match result.structured {
        None => None,
        Some(text) => Some(json::value(&text).ok_or_else(|| {
            CallError::Failed("its structured result is not JSON, or nested too deeply".into())
        })?),
    };
    Ok(Answer::Complete(ToolResult {
        content: blocks(result.content, omissions)?,
        structured,
        is_error: result.is_error,
        metadata: metadata(result.metadata, omissions),
    }))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(name: &str, input_schema: &str, output_schema: Option<&str>, expected: Expect) {
        let hints = wit::Hints {
            read_only: None,
            destructive: None,
            idempotent: None,
            open_world: None,
            long_running: None,
        };
        let tool = wit::Tool {
            name: name.into(),
            title: None,
            description: None,
            input_schema: input_schema.into(),
            output_schema: output_schema.map(Into::into),
            hints,
            icons: vec![],
            metadata: vec![],
        };
        let page = wit::ToolPage { tools: vec![tool.clone(), tool], next_cursor: None, freshness: None };
        let page = tool_page(page, 10, &Secrets::default()).unwrap();
        let names: Vec<_> = page.items.iter().map(|tool| tool.name.as_str()).collect();
        expected.assert_eq(&format!("{} | {}", names.join(" "), page.omitted.join(", ")));
    }

    #[test]
    fn omits_invalid_tools() {
        let object = r#"{"type":"object"}"#;
        check("a", object, Some("{}"), expect!["a | a second tool `a`"]);
        check(
            "a b\n",
            object,
            None,
            expect![[
                r#" | the tool "a b\n": a tool name has 1 to 64 letters, digits, `_` or `-` (2 times)"#
            ]],
        );
        check(
            "a",
            "{",
            None,
            expect![" | a second tool `a`, the tool `a`: its input schema is not a JSON object"],
        );
        check(
            "a",
            r#"{"type":"string"}"#,
            None,
            expect![" | a second tool `a`, the tool `a`: the `type` of its input schema is not `object`"],
        );
        check(
            "a",
            object,
            Some("true"),
            expect![" | a second tool `a`, the tool `a`: its output schema is not a JSON object"],
        );
        let long = format!("{{\"type\":\"object\",\"x\":\"{}\"}}", "x".repeat(MAX_SCHEMA));
        let expected = expect![
            " | a second tool `a`, the tool `a`: its input schema has 65560 bytes; the limit is 65536"
        ];
        check("a", &long, None, expected);
    }
}
