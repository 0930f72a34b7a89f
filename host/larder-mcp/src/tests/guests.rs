//! Fake providers that answer as the guests of the integration tests with the same names.

use larder_core::test_team::template;
use larder_model::resource::{
    Body, Completion, CompletionRequest, Content, Details, Entry, Freshness, Icon, Progress,
    ReadResult, Role, Scope, Theme,
};
use larder_model::uri::Uri;
use larder_provider::fake::{FakeContent, FakeRead, entry};
use larder_provider::{CallError, Fault, FaultKind};
use serde_json::value::RawValue;

use crate::Duration;

/// Answers with what it was asked, with several contents, and with errors.
pub(super) fn echo() -> FakeContent {
    FakeContent::default()
        .with_description("Echo", "Read echo://hello to see who you are.")
        .with_text("echo://hello", "")
        .with_text("echo://many", "")
        .with_text("echo://blob", "")
        .with_text("echo://progress", "")
        .with_template(template("echo://say/{word}"))
        .with_template(template("echo://setting/{name}"))
        .with_template(template("echo://error/{kind}"))
        .with_template(template("echo://touch/{+uri}"))
        .with_reader(read_echo)
        .with_completer(complete_word)
}

fn read_echo(read: &FakeRead<'_>) -> Result<ReadResult, CallError> {
    let uri = read.uri.as_str();
    let contents = match uri {
        "echo://many" => vec![
            content("echo://many/1", "text/plain", text("first")),
            content(
                "echo://many/2",
                "text/plain",
                Body::Blob(b"second".to_vec()),
            ),
            content(uri, "text/markdown", text("third")),
        ],
        "echo://progress" => {
            for step in 1..=3 {
                report_progress(read, step);
            }
            vec![content(uri, "text/plain", text("done"))]
        }
        "echo://blob" => {
            let blob = Body::Blob(vec![0, 159, 146, 150]);
            vec![content(uri, "application/octet-stream", blob)]
        }
        _ => match uri.strip_prefix("echo://error/") {
            Some(kind) => return Err(error(kind)),
            None => vec![content(uri, "text/plain", text(uri))],
        },
    };
    Ok(result(contents, None, Freshness::UNKNOWN))
}

fn report_progress(read: &FakeRead<'_>, step: u32) {
    if let Some(listener) = &read.call.progress {
        let progress = Progress {
            done: step.into(),
            total: Some(3.0),
            message: Some(format!("step {step}")),
        };
        listener.try_send(progress).unwrap();
    }
}

fn error(kind: &str) -> CallError {
    let because = || "because the test wants it".to_owned();
    match kind {
        "not-modified" => CallError::Failed("not modified".to_owned()),
        "invalid" => CallError::Invalid(because()),
        "denied" => CallError::Denied(because()),
        "unavailable" => CallError::Unavailable(because()),
        "failed" => CallError::Failed(because()),
        _ => CallError::NotFound,
    }
}

fn complete_word(request: CompletionRequest) -> Result<Completion, CallError> {
    let words = ["hello", "help", "world"].into_iter();
    let mut values: Vec<_> = words
        .filter(|word| word.starts_with(&request.prefix))
        .map(ToOwned::to_owned)
        .collect();
    let filled = request.filled.iter();
    values.extend(filled.map(|(name, value)| format!("{name}={value}")));
    Ok(Completion {
        total: Some(values.len() as u64),
        values,
        has_more: false,
    })
}

/// Sets every field of an entry.
pub(super) fn full() -> FakeContent {
    let details = Details {
        kind: Some("file".to_owned()),
        audience: vec![Role::User, Role::Assistant],
        priority: Some(0.5),
        last_modified: Some("2026-01-02T03:04:05Z".to_owned()),
        icons: vec![Icon {
            src: "https://example.com/icon.png".to_owned(),
            mime_type: Some("image/png".to_owned()),
            sizes: vec!["48x48".to_owned()],
            theme: Some(Theme::Dark),
        }],
        metadata: vec![(
            "example.com/colour".to_owned(),
            RawValue::from_string(r#"{"name":"blue"}"#.to_owned()).unwrap(),
        )],
    };
    let one = Entry {
        name: "one".to_owned(),
        title: Some("One".to_owned()),
        description: Some("the first".to_owned()),
        mime_type: Some("text/plain".to_owned()),
        size: Some(3),
        version: Some("1".to_owned()),
        details,
        ..entry("full://one")
    };
    FakeContent::default()
        .with_description("Full", "Read full://one first.")
        .with_entry(one)
        .with_template(template("full://word/{word}{?style}"))
        .with_reader(read_full)
        .with_list_freshness(for_caller(60_000))
}

fn read_full(read: &FakeRead<'_>) -> Result<ReadResult, CallError> {
    if read.known_version == Some("1") {
        return Err(CallError::NotModified);
    }
    let contents = vec![content(read.uri.as_str(), "text/plain", text("one"))];
    Ok(result(contents, Some("1"), for_caller(5_000)))
}

/// Reads return the values of the variables, and completions the variable and the values of the others.
pub(super) fn schema() -> FakeContent {
    FakeContent::default()
        .with_template(template("schema://{catalog}.{schema_name}/{table}"))
        .with_reader(|read| {
            let variables = read.matched.iter().flat_map(|matched| &matched.variables);
            let values: Vec<_> = variables.map(|variable| &*variable.value).collect();
            let contents = vec![content(
                read.uri.as_str(),
                "text/plain",
                text(&values.join(" > ")),
            )];
            Ok(result(contents, None, Freshness::UNKNOWN))
        })
        .with_completer(|request| {
            let own = format!("{} of {:?}", request.variable, request.filled);
            Ok(Completion {
                values: vec![own + &request.prefix],
                total: None,
                has_more: false,
            })
        })
}

/// A provider without resources, which does not say how long its list may be reused.
pub(super) fn nothing() -> FakeContent {
    FakeContent::default().with_list_freshness(Freshness {
        ttl: Duration::ZERO,
        scope: Scope::Everyone,
    })
}

/// Ten resources. A read of the seventh one traps.
pub(super) fn trap_nth() -> FakeContent {
    (0..10)
        .fold(FakeContent::default(), |content, n| {
            content.with_text(&format!("trap://{n}"), "")
        })
        .with_reader(|_| {
            Err(CallError::Fault(Fault {
                kind: FaultKind::Trap("unreachable".to_owned()),
                detail: String::new(),
                stderr: String::new(),
            }))
        })
}

fn for_caller(milliseconds: u64) -> Freshness {
    Freshness {
        ttl: Duration::from_millis(milliseconds),
        scope: Scope::Caller,
    }
}

fn text(text: &str) -> Body {
    Body::Text(text.to_owned())
}

fn content(uri: &str, mime_type: &str, body: Body) -> Content {
    Content {
        uri: Uri::parse(uri).unwrap(),
        mime_type: Some(mime_type.to_owned()),
        body,
        metadata: vec![],
    }
}

fn result(contents: Vec<Content>, version: Option<&str>, freshness: Freshness) -> ReadResult {
    ReadResult {
        contents: std::sync::Arc::new(contents.into_iter().collect()),
        version: version.map(ToOwned::to_owned),
        freshness,
        shared: false,
    }
}
