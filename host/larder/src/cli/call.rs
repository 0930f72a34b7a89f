//! `larder call`: calls a tool.

mod dialog;
mod form;
mod input;

use std::ops::ControlFlow;

use clap::Args;
use serde_json::{Map, Value};

use super::connection::ConnectionArgs;
use super::error::CommandError;
use super::paging::all_items;
use super::team::TeamArg;
use super::{Outcome, name_value, out, progress, sanitize};
use input::InputSource;
use larder_client::{Answer, Client, ClientError, Progress, Tool, ToolCall, ToolResult};

/// The error code of a call that needs a capability that the client does not have.
const MISSING_CLIENT_CAPABILITY: i64 = -32021;
/// How many times a tool may require input in one call.
const MAX_ROUNDS: u32 = 16;

/// Call a tool
#[derive(Debug, Args)]
#[command(
    after_help = "A value is text where the schema of the tool wants text, and otherwise JSON: --arg n=2. \
The exit code is 1 if the tool reports that it failed."
)]
pub(super) struct Call {
    /// The tool, as printed by `larder tools`
    tool: String,
    /// An argument; can be repeated
    #[arg(long = "arg", value_name = "NAME=VALUE", value_parser = name_value::parse)]
    arguments: Vec<(String, String)>,
    /// A value for a form that the tool asks to complete; can be repeated. Without this option, the forms are shown on
    /// the terminal
    #[arg(long = "answer", value_name = "NAME=VALUE", value_parser = name_value::parse)]
    answers: Vec<(String, String)>,
    /// Print progress to stderr
    #[arg(long)]
    progress: bool,
    /// Print the whole result as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    team: TeamArg,
    #[command(flatten)]
    connection: ConnectionArgs,
}

impl Call {
    pub(super) async fn run(self) -> Result<Outcome, CommandError> {
        let input = InputSource::new(self.answers);
        let progress = if self.progress {
            progress::print
        } else {
            progress::ignore
        };
        let mut connection = self.connection.with_team(self.team).connect().await?;
        let client = &mut connection.client;
        let called = call(client, self.tool, self.arguments, &input, progress).await;
        connection.end().await;
        if let Err(error) = &called
            && lacks_capability(error)
        {
            out::note("larder: use --answer NAME=VALUE, or run the command on a terminal");
        }
        let result = called?;
        if self.json {
            out::json(&result)?
        } else if result.is_error {
            // The text of an error is not a result that a script can use.
            show(&result, true).lines().for_each(out::note)
        } else {
            out::text(&show(&result, out::is_terminal()))?
        }
        Ok(Outcome::success_if(!result.is_error))
    }
}

/// Calls a tool until it requires no more input.
async fn call(
    client: &mut Client,
    name: String,
    arguments: Vec<(String, String)>,
    input: &InputSource,
    progress: fn(Progress) -> ControlFlow<()>,
) -> Result<ToolResult, CommandError> {
    let tools = all_items(usize::MAX, async |from| client.tools(from).await).await?;
    let tool = tools.items.iter().find(|tool| tool.name == name);
    let mut call = ToolCall::new(name, typed(tool, arguments));
    if input.can_answer() {
        call = call.with_elicitation();
    }
    for _ in 0..MAX_ROUNDS {
        match client.call_tool_with(&call, progress).await? {
            Answer::Complete(result) => return Ok(result),
            Answer::InputRequired(required) => {
                let responses = input.answers(&required)?;
                call = call.with_responses(responses, required.request_state);
            }
        }
    }
    Err(CommandError::TooManyQuestions(MAX_ROUNDS))
}

/// Returns whether the tool requires input that nobody can provide.
fn lacks_capability(error: &CommandError) -> bool {
    matches!(error, CommandError::Client(ClientError::Rpc(error)) if error.code == MISSING_CLIENT_CAPABILITY)
}

/// Converts values to the types in the schema of the tool.
fn typed(tool: Option<&Tool>, arguments: Vec<(String, String)>) -> Map<String, Value> {
    arguments
        .into_iter()
        .map(|(name, value)| {
            let value = convert(tool, &name, value);
            (name, value)
        })
        .collect()
}

fn convert(tool: Option<&Tool>, name: &str, value: String) -> Value {
    match serde_json::from_str(&value) {
        Ok(json) if !is_text(tool, name) => json,
        _ => Value::String(value),
    }
}

fn is_text(tool: Option<&Tool>, name: &str) -> bool {
    tool.is_some_and(|tool| tool.input_schema["properties"][name]["type"] == "string")
}

/// Shows texts without a change, and names the other content.
fn show(result: &ToolResult, terminal: bool) -> String {
    let mut shown = String::new();
    for block in &result.content {
        append_text(&mut shown, &block_text(block), terminal);
    }
    shown
}

/// Appends a text, which is sanitized for a terminal, and a line break if the text does not end with one.
pub(super) fn append_text(shown: &mut String, text: &str, terminal: bool) {
    if terminal {
        *shown += &sanitize::lines(text);
    } else {
        *shown += text;
    }
    if !shown.ends_with('\n') {
        shown.push('\n');
    }
}

/// Returns the text of a block of content, or a description of the block.
pub(super) fn block_text(block: &Value) -> String {
    match block["type"].as_str() {
        Some("text") => field(block, "text"),
        Some("resource_link") => format!("({})", field(block, "uri")),
        Some("resource") => resource_text(&block["resource"]),
        Some(kind) => format!(
            "({kind}, {}; use --json to get it)",
            field(block, "mimeType")
        ),
        None => String::new(),
    }
}

fn resource_text(resource: &Value) -> String {
    match resource["text"].as_str() {
        Some(text) => text.to_owned(),
        None => format!("({}; use --json to get it)", field(resource, "uri")),
    }
}

fn field(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_have_the_types_of_the_schema() {
        let schema =
            json!({ "properties": { "n": { "type": "integer" }, "id": { "type": "string" } } });
        let tool: Tool =
            serde_json::from_value(json!({ "name": "x", "inputSchema": schema })).unwrap();
        let pairs = [("n", "2"), ("id", "2"), ("list", "[1]"), ("other", "a b")];
        let pairs = pairs
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .to_vec();
        let expected = json!({ "n": 2, "id": "2", "list": [1], "other": "a b" });
        assert_eq!(Value::Object(typed(Some(&tool), pairs.clone())), expected);
        assert_eq!(typed(None, pairs)["id"], json!(2));
    }

    #[test]
    fn shows_every_kind_of_content() {
        let result: ToolResult = serde_json::from_value(json!({
            "content": [
                { "type": "text", "text": "one\u{1b}[2J" },
                { "type": "image", "mimeType": "image/png", "data": "AA==" },
                { "type": "resource_link", "uri": "a:b", "name": "b" },
                { "type": "resource", "resource": { "uri": "a:c", "text": "two\n" } },
            ],
        }))
        .unwrap();
        let expected = "one\\u001b[2J\n(image, image/png; use --json to get it)\n(a:b)\ntwo\n";
        assert_eq!(show(&result, true), expected);
    }
}
