//! Converts tools, their calls and their results.

use std::collections::HashSet;

use serde_json::Value;
use serde_json::value::RawValue;

use super::content::{block_size, blocks};
use super::input::{input_required, required_size, wit_provided_input};
use super::metadata::{metadata, metadata_size};
use super::names::quoted;
use super::parts::{extras_size, icons, text_size};
use super::texts::{description, title};
use super::{ListLimits, MAX_ITEM_BYTES, WitPage, list_page};
use crate::bindings::exports::larder::provider::tool_provider as wit;
use crate::json;
use crate::provider::omissions::Omissions;
use larder_model::input::Answer;
use larder_model::policy::{Grant, PAGE_KEY, UI_KEY, check_page_key};
use larder_model::size;
use larder_model::tool::{Hints, Tool, ToolCall, ToolName, ToolResult};
use larder_provider::{CallError, ListPage};

/// Maximum size of a JSON Schema in bytes.
const MAX_SCHEMA: usize = 64 << 10;
/// Maximum size of a structured result in bytes.
const MAX_STRUCTURED: usize = 1 << 20;
/// Maximum size of a tool in bytes.
const MAX_TOOL: usize = MAX_ITEM_BYTES + 2 * MAX_SCHEMA;

impl From<wit::ToolPage> for WitPage<wit::Tool> {
    fn from(page: wit::ToolPage) -> Self {
        Self {
            items: page.tools,
            next_cursor: page.next_cursor,
            freshness: page.freshness,
        }
    }
}

pub(in crate::provider) async fn tool_page(
    page: wit::ToolPage,
    grant: &Grant,
) -> Result<ListPage<Tool>, CallError> {
    let limits = ListLimits {
        item_bytes: MAX_TOOL,
        ..ListLimits::new(grant, "a tool", "tools")
    };
    let mut names = HashSet::new();
    list_page(page.into(), &limits, tool_size, |item, omissions| {
        let name = ToolName::parse(&item.name)
            .map_err(|error| {
                omissions.add(format!(
                    "the tool {}: {error}",
                    quoted(&item.name, omissions)
                ))
            })
            .ok()?;
        if !names.insert(name.clone()) {
            omissions.add(format!("a second tool `{name}`"));
            return None;
        }
        tool(name.clone(), item, omissions)
            .map_err(|why| omissions.add(format!("the tool `{name}`: {why}")))
            .ok()
    })
    .await
}

/// Returns the bytes of an answer.
pub(in crate::provider) fn tool_answer_size(answer: &wit::ToolAnswer) -> usize {
    match answer {
        wit::ToolAnswer::InputRequired(required) => required_size(required),
        wit::ToolAnswer::Complete(result) => {
            let structured = result.structured.as_ref().map_or(0, String::len);
            let blocks = result.content.iter().map(block_size).sum::<usize>();
            blocks + structured + metadata_size(&result.metadata)
        }
    }
}

pub(in crate::provider) fn tool_size(tool: &wit::Tool) -> usize {
    text_size([&tool.title, &tool.description, &tool.output_schema, &None])
        + tool.name.len()
        + tool.input_schema.len()
        + extras_size(&tool.icons, &tool.metadata)
}

/// Converts a tool, or returns why it cannot be used.
fn tool(name: ToolName, item: wit::Tool, omissions: &mut Omissions<'_>) -> Result<Tool, String> {
    let input_schema = schema(&item.input_schema, "input")?;
    check_schema(&input_schema, "input")?;
    let output_schema = item
        .output_schema
        .map(|text| schema(&text, "output"))
        .transpose()?;
    let output_schema = output_schema.filter(|schema| {
        let checked = check_schema(schema, "output");
        checked
            .map_err(|why| omissions.add(format!("the output schema of the tool `{name}`: {why}")))
            .is_ok()
    });
    let given = count_apps(&item.metadata);
    let metadata = metadata(item.metadata, omissions);
    if count_apps(&metadata) < given {
        // Without the value that was omitted, a tool for apps only would be shown to models.
        return Err(format!("its metadata `{UI_KEY}` cannot be used"));
    }
    check_page_key(&metadata).map_err(|why| format!("its metadata `{PAGE_KEY}`: {why}"))?;
    Ok(Tool {
        name,
        title: title(item.title, omissions),
        description: description(item.description, omissions),
        input_schema,
        output_schema,
        hints: hints(item.hints),
        icons: icons(item.icons, omissions),
        metadata,
    })
}

fn count_apps<T>(metadata: &[(String, T)]) -> usize {
    let apps = metadata.iter().filter(|(key, _)| key == UI_KEY);
    apps.count()
}

fn schema(text: &str, what: &str) -> Result<Box<RawValue>, String> {
    if text.len() > MAX_SCHEMA {
        return Err(format!(
            "its {what} schema has more than {}",
            size::show(MAX_SCHEMA as u64)
        ));
    }
    json::object(text).ok_or_else(|| {
        format!(
            "its {what} schema is not a JSON object, or two members of an object have the same name"
        )
    })
}

/// Checks the parts of a schema that clients read. The schema has to describe objects.
fn check_schema(schema: &RawValue, what: &str) -> Result<(), String> {
    let schema: Value = serde_json::from_str(schema.get()).unwrap_or_default();
    if schema["type"] != "object" {
        return Err(format!("the `type` of its {what} schema is not `object`"));
    }
    let properties = schema.get("properties");
    if !properties.is_none_or(are_objects) {
        return Err(format!(
            "the `properties` of its {what} schema are not objects"
        ));
    }
    let required = schema.get("required");
    if !required.is_none_or(are_names) {
        return Err(format!(
            "`required` of its {what} schema is not a list of names"
        ));
    }
    Ok(())
}

fn are_objects(properties: &Value) -> bool {
    let properties = properties.as_object();
    properties.is_some_and(|it| it.values().all(Value::is_object))
}

fn are_names(required: &Value) -> bool {
    let required = required.as_array();
    required.is_some_and(|it| it.iter().all(Value::is_string))
}

fn hints(hints: wit::Hints) -> Hints {
    let wit::Hints {
        read_only,
        destructive,
        idempotent,
        open_world,
        long_running,
    } = hints;
    Hints {
        read_only,
        destructive,
        idempotent,
        open_world,
        long_running,
    }
}

pub(in crate::provider) fn wit_tool_call(call: ToolCall) -> wit::ToolCall {
    wit::ToolCall {
        name: call.name.to_string(),
        arguments: call.arguments,
        input: call.input.map(wit_provided_input),
    }
}

pub(in crate::provider) async fn tool_result(
    answer: wit::ToolAnswer,
    omissions: &mut Omissions<'_>,
) -> Result<Answer<ToolResult>, CallError> {
    let result = match answer {
        wit::ToolAnswer::InputRequired(required) => {
            return input_required(required, omissions)
                .await
                .map(Answer::InputRequired);
        }
        wit::ToolAnswer::Complete(result) => result,
    };
    Ok(Answer::Complete(ToolResult {
        content: blocks(result.content, omissions).await?,
        structured: result.structured.as_deref().map(structured).transpose()?,
        is_error: result.is_error,
        metadata: metadata(result.metadata, omissions),
        held: None,
    }))
}

fn structured(text: &str) -> Result<Box<RawValue>, CallError> {
    if text.len() > MAX_STRUCTURED {
        let limit = size::show(MAX_STRUCTURED as u64);
        return Err(CallError::Failed(format!(
            "its structured result has more than {limit}"
        )));
    }
    json::value(text).ok_or_else(|| {
        CallError::Failed("its structured result is not JSON, is nested too deeply, or has two members of the same name".into())
    })
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn tool(name: &str, input_schema: &str) -> wit::Tool {
        let hints = wit::Hints {
            read_only: None,
            destructive: None,
            idempotent: None,
            open_world: None,
            long_running: None,
        };
        wit::Tool {
            name: name.into(),
            title: None,
            description: None,
            input_schema: input_schema.into(),
            output_schema: None,
            hints,
            icons: vec![],
            metadata: vec![],
        }
    }

    async fn check(name: &str, input_schema: &str, output_schema: Option<&str>, expected: Expect) {
        let tool = wit::Tool {
            output_schema: output_schema.map(Into::into),
            ..tool(name, input_schema)
        };
        let page = wit::ToolPage {
            tools: vec![tool.clone(), tool],
            next_cursor: None,
            freshness: None,
        };
        let page = tool_page(page, &Grant::default()).await.unwrap();
        let names: Vec<_> = page.items.iter().map(|tool| tool.name.as_str()).collect();
        expected.assert_eq(&format!(
            "{} | {}",
            names.join(" "),
            page.omitted.join(", ")
        ));
    }

    /// One of the two would be dropped, perhaps the one that hides the tool from models.
    #[tokio::test]
    async fn omits_tools_with_two_values_for_apps() {
        let ui = |json: &str| (UI_KEY.to_owned(), json.to_owned());
        let page = ui(r#"{"resourceUri":"ui://a/b"}"#);
        let tool = wit::Tool {
            metadata: vec![page, ui(r#"{"visibility":["app"]}"#)],
            ..tool("a", r#"{"type":"object"}"#)
        };
        let page = wit::ToolPage {
            tools: vec![tool],
            next_cursor: None,
            freshness: None,
        };
        let page = tool_page(page, &Grant::default()).await.unwrap();
        assert!(page.items.is_empty());
        let omitted = page.omitted.join(", ");
        assert!(
            omitted.contains("the tool `a`: its metadata `ui` cannot be used"),
            "{omitted}"
        );
    }

    #[tokio::test]
    async fn omits_invalid_tools() {
        let object = r#"{"type":"object"}"#;
        check("a", object, Some(object), expect!["a | a second tool `a`"]).await;
        check(
            "a",
            object,
            Some("{}"),
            expect![
                "a | a second tool `a`, the output schema of the tool `a`: the `type` of its output schema is not `object`"
            ],
        )
        .await;
        check(
            "a",
            r#"{"type":"object","properties":{"b":true}}"#,
            None,
            expect![
                " | a second tool `a`, the tool `a`: the `properties` of its input schema are not objects"
            ],
        )
        .await;
        check(
            "a",
            r#"{"type":"object","required":null}"#,
            None,
            expect![
                " | a second tool `a`, the tool `a`: `required` of its input schema is not a list of names"
            ],
        )
        .await;
        check(
            "a b\n",
            object,
            None,
            expect![[
                r#" | the tool "a b\n": a tool name has 1 to 64 letters, digits, `_` or `-` (2 times)"#
            ]],
        )
        .await;
        check(
            "a",
            "{",
            None,
            expect![" | a second tool `a`, the tool `a`: its input schema is not a JSON object, or two members of an object have the same name"],
        )
        .await;
        check(
            "a",
            r#"{"type":"object","properties":{"a":{"const":1,"const":2}}}"#,
            None,
            expect![" | a second tool `a`, the tool `a`: its input schema is not a JSON object, or two members of an object have the same name"],
        )
        .await;
        check(
            "a",
            r#"{"type":"string"}"#,
            None,
            expect![
                " | a second tool `a`, the tool `a`: the `type` of its input schema is not `object`"
            ],
        )
        .await;
        check(
            "a",
            object,
            Some("true"),
            expect![" | a second tool `a`, the tool `a`: its output schema is not a JSON object, or two members of an object have the same name"],
        )
        .await;
        let long = format!(
            "{{\"type\":\"object\",\"x\":\"{}\"}}",
            "x".repeat(MAX_SCHEMA)
        );
        let expected =
            expect![" | a second tool `a`, the tool `a`: its input schema has more than 64 KiB"];
        check("a", &long, None, expected).await;
    }

    #[test]
    fn bounds_structured_results() {
        let text = |bytes: usize| format!("\"{}\"", "x".repeat(bytes - 2));
        assert!(structured(&text(MAX_STRUCTURED)).is_ok());
        assert_eq!(
            structured(&text(MAX_STRUCTURED + 1))
                .unwrap_err()
                .to_string(),
            "its structured result has more than 1 MiB"
        );
    }
}
