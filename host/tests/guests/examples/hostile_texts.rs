//! Puts texts that attack a web page into every field that a provider can fill: names, titles, descriptions, URIs,
//! contents, errors, log lines, completions, tools, prompts and settings. The setting `origin` is a server that no
//! page may contact.

#[path = "hostile_texts/contents.rs"]
mod contents;
mod interfaces;
#[path = "hostile_texts/texts.rs"]
mod texts;

use crate::exports::larder::provider::completion_provider::{
    Completion, CompletionRequest, Guest as CompletionGuest,
};
use guests::*;
use interfaces::*;
use texts::{TEN_MEBIBYTES, huge, texts};

wit_bindgen::generate!({
    path: "../../../wit",
    inline: "
        package guests:hostile-texts;
        world optional { export larder:provider/completion-provider@0.1.0; }
    ",
    export_macro_name: "export_completion",
    with: { "larder:provider/provider-types@0.1.0": guests::bindings::larder::provider::provider_types },
});

struct HostileTexts;

impl Behaviour for HostileTexts {
    fn describe() -> Description {
        write_logs("describe");
        let all = Some(texts().concat());
        Description {
            title: all.clone(),
            version: Some(texts()[0].clone()),
            summary: all.clone(),
            instructions: all,
            claims: vec![
                "hostile:".to_owned(),
                "javascript:".to_owned(),
                "data:".to_owned(),
            ],
        }
    }

    fn entries() -> Vec<Entry> {
        let attacks = texts().into_iter().enumerate().map(|(number, text)| Entry {
            name: text.clone(),
            title: Some(text.clone()),
            description: Some(text.clone()),
            mime_type: Some(text.clone()),
            version: Some(text),
            details: Some(hostile_details()),
            ..entry(&format!("hostile://text/{number}"))
        });
        let uris = uris().into_iter().map(|uri| entry(&uri));
        let contents = contents::NAMES.map(|name| entry(&format!("hostile://content/{name}")));
        let huge = Entry {
            name: huge(TEN_MEBIBYTES),
            title: Some(huge(1 << 20)),
            description: Some(huge(TEN_MEBIBYTES / 4)),
            ..entry("hostile://huge")
        };
        attacks.chain(uris).chain(contents).chain([huge]).collect()
    }

    fn templates() -> Vec<&'static str> {
        vec![
            "hostile://fault/{how}",
            "hostile://names/{__proto__}/{constructor}/{toString}",
            "hostile://%3Cscript%3E/{a}{?b,c}",
        ]
    }

    fn read(request: ReadRequest) -> Result<Reading, Error> {
        write_logs("read");
        let all = texts().concat();
        match request.uri.rsplit('/').next().unwrap_or_default() {
            "failed" => Err(Error::Failed(all)),
            "denied" => Err(Error::Denied(all)),
            "invalid" => Err(Error::Invalid(all)),
            "unavailable" => Err(Error::Unavailable(all)),
            "huge" => Err(Error::Failed(huge(TEN_MEBIBYTES))),
            "trap" => panic!("{all}"),
            name => contents::read(name),
        }
    }
}

/// URIs that a browser would run, load or misread.
fn uris() -> [String; 5] {
    let origin = texts::origin();
    [
        "javascript:window.attacked='uri'".to_owned(),
        "data:text/html,%3Cscript%3Eparent.attacked='data'%3C/script%3E".to_owned(),
        format!("{origin}/resource.png"),
        "hostile://%22%3E%3Cimg%20src=x%20onerror=window.attacked=1%3E".to_owned(),
        format!("hostile://long/{}", "a".repeat(8_000)),
    ]
}

fn hostile_details() -> Details {
    Details {
        kind: Some(texts()[0].clone()),
        icons: hostile_icons(),
        last_modified: Some(texts()[1].clone()),
        metadata: metadata(),
        ..details()
    }
}

fn hostile_icons() -> Vec<Icon> {
    let origin = texts::origin();
    let icon = |src: String| Icon {
        src,
        mime_type: None,
        sizes: vec!["any".to_owned()],
        theme: None,
    };
    let svg = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' onload='parent.attacked=1'/%3E";
    vec![
        icon("javascript:window.attacked='icon'".into()),
        icon(format!("{origin}/icon.png")),
        icon(svg.into()),
    ]
}

/// A key and a value that would change all objects of a page that merges objects without checks.
fn metadata() -> Vec<(String, String)> {
    vec![
        ("__proto__".to_owned(), "{\"attacked\":true}".to_owned()),
        (
            "example.com/__proto__".to_owned(),
            "{\"__proto__\":{\"attacked\":true}}".to_owned(),
        ),
    ]
}

/// Writes each text to the log, to stdout and to stderr.
fn write_logs(what: &str) {
    for text in texts() {
        eprintln!("{what}: {text}");
        println!("{what}: {text}");
        host::log(host::Level::Warn, &format!("{what}: {text}"));
    }
}

impl tool_provider::Guest for HostileTexts {
    fn list_tools(_cursor: Option<String>) -> Result<ToolPage, Error> {
        let hostile = texts().into_iter().enumerate().map(|(number, text)| Tool {
            title: Some(text.clone()),
            input_schema: format!(
                "{{\"type\":\"object\",\"properties\":{{{0}:{{\"description\":{0}}}}}}}",
                texts::json_string(&text)
            ),
            description: Some(text),
            icons: hostile_icons(),
            metadata: metadata(),
            ..tool(&format!("hostile_{number}"))
        });
        let names = ["__proto__", "constructor", "toString"].map(tool);
        let huge = Tool {
            title: Some(huge(1 << 20)),
            description: Some(huge(TEN_MEBIBYTES / 4)),
            ..tool("huge")
        };
        tool_page(hostile.chain(names).chain([huge]).collect())
    }

    fn call_tool(_call: ToolCall) -> Result<ToolAnswer, Error> {
        // The test uses only the page, and the page never calls tools.
        eprintln!("a tool was called");
        text_result("called")
    }
}

impl prompt_provider::Guest for HostileTexts {
    fn list_prompts(_cursor: Option<String>) -> Result<PromptPage, Error> {
        let hostile = texts()
            .into_iter()
            .enumerate()
            .map(|(number, text)| Prompt {
                title: Some(text.clone()),
                description: Some(text.clone()),
                arguments: vec![Argument {
                    title: Some(text.clone()),
                    description: Some(text),
                    ..argument("__proto__", true)
                }],
                icons: hostile_icons(),
                ..prompt(&format!("<b onclick=alert({number})>{number}"))
            });
        prompt_page(hostile.collect())
    }

    fn get_prompt(_request: PromptRequest) -> Result<PromptAnswer, Error> {
        Err(Error::Failed(texts().concat()))
    }

    fn complete_argument(_query: ArgumentQuery) -> Result<Suggestions, Error> {
        Err(Error::Failed(texts().concat()))
    }
}

impl search_provider::Guest for HostileTexts {
    fn search(_query: SearchQuery) -> Result<Hits, Error> {
        Err(Error::Unavailable(texts().concat()))
    }
}

impl settings_provider::Guest for HostileTexts {
    fn settings() -> Vec<Declaration> {
        let described = |name: &str, text: String| Declaration {
            description: text,
            ..declaration(name, Kind::Text)
        };
        let all = texts().concat();
        vec![
            described("origin", all.clone()),
            described("<b onclick=alert(1)>", all),
        ]
    }
}

impl CompletionGuest for HostileTexts {
    fn complete(_request: CompletionRequest) -> Result<Completion, Error> {
        Ok(Completion {
            values: texts(),
            total: None,
            more: true,
        })
    }
}

guests::export!(HostileTexts);
export_interfaces!(HostileTexts with_types_in interfaces);
export_completion!(HostileTexts);
