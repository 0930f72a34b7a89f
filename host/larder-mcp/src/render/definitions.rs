//! Writes tools, prompts and their results as JSON in the form of the protocol.

use std::borrow::Cow;

use serde_json::Value;
use serde_json::value::RawValue;

use super::{KIND_KEY, entry, icon, meta, role_name, text_or_blob};
use crate::wire::json_writer::{Object, object};
use larder_core::catalog::{OfferedPrompt, OfferedTool};
use larder_model::message::{Annotations, Block, BlockValue, EmbeddedResource, Media};
use larder_model::prompt::{Argument, PromptResult};
use larder_model::resource::{Icon, Metadata};
use larder_model::tool::{Hints, ToolResult};

/// Returns a tool of a list as JSON. It is rendered once and then shared by all requests.
pub(crate) fn tool_json(tool: &OfferedTool) -> &[u8] {
    tool.rendered
        .get_or_render(|| object(|o| self::tool(o, tool)))
}

/// Like [`tool_json`], for a prompt.
pub(crate) fn prompt_json(prompt: &OfferedPrompt) -> &[u8] {
    prompt
        .rendered
        .get_or_render(|| object(|o| self::prompt(o, prompt)))
}

fn tool(o: &mut Object<'_>, offered: &OfferedTool) {
    let tool = &offered.tool;
    o.text("name", offered.name.as_str());
    o.optional_text("title", tool.title.as_deref());
    o.optional_text("description", tool.description.as_deref());
    o.raw("inputSchema", &with_properties(&tool.input_schema));
    if let Some(schema) = &tool.output_schema {
        o.raw("outputSchema", schema);
    }
    hints(o, &tool.hints);
    icons_and_meta(o, &tool.icons, &tool.metadata);
}

/// Adds `properties` to the schema of a tool without arguments. Some clients fail without them, for all tools of the server.
fn with_properties(schema: &RawValue) -> Cow<'_, RawValue> {
    let value: Value = serde_json::from_str(schema.get()).unwrap_or_default();
    let Some(members) = schema
        .get()
        .strip_suffix('}')
        .filter(|_| value.get("properties").is_none())
    else {
        return Cow::Borrowed(schema);
    };
    let text = format!(r#"{members},"properties":{{}}}}"#);
    RawValue::from_string(text).map_or(Cow::Borrowed(schema), Cow::Owned)
}

fn hints(o: &mut Object<'_>, hints: &Hints) {
    let Hints {
        read_only,
        destructive,
        idempotent,
        open_world,
        long_running: _,
    } = *hints;
    let all = [
        ("readOnlyHint", read_only),
        ("destructiveHint", destructive),
        ("idempotentHint", idempotent),
        ("openWorldHint", open_world),
    ];
    if all.iter().any(|(_, hint)| hint.is_some()) {
        o.object("annotations", |o| {
            for (key, hint) in all {
                if let Some(hint) = hint {
                    o.flag(key, hint);
                }
            }
        });
    }
}

fn prompt(o: &mut Object<'_>, offered: &OfferedPrompt) {
    let prompt = &offered.prompt;
    o.text("name", &offered.name);
    o.optional_text("title", prompt.title.as_deref());
    o.optional_text("description", prompt.description.as_deref());
    if !prompt.arguments.is_empty() {
        o.objects(
            "arguments",
            &prompt.arguments,
            |o,
             Argument {
                 name,
                 title,
                 description,
                 required,
             }| {
                o.text("name", name);
                o.optional_text("title", title.as_deref());
                o.optional_text("description", description.as_deref());
                o.flag("required", *required);
            },
        );
    }
    icons_and_meta(o, &prompt.icons, &prompt.metadata);
}

fn icons_and_meta(o: &mut Object<'_>, icons: &[Icon], metadata: &Metadata) {
    if !icons.is_empty() {
        o.objects("icons", icons, icon);
    }
    meta(o, metadata, &[(KIND_KEY, None)]);
}

/// Writes the result of a tool, except its metadata.
pub(crate) fn tool_result(o: &mut Object<'_>, result: &ToolResult) {
    match &result.structured {
        // Clients that do not support structured results show the content.
        Some(json) if result.content.is_empty() => o.objects("content", [json], |o, json| {
            o.text("type", "text");
            o.text("text", json.get());
        }),
        _ => o.objects("content", &result.content, block),
    }
    if let Some(json) = &result.structured {
        o.raw("structuredContent", json);
    }
    if result.is_error {
        o.flag("isError", true);
    }
}

/// Writes the messages of a prompt, except its metadata.
pub(crate) fn prompt_result(o: &mut Object<'_>, result: &PromptResult) {
    o.optional_text("description", result.description.as_deref());
    o.objects("messages", &result.messages, |o, message| {
        o.text("role", role_name(message.role));
        o.object("content", |o| block(o, &message.content));
    });
}

fn block(o: &mut Object<'_>, block: &Block) {
    match &block.value {
        BlockValue::Text(text) => {
            o.text("type", "text");
            o.text("text", text);
        }
        BlockValue::Image(media) => self::media(o, "image", media),
        BlockValue::Audio(media) => self::media(o, "audio", media),
        BlockValue::Link(entry) => {
            o.text("type", "resource_link");
            // The entry has annotations and metadata of its own.
            return self::entry(o, entry);
        }
        BlockValue::Embedded(resource) => {
            o.text("type", "resource");
            o.object("resource", |o| embedded(o, resource));
        }
    }
    if let Some(annotations) = &block.annotations {
        self::annotations(o, annotations);
    }
    meta(o, &block.metadata, &[]);
}

fn media(o: &mut Object<'_>, kind: &str, Media { mime_type, data }: &Media) {
    o.text("type", kind);
    o.base64("data", data);
    o.text("mimeType", mime_type);
}

fn embedded(o: &mut Object<'_>, resource: &EmbeddedResource) {
    o.text("uri", resource.uri.as_str());
    o.optional_text("mimeType", resource.mime_type.as_deref());
    text_or_blob(o, &resource.body);
    meta(o, &resource.metadata, &[]);
}

fn annotations(o: &mut Object<'_>, annotations: &Annotations) {
    let Annotations {
        audience,
        priority,
        last_modified,
    } = annotations;
    o.object("annotations", |o| {
        if !audience.is_empty() {
            o.texts("audience", audience.iter().map(|role| role_name(*role)));
        }
        priority
            .iter()
            .for_each(|priority| o.number("priority", *priority));
        o.optional_text("lastModified", last_modified.as_deref());
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_without_arguments_has_properties() {
        let check = |text: &str, expected: &str| {
            let schema = RawValue::from_string(text.to_owned()).unwrap();
            assert_eq!(with_properties(&schema).get(), expected);
        };
        check(
            r#"{"type":"object"}"#,
            r#"{"type":"object","properties":{}}"#,
        );
        let closed = r#"{"type":"object","additionalProperties":false"#;
        check(
            &format!("{closed}}}"),
            &format!(r#"{closed},"properties":{{}}}}"#),
        );
        let nested = r#"{"type":"object","$defs":{"a":{"properties":{}}}"#;
        check(
            &format!("{nested}}}"),
            &format!(r#"{nested},"properties":{{}}}}"#),
        );
        let given = r#"{"type":"object","properties":{"a":{}}}"#;
        check(given, given);
    }
}
