//! Implements tools, prompts, search and settings, and uses every function of `interaction-host`.

mod interfaces;

use std::fs;
use std::io::Write as _;

use guests::*;
use interfaces::interaction_host::{self, Severity};
use interfaces::*;

struct Interactive;

impl Behaviour for Interactive {
    fn entries() -> Vec<Entry> {
        vec![kind_entry("note"), kind_entry("page")]
    }

    fn read(request: ReadRequest) -> Result<Reading, Error> {
        text(request.uri)
    }
}

fn kind_entry(kind: &str) -> Entry {
    let details = Details {
        kind: Some(kind.to_owned()),
        ..details()
    };
    Entry {
        details: Some(details),
        ..entry(&format!("interactive:{kind}"))
    }
}

impl tool_provider::Guest for Interactive {
    /// Two pages.
    fn list_tools(cursor: Option<String>) -> Result<ToolPage, Error> {
        if cursor.is_some() {
            return tool_page(["tell", "change", "append"].map(tool).to_vec());
        }
        let full = Tool {
            title: Some("Everything".to_owned()),
            description: Some("Returns every kind of content.".to_owned()),
            input_schema:
                "{\n  \"type\": \"object\",\n  \"properties\": { \"z\": {}, \"a\": {} }\n}"
                    .to_owned(),
            output_schema: Some("{ \"type\": \"object\" }".to_owned()),
            hints: Hints {
                read_only: Some(true),
                destructive: Some(false),
                idempotent: Some(true),
                open_world: Some(false),
                long_running: None,
            },
            metadata: vec![("example.com/x".to_owned(), "1".to_owned())],
            ..tool("everything")
        };
        Ok(ToolPage {
            tools: vec![full, tool("ask")],
            next_cursor: Some("2".to_owned()),
            freshness: None,
        })
    }

    fn call_tool(call: ToolCall) -> Result<ToolAnswer, Error> {
        match call.name.as_str() {
            "everything" => Ok(ToolAnswer::Complete(everything(call.arguments))),
            "ask" => ask(call.input),
            "tell" => tell(),
            "change" => {
                interaction_host::tools_changed();
                interaction_host::prompts_changed();
                text_result("changed")
            }
            "append" => append(&call.arguments),
            _ => Err(Error::NotFound),
        }
    }
}

fn everything(arguments: String) -> ToolResult {
    let annotations = Annotations {
        audience: vec![Role::User],
        priority: Some(2.0),
        last_modified: None,
    };
    let media = |mime_type: &str| Media {
        mime_type: mime_type.to_owned(),
        data: vec![1, 2, 3],
    };
    let embedded = EmbeddedResource {
        uri: "interactive:note".to_owned(),
        mime_type: Some("text/plain".to_owned()),
        body: Body::Text("a note".to_owned()),
        metadata: vec![],
    };
    let values = [
        BlockValue::Image(media("image/png")),
        BlockValue::Audio(media("audio/ogg")),
        BlockValue::Link(entry("interactive:page")),
        BlockValue::Embedded(embedded),
    ];
    let text = Block {
        annotations: Some(annotations),
        metadata: vec![("example.com/x".to_owned(), "{ }".to_owned())],
        ..block(BlockValue::Text("a text".to_owned()))
    };
    let content = [vec![text], values.map(block).to_vec()].concat();
    ToolResult {
        structured: Some(arguments),
        is_error: true,
        ..result(content)
    }
}

const QUESTION: &str = r#"{ "message": "Who are you?", "requestedSchema": { "type": "object", "properties": { "name": { "type": "string" } } } }"#;

/// Requests a name, or the input in the setting `question`, and returns the answer with the state.
fn ask(input: Option<ProvidedInput>) -> Result<ToolAnswer, Error> {
    let Some(input) = input else {
        let request = InputRequest {
            key: "name".to_owned(),
            method: "elicitation/create".to_owned(),
            params: host::setting("question").unwrap_or_else(|| QUESTION.to_owned()),
        };
        let state = Some(b"asked".to_vec());
        return Ok(ToolAnswer::InputRequired(InputRequired {
            requests: vec![request],
            state,
        }));
    };
    let state = String::from_utf8_lossy(&input.state.unwrap_or_default()).into_owned();
    let responses = input
        .responses
        .iter()
        .map(|response| match &response.outcome {
            Ok(json) => format!("{}: {json}", response.key),
            Err(json) => format!("{} failed: {json}", response.key),
        });
    text_result(format!(
        "{state}; {}",
        responses.collect::<Vec<_>>().join(", ")
    ))
}

/// Logs to the client, and returns the known properties of the client.
fn tell() -> Result<ToolAnswer, Error> {
    interaction_host::log_to_client(Severity::Debug, None, "\"hidden\"");
    interaction_host::log_to_client(Severity::Warning, Some("a\nlogger"), "{ \"n\":\n1 }");
    interaction_host::log_to_client(Severity::Error, None, "no json at all");
    let more: u32 = host::setting("more").map_or(0, |more| more.parse().unwrap());
    (0..more).for_each(|_| interaction_host::log_to_client(Severity::Error, None, "0"));
    let supports = |capability| interaction_host::client_supports(capability);
    let level = interaction_host::client_log_level();
    text_result(format!(
        "{} {} {level:?}",
        supports("/elicitation/url"),
        supports("/sampling")
    ))
}

/// Appends a line to a file of the granted folder, and then traps if the arguments say so.
fn append(arguments: &str) -> Result<ToolAnswer, Error> {
    let mut file = fs::File::options()
        .append(true)
        .create(true)
        .open("/data/calls")
        .map_err(failed)?;
    writeln!(file, "{arguments}").map_err(failed)?;
    assert!(!arguments.contains("trap"), "this call traps halfway");
    text_result("appended")
}

fn failed(error: std::io::Error) -> Error {
    Error::Failed(error.to_string())
}

impl prompt_provider::Guest for Interactive {
    fn list_prompts(_cursor: Option<String>) -> Result<PromptPage, Error> {
        let arguments = vec![argument("name", true), argument("tone", false)];
        prompt_page(vec![
            Prompt {
                arguments,
                ..prompt("greet")
            },
            prompt("interview"),
        ])
    }

    fn get_prompt(request: PromptRequest) -> Result<PromptAnswer, Error> {
        match request.name.as_str() {
            "greet" => greet(&request.arguments),
            "interview" => interview(request.input),
            _ => Err(Error::NotFound),
        }
    }

    fn complete_argument(query: ArgumentQuery) -> Result<Suggestions, Error> {
        let offered = ["ann", "anton", "bob"];
        let is_free = |value: &&str| query.filled.iter().all(|(_, filled)| filled != value);
        let values = offered
            .iter()
            .filter(|value| value.starts_with(&query.prefix))
            .copied()
            .filter(is_free);
        let values = values.map(str::to_owned).collect();
        match query.argument.as_str() {
            "name" => Ok(Suggestions {
                values,
                total: Some(3),
                more: false,
            }),
            _ => Err(Error::NotFound),
        }
    }
}

fn greet(arguments: &[(String, String)]) -> Result<PromptAnswer, Error> {
    let name = arguments
        .iter()
        .find(|(name, _)| name == "name")
        .map(|(_, value)| value);
    let name = name.ok_or_else(|| Error::Invalid("`name` is missing".to_owned()))?;
    let message = |role, text: String| Message {
        role,
        content: block(BlockValue::Text(text)),
    };
    let messages = vec![
        message(Role::User, format!("Greet {name}.")),
        message(Role::Assistant, "Hello.".to_owned()),
    ];
    Ok(PromptAnswer::Complete(PromptResult {
        description: Some("A greeting".to_owned()),
        messages,
        metadata: vec![],
    }))
}

fn interview(input: Option<ProvidedInput>) -> Result<PromptAnswer, Error> {
    let request = |key: &str, method: &str, params: &str| InputRequest {
        key: key.to_owned(),
        method: method.to_owned(),
        params: params.to_owned(),
    };
    let sampling = r#"{ "messages": [{ "role": "user", "content": { "type": "text", "text": "Hello" } }], "maxTokens": 9 }"#;
    match input {
        None => {
            let requests = vec![
                request("roots", "roots/list", "{}"),
                request("model", "sampling/createMessage", sampling),
            ];
            Ok(PromptAnswer::InputRequired(InputRequired {
                requests,
                state: None,
            }))
        }
        Some(input) => Err(Error::Failed(format!("{} answers", input.responses.len()))),
    }
}

impl search_provider::Guest for Interactive {
    /// Ignores the hints of the query.
    fn search(query: SearchQuery) -> Result<Hits, Error> {
        let hit = |entry: Entry| Hit {
            excerpt: Some(format!("about {}", query.text)),
            entry,
        };
        let hits = Self::entries()
            .into_iter()
            .take(query.limit as usize)
            .map(hit)
            .collect();
        Ok(Hits {
            hits,
            freshness: Some(Freshness {
                ttl_ms: 1_000,
                scope: Scope::Everyone,
            }),
        })
    }
}

impl settings_provider::Guest for Interactive {
    fn settings() -> Vec<Declaration> {
        vec![
            Declaration {
                required: true,
                ..declaration("name", Kind::Text)
            },
            Declaration {
                default: Some("0".to_owned()),
                ..declaration("more", Kind::Number)
            },
            Declaration {
                description: "Be brief.".to_owned(),
                ..declaration("brief", Kind::Boolean)
            },
            declaration("cache", Kind::Size),
            declaration("wait", Kind::Duration),
            Declaration {
                secret: true,
                ..declaration("token", Kind::Text)
            },
        ]
    }
}

guests::export!(Interactive);
export_interfaces!(Interactive with_types_in interfaces);
