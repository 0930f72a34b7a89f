//! Returns tools, prompts, hits and settings that the host must not pass on. Names select what is wrong.

mod interfaces;

use guests::*;
use interfaces::*;

struct HostileInterfaces;

impl Behaviour for HostileInterfaces {}

const NAMES: [&str; 7] = [
    "",
    "two words",
    "line\nbreak",
    "\u{1b}[31mred",
    "a/b",
    "ünïcode",
    "\0",
];

impl tool_provider::Guest for HostileInterfaces {
    /// The cursor selects what is wrong with the page.
    fn list_tools(cursor: Option<String>) -> Result<ToolPage, Error> {
        let with_schema = |name: &str, input_schema: String| Tool {
            input_schema,
            ..tool(name)
        };
        match cursor.as_deref() {
            Some("million") => tool_page(vec![tool("same"); 1_000_000]),
            Some("many") => tool_page((0..10_001).map(|n| tool(&n.to_string())).collect()),
            Some("again") => {
                let next_cursor = Some("again".to_owned());
                Ok(ToolPage {
                    tools: vec![tool("again")],
                    next_cursor,
                    freshness: None,
                })
            }
            Some("cursor") => Ok(ToolPage {
                tools: vec![],
                next_cursor: Some("x".repeat(1 << 20)),
                freshness: None,
            }),
            Some(_) => Err(Error::NotFound),
            None => tool_page(
                NAMES
                    .map(tool)
                    .into_iter()
                    .chain([
                        tool(&"x".repeat(65)),
                        with_schema("no_json", "{\"type\":\"object\"".to_owned()),
                        with_schema("two_values", "{\"type\":\"object\"} {}".to_owned()),
                        with_schema("array", "[]".to_owned()),
                        with_schema("text", "{\"type\":\"string\"}".to_owned()),
                        with_schema(
                            "deep",
                            format!("{{\"type\":\"object\",\"x\":{}", nested(1_000)),
                        ),
                        with_schema(
                            "long",
                            format!("{{\"type\":\"object\",\"x\":\"{}\"}}", "x".repeat(70_000)),
                        ),
                        Tool {
                            output_schema: Some("[".to_owned()),
                            ..tool("output")
                        },
                        Tool {
                            title: Some("x".repeat(300_000)),
                            ..tool("title")
                        },
                        Tool {
                            metadata: bad_metadata(),
                            icons: bad_icons(),
                            ..tool("good")
                        },
                        tool("good"),
                        tool("good"),
                    ])
                    .collect(),
            ),
        }
    }

    fn call_tool(call: ToolCall) -> Result<ToolAnswer, Error> {
        let complete = |result: ToolResult| Ok(ToolAnswer::Complete(result));
        let value = |value: BlockValue| complete(result(vec![block(value)]));
        let media = |mime_type: &str| Media {
            mime_type: mime_type.to_owned(),
            data: vec![],
        };
        let embedded = |uri: &str, mime_type: &str| {
            BlockValue::Embedded(EmbeddedResource {
                uri: uri.to_owned(),
                mime_type: Some(mime_type.to_owned()),
                body: Body::Text(String::new()),
                metadata: bad_metadata(),
            })
        };
        match call.name.as_str() {
            "blocks" => complete(result(vec![block(BlockValue::Text(String::new())); 1_001])),
            "large" => value(BlockValue::Text("x".repeat(20 << 20))),
            "image" => value(BlockValue::Image(media("text/html"))),
            "audio" => value(BlockValue::Audio(media("audio/x\r\nX: 1"))),
            "link" => value(BlockValue::Link(entry("not a uri"))),
            "long_link" => {
                let description = Some("x".repeat(100_000));
                value(BlockValue::Link(Entry {
                    description,
                    ..entry("hostile:x")
                }))
            }
            "embedded" => value(embedded("no-scheme", "text/plain")),
            "embedded_type" => value(embedded("hostile:x", "\n")),
            "structured" => complete(ToolResult {
                structured: Some("{\"a\":".to_owned()),
                ..result(vec![])
            }),
            "deep" => complete(ToolResult {
                structured: Some(nested(1_000)),
                ..result(vec![])
            }),
            "metadata" => {
                let annotations = Annotations {
                    audience: vec![Role::User; 1_000],
                    priority: Some(f64::NAN),
                    last_modified: None,
                };
                let text = block(BlockValue::Text("fine".to_owned()));
                let text = Block {
                    annotations: Some(annotations),
                    metadata: bad_metadata(),
                    ..text
                };
                complete(ToolResult {
                    metadata: bad_metadata(),
                    ..result(vec![text])
                })
            }
            "requests" => input_required(vec![request("a"); 17], None),
            "no_requests" => input_required(vec![], Some(vec![1])),
            "same_key" => input_required(vec![request("a"), request("a")], None),
            "key" => input_required(vec![request("a\nb")], None),
            "method" => input_required(
                vec![InputRequest {
                    method: "tools/call".to_owned(),
                    ..request("a")
                }],
                None,
            ),
            "params" => input_required(
                vec![InputRequest {
                    params: "[]".to_owned(),
                    ..request("a")
                }],
                None,
            ),
            "state" => input_required(vec![request("a")], Some(vec![0; (64 << 10) + 1])),
            "error" => Err(Error::NotModified),
            _ => Err(Error::NotFound),
        }
    }
}

fn nested(depth: usize) -> String {
    "[".repeat(depth) + &"]".repeat(depth)
}

fn bad_metadata() -> Vec<(String, String)> {
    [
        ("io.modelcontextprotocol/x", "1"),
        ("a b", "1"),
        ("example.com/x", "{"),
        ("example.com/fine", "1"),
    ]
    .map(|(key, json)| (key.to_owned(), json.to_owned()))
    .to_vec()
}

fn bad_icons() -> Vec<Icon> {
    vec![Icon {
        src: "javascript:alert(1)".to_owned(),
        mime_type: None,
        sizes: vec![],
        theme: None,
    }]
}

fn request(key: &str) -> InputRequest {
    InputRequest {
        key: key.to_owned(),
        method: "roots/list".to_owned(),
        params: "{}".to_owned(),
    }
}

fn input_required(
    requests: Vec<InputRequest>,
    state: Option<Vec<u8>>,
) -> Result<ToolAnswer, Error> {
    Ok(ToolAnswer::InputRequired(InputRequired { requests, state }))
}

impl prompt_provider::Guest for HostileInterfaces {
    fn list_prompts(cursor: Option<String>) -> Result<PromptPage, Error> {
        if cursor.is_some() {
            return prompt_page(vec![prompt("same"); 1_000_000]);
        }
        let with_arguments = |name: &str, arguments| Prompt {
            arguments,
            ..prompt(name)
        };
        let prompts = ["", "line\nbreak", "\u{9b}31m", "good", "good"]
            .map(prompt)
            .into_iter()
            .chain([
                prompt(&"x".repeat(129)),
                with_arguments("bad argument", vec![argument("a b", true)]),
                with_arguments(
                    "two arguments",
                    vec![argument("a", true), argument("a", true)],
                ),
                with_arguments(
                    "many arguments",
                    (0..65).map(|n| argument(&n.to_string(), true)).collect(),
                ),
            ]);
        prompt_page(prompts.collect())
    }

    fn get_prompt(request: PromptRequest) -> Result<PromptAnswer, Error> {
        let text = |text: &str| Message {
            role: Role::User,
            content: block(BlockValue::Text(text.to_owned())),
        };
        let link = Message {
            role: Role::User,
            content: block(BlockValue::Link(entry("not a uri"))),
        };
        let messages = match request.name.as_str() {
            "many" => vec![text(""); 1_001],
            "link" => vec![text("fine"), link],
            _ => return Err(Error::NotFound),
        };
        Ok(PromptAnswer::Complete(PromptResult {
            description: None,
            messages,
            metadata: vec![],
        }))
    }

    fn complete_argument(_query: ArgumentQuery) -> Result<Suggestions, Error> {
        Ok(Suggestions {
            values: vec!["x".to_owned(); 1_000],
            total: Some(1),
            more: false,
        })
    }
}

impl search_provider::Guest for HostileInterfaces {
    /// Returns a thousand hits for any limit. The first hits are invalid.
    fn search(query: SearchQuery) -> Result<Hits, Error> {
        let hit = |uri: &str| Hit {
            entry: entry(uri),
            excerpt: Some("x".repeat(5_000)),
        };
        let long = Hit {
            entry: Entry {
                name: "x".repeat(70_000),
                ..entry("hostile:long")
            },
            excerpt: None,
        };
        let invalid = [hit("not a uri"), hit("hostile:0"), hit("hostile:0"), long];
        let count = if query.text == "many" { 10_000 } else { 1_000 };
        let hits = invalid.into_iter().chain((1..count).map(|n| Hit {
            excerpt: None,
            ..hit(&format!("hostile:{n}"))
        }));
        Ok(Hits {
            hits: hits.collect(),
            freshness: None,
        })
    }
}

impl settings_provider::Guest for HostileInterfaces {
    fn settings() -> Vec<Declaration> {
        if host::setting("in").as_deref() == Some("many") {
            return (0..257)
                .map(|n| declaration(&n.to_string(), Kind::Text))
                .collect();
        }
        if host::setting("in").as_deref() == Some("trap") {
            panic!("the declaration of settings traps");
        }
        let with_default = |name: &str, kind, default: &str| Declaration {
            default: Some(default.to_owned()),
            ..declaration(name, kind)
        };
        let described = Declaration {
            description: "x".repeat(20_000),
            ..declaration("long", Kind::Text)
        };
        NAMES
            .map(|name| declaration(name, Kind::Text))
            .into_iter()
            .chain([
                declaration("same", Kind::Text),
                declaration("same", Kind::Number),
                with_default("number", Kind::Number, "many"),
                with_default("boolean", Kind::Boolean, "yes"),
                with_default("size", Kind::Size, "1.5MB"),
                with_default("duration", Kind::Duration, "soon"),
                described,
            ])
            .collect()
    }
}

guests::export!(HostileInterfaces);
export_interfaces!(HostileInterfaces with_types_in interfaces);
