//! Offers tools whose definitions depend on settings. Each call is recorded in a file of the granted folder.

mod interfaces;

use std::fs;
use std::io::Write as _;

use guests::*;
use interfaces::*;

struct Defined;

impl Behaviour for Defined {}

impl tool_provider::Guest for Defined {
    fn list_tools(_cursor: Option<String>) -> Result<ToolPage, Error> {
        let input = r##"{
            "type": "object",
            "properties": { "n": { "type": "integer", "minimum": 1 }, "mode": { "enum": ["plain", "wrong", "none"] } },
            "required": ["n"],
            "additionalProperties": false
        }"##;
        let output = r#"{ "type": "object", "properties": { "doubled": { "type": "integer" } }, "required": ["doubled"] }"#;
        let double = Tool {
            description: Some(description()),
            input_schema: input.to_owned(),
            output_schema: Some(output.to_owned()),
            ..tool("double")
        };
        let more = host::setting("more").unwrap_or_default();
        let more = more.split(',').filter(|name| !name.is_empty()).map(named);
        let freshness = host::setting("personal").map(|_| Freshness {
            ttl_ms: 0,
            scope: Scope::Caller,
        });
        Ok(ToolPage {
            tools: std::iter::once(double).chain(more).collect(),
            next_cursor: None,
            freshness,
        })
    }

    fn call_tool(call: ToolCall) -> Result<ToolAnswer, Error> {
        if let Ok(mut file) = fs::File::options()
            .append(true)
            .create(true)
            .open("/data/calls")
        {
            let written = writeln!(file, "{} {}", call.name, call.arguments);
            written.map_err(|error| Error::Failed(error.to_string()))?;
        }
        if call.name == "changed" {
            interfaces::interaction_host::tools_changed();
        }
        if call.name != "double" {
            return text_result(call.name);
        }
        let number = call.arguments.split("\"n\":").nth(1).unwrap_or_default();
        let number: i64 = number
            .trim_end_matches('}')
            .split(',')
            .next()
            .and_then(|n| n.parse().ok())
            .unwrap();
        let structured = match call.arguments.as_str() {
            wrong if wrong.contains("wrong") => Some("{\"doubled\":\"many\"}".to_owned()),
            none if none.contains("none") => None,
            _ => Some(format!("{{\"doubled\":{}}}", number * 2)),
        };
        Ok(ToolAnswer::Complete(ToolResult {
            structured,
            ..result(vec![])
        }))
    }
}

/// A file takes precedence, so that the description can change while the component is served.
fn description() -> String {
    let changed = fs::read_to_string("/data/description").ok();
    changed
        .or_else(|| host::setting("description"))
        .unwrap_or_else(|| "Doubles a number.".to_owned())
}

impl prompt_provider::Guest for Defined {
    fn list_prompts(_cursor: Option<String>) -> Result<PromptPage, Error> {
        prompt_page(vec![prompt("double")])
    }

    fn get_prompt(_request: PromptRequest) -> Result<PromptAnswer, Error> {
        Err(Error::NotFound)
    }

    fn complete_argument(_query: ArgumentQuery) -> Result<Suggestions, Error> {
        Err(Error::NotFound)
    }
}

impl search_provider::Guest for Defined {
    fn search(_query: SearchQuery) -> Result<Hits, Error> {
        Err(Error::Unavailable("it has nothing to search".to_owned()))
    }
}

impl settings_provider::Guest for Defined {
    fn settings() -> Vec<Declaration> {
        ["description", "more", "personal"]
            .map(|name| declaration(name, Kind::Text))
            .into()
    }
}

/// A tool with this name. Some names stand for schemas with arguments that are also headers.
fn named(name: &str) -> Tool {
    let header = match name {
        "routed" => "Region",
        "misrouted" => "My Region",
        _ => return tool(name),
    };
    let property = format!(r#"{{ "type": "string", "x-mcp-header": "{header}" }}"#);
    let input_schema =
        format!(r#"{{ "type": "object", "properties": {{ "region": {property} }} }}"#);
    Tool {
        input_schema,
        ..tool(name)
    }
}

guests::export!(Defined);
export_interfaces!(Defined with_types_in interfaces);
