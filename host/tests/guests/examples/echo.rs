//! Returns the details of its request. It uses most features of the contract as a correct provider does.

use exports::larder::provider::completion_provider::{Completion, CompletionRequest, Guest};
use guests::*;

wit_bindgen::generate!({
    path: "../../../wit",
    inline: "
        package guests:echo;
        world optional { export larder:provider/completion-provider@0.1.0; }
    ",
    export_macro_name: "export_optional",
    with: { "larder:provider/provider-types@0.1.0": guests::bindings::larder::provider::provider_types },
});

struct Echo;

impl Behaviour for Echo {
    fn describe() -> Description {
        Description {
            title: Some("Echo".to_owned()),
            version: Some("0.1.0".to_owned()),
            summary: Some("says what it was asked".to_owned()),
            instructions: Some("Read echo://hello to see who you are.".to_owned()),
            claims: vec!["echo-claim:".to_owned()],
        }
    }

    fn entries() -> Vec<Entry> {
        [
            "echo://hello",
            "echo://many",
            "echo://blob",
            "echo://progress",
        ]
        .map(entry)
        .to_vec()
    }

    fn templates() -> Vec<&'static str> {
        vec![
            "echo://say/{word}",
            "echo://setting/{name}",
            "echo://error/{kind}",
            "echo://touch/{+uri}",
        ]
    }

    fn match_uri(uri: String) -> Option<TemplateMatch> {
        let rest = uri.strip_prefix("echo-claim:mine/")?;
        let variables = vec![variable("rest", rest)];
        Some(TemplateMatch {
            uri_template: "echo-claim:mine/{+rest}".to_owned(),
            variables,
        })
    }

    fn read(request: ReadRequest) -> Result<Reading, Error> {
        host::log(host::Level::Info, &format!("read {}", request.uri));
        let mut words = request.uri.split('/').skip(2);
        match words.next() {
            Some("many") => several_contents(),
            Some("blob") => reading(vec![content(
                Body::Blob(vec![0, 159, 146, 150]),
                "application/octet-stream",
            )]),
            Some("setting") => {
                text(host::setting(value(&request, "name")).unwrap_or_else(|| "unset".to_owned()))
            }
            Some("error") => Err(error(value(&request, "kind"))),
            Some("progress") => with_progress(),
            Some("touch") => touch(value(&request, "uri")),
            _ => text(describe_request(&request)),
        }
    }
}

impl Guest for Echo {
    fn complete(request: CompletionRequest) -> Result<Completion, Error> {
        if request.variable != "word" {
            return Err(Error::Invalid(format!(
                "`{}` has no suggestions",
                request.variable
            )));
        }
        let mut values: Vec<String> = ["hello", "help", "world"].map(ToOwned::to_owned).to_vec();
        values.retain(|word| word.starts_with(&request.prefix));
        values.extend(
            request
                .filled
                .into_iter()
                .map(|(name, value)| format!("{name}={value}")),
        );
        Ok(Completion {
            total: Some(values.len() as u64),
            values,
            more: false,
        })
    }
}

fn describe_request(request: &ReadRequest) -> String {
    let mut lines = vec![format!("uri: {}", request.uri)];
    if let Some(matched) = &request.matched {
        lines.push(format!("template: {}", matched.uri_template));
        lines.extend(matched.variables.iter().map(describe_variable));
    }
    lines.push(match host::get_caller() {
        None => "caller: the host".to_owned(),
        Some(caller) => describe_caller(&caller),
    });
    lines.extend(
        host::request_metadata()
            .into_iter()
            .map(|(key, json)| format!("metadata: {key}={json}")),
    );
    lines.extend(
        request
            .known_version
            .iter()
            .map(|version| format!("known version: {version}")),
    );
    lines.join("\n")
}

fn describe_variable(variable: &Variable) -> String {
    let Variable { name, key, value } = variable;
    match key {
        Some(key) => format!("value: {name}[{key}]={value}"),
        None => format!("value: {name}={value}"),
    }
}

fn describe_caller(
    Caller {
        subject,
        issuer,
        team,
        scopes,
    }: &Caller,
) -> String {
    let subject = subject.as_deref().unwrap_or("nobody");
    let issuer = issuer
        .iter()
        .map(|issuer| format!(", issued by {issuer}"))
        .collect::<String>();
    format!(
        "caller: {subject} of {team} with [{}]{issuer}",
        scopes.join(" ")
    )
}

fn several_contents() -> Result<Reading, Error> {
    let under = |uri: &str, body| Content {
        uri: Some(uri.to_owned()),
        ..content(body, "text/plain")
    };
    reading(vec![
        under("echo://many/1", Body::Text("first".to_owned())),
        under("echo://many/2", Body::Blob(b"second".to_vec())),
        content(Body::Text("third".to_owned()), "text/markdown"),
    ])
}

fn error(kind: &str) -> Error {
    let because = || "because the test wants it".to_owned();
    match kind {
        "not-modified" => Error::NotModified,
        "invalid" => Error::Invalid(because()),
        "denied" => Error::Denied(because()),
        "unavailable" => Error::Unavailable(because()),
        "failed" => Error::Failed(because()),
        "secret" => {
            let why = format!("because of {}", host::setting("token").unwrap_or_default());
            host::log(host::Level::Info, &format!("it says {why}"));
            Error::Failed(why)
        }
        _ => Error::NotFound,
    }
}

fn with_progress() -> Result<Reading, Error> {
    for step in 1..=3 {
        host::progress(f64::from(step), Some(3.0), Some(&format!("step {step}")));
    }
    text(format!("done, cancelled: {}", host::cancelled()))
}

/// Signals that this URI was updated, or that the list has changed if `uri` is `list`.
fn touch(uri: &str) -> Result<Reading, Error> {
    match uri {
        "list" => host::resources_changed(),
        uri => host::resource_updated(uri),
    }
    text(format!("touched {uri}"))
}

guests::export!(Echo);
export_optional!(Echo);
