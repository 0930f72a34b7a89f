//! The tools, the prompt, the search and the settings of the changelog examples. They must be the same in each
//! language.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use expect_test::{Expect, expect};
use larder_model::input::{Answer, InputResponse, ProvidedInput};
use larder_model::message::{Block, BlockValue};
use larder_model::name::TeamName;
use larder_model::policy::{Grant, Permit};
use larder_model::prompt::{ArgumentQuery, PromptRequest, PromptResult};
use larder_model::resource::{Body, Completion};
use larder_model::search::SearchQuery;
use larder_model::tool::{ToolCall, ToolName, ToolResult};
use larder_provider::{CallError, Provider as _, signal_channel};
use larder_runtime::drain::Drain;
use larder_sandbox::Sandbox;
use larder_sandbox::provider::Provider;

use crate::support::harness::{anonymous_call, provider_parts, sandbox_config};

/// Makes calls of all kinds, and compares the results.
pub(crate) async fn check(component: &[u8]) {
    let drain = Drain::new();
    let sandbox = Arc::new(Sandbox::new(&sandbox_config(), &drain).unwrap());
    let team = TeamName::default_team();
    let compiled = sandbox
        .compile(&team, component.to_vec().into())
        .await
        .unwrap();
    let (sender, _signals) = signal_channel();
    let parts = provider_parts("changelog", Grant::default(), sender, &drain);
    let provider = Provider::new(parts, compiled, sandbox);
    let mut session = Session {
        provider,
        output: String::new(),
    };
    session.lists().await;
    session.comparisons().await;
    session.drafts().await;
    session.announcements().await;
    session.completions().await;
    session.searches().await;
    expected().assert_eq(&session.output);
}

struct Session {
    provider: Provider,
    output: String,
}

fn permit() -> Permit {
    Permit::for_team(&anonymous_call(), &TeamName::default_team()).unwrap()
}

impl Session {
    fn show(&mut self, line: impl std::fmt::Display) {
        writeln!(self.output, "{line}").unwrap();
    }

    async fn lists(&mut self) {
        for tool in self
            .provider
            .list_tools(permit(), None)
            .await
            .unwrap()
            .items
        {
            self.show(format_args!(
                "tool {} {:?} {:?} {:?}",
                tool.name, tool.title, tool.description, tool.hints
            ));
            self.show(format_args!(
                "output schema: {}",
                tool.output_schema.is_some()
            ));
            let schema: serde_json::Value = serde_json::from_str(tool.input_schema.get()).unwrap();
            for (name, property) in schema["properties"].as_object().into_iter().flatten() {
                self.show(format_args!(
                    "argument {name} {} {}",
                    property["type"], property["description"]
                ));
            }
            // An empty list may be absent.
            let required: Vec<_> = schema["required"]
                .as_array()
                .into_iter()
                .flatten()
                .collect();
            self.show(format_args!("required {required:?}"));
        }
        for prompt in self
            .provider
            .list_prompts(permit(), None)
            .await
            .unwrap()
            .items
        {
            self.show(format_args!(
                "prompt {} {:?} {:?}",
                prompt.name, prompt.title, prompt.description
            ));
            for argument in prompt.arguments {
                self.show(format_args!("{argument:?}"));
            }
        }
        for setting in self
            .provider
            .declared_settings(permit())
            .await
            .unwrap()
            .items
        {
            self.show(format_args!("{setting:?}"));
        }
    }

    async fn tool(&mut self, name: &str, arguments: &str, input: Option<ProvidedInput>) {
        let call = ToolCall {
            name: ToolName::parse(name).unwrap(),
            arguments: arguments.to_owned(),
            input,
        };
        let answer = self.provider.call_tool(permit(), call, None).await;
        self.show(format_args!("> {name} {arguments}"));
        self.show_answer(answer, |result: ToolResult| {
            let blocks: Vec<_> = result.content.iter().map(shown).collect();
            // Languages differ in the order of properties.
            let structured = result
                .structured
                .map(|raw| serde_json::from_str::<serde_json::Value>(raw.get()));
            let structured =
                structured.map_or(String::new(), |json| format!("{}\n", json.unwrap()));
            format!("{structured}{}error {}", blocks.concat(), result.is_error)
        });
    }

    fn show_answer<T>(
        &mut self,
        answer: Result<Answer<T>, CallError>,
        shown: impl FnOnce(T) -> String,
    ) {
        match answer {
            Ok(Answer::Complete(result)) => self.show(shown(result)),
            Ok(Answer::InputRequired(required)) => {
                let state = required
                    .state
                    .map(|state| String::from_utf8(state).unwrap());
                self.show(format_args!("state {state:?}"));
                for request in required.requests {
                    let (key, method, params) =
                        (request.key, request.method.as_str(), request.params);
                    let params: serde_json::Value = serde_json::from_str(params.get()).unwrap();
                    self.show(format_args!("{key} {method} {params}"));
                }
            }
            Err(error) => self.show(format_args!("{error}")),
        }
    }

    async fn comparisons(&mut self) {
        for (from, to) in [
            ("0.1.0", "0.2.0"),
            ("0.1.0", "Unreleased"),
            ("0.2.0", "0.2.0"),
            ("0.2.0", "0.1.0"),
            ("9", "0.1.0"),
        ] {
            let arguments = serde_json::json!({ "from": from, "to": to }).to_string();
            self.tool("compare_releases", &arguments, None).await;
        }
        self.tool("unknown", "{}", None).await;
    }

    async fn drafts(&mut self) {
        self.tool("draft_release", "{}", None).await;
        let accepted = r#"{"action":"accept","content":{"version":"1.0.0"}}"#;
        let outcomes = [
            (Ok(accepted), "0bad5eed"),
            (Ok(accepted), UNRELEASED),
            (Ok(r#"{"action":"decline"}"#), UNRELEASED),
            (Ok(r#"{"action":"cancel"}"#), "0bad5eed"),
            (Err(r#"{"code":-32601,"message":"no"}"#), UNRELEASED),
        ];
        for (outcome, state) in outcomes {
            let outcome = outcome.map(str::to_owned).map_err(str::to_owned);
            let responses = vec![InputResponse {
                key: "version".into(),
                outcome,
            }];
            let input = ProvidedInput {
                responses,
                state: Some(state.into()),
            };
            self.tool("draft_release", "{}", Some(input)).await;
        }
    }

    async fn announcements(&mut self) {
        let requests: [&[(&str, &str)]; 4] = [
            &[("version", "0.1.0")],
            &[("version", "0.2.0"), ("tone", "friendly")],
            &[("version", "9")],
            &[],
        ];
        for arguments in requests {
            let pairs = arguments
                .iter()
                .map(|(name, value)| ((*name).into(), (*value).into()))
                .collect();
            let request = PromptRequest {
                name: "announce_release".into(),
                arguments: pairs,
                input: None,
            };
            let answer = self.provider.get_prompt(permit(), request).await;
            self.show(format_args!("> announce_release {arguments:?}"));
            self.show_answer(answer, |result: PromptResult| {
                let shown = |message: &larder_model::prompt::Message| {
                    format!("{:?} {}", message.role, shown(&message.content))
                };
                let messages: Vec<_> = result.messages.iter().map(shown).collect();
                format!("{:?}\n{}", result.description, messages.concat())
            });
        }
        let unknown = PromptRequest {
            name: "unknown".into(),
            ..PromptRequest::default()
        };
        let answer = self.provider.get_prompt(permit(), unknown).await;
        self.show_answer(answer, |_| "found".into());
    }

    async fn completions(&mut self) {
        for (argument, prefix) in [
            ("version", ""),
            ("version", "0."),
            ("tone", "f"),
            ("tone", "fo"),
            ("other", ""),
        ] {
            let (prompt, argument, prefix) =
                ("announce_release".into(), argument.into(), prefix.into());
            let query = ArgumentQuery {
                prompt,
                argument,
                prefix,
                filled: Vec::new(),
            };
            match self.provider.complete_argument(permit(), query).await {
                Ok(Completion { values, .. }) => self.show(format_args!("values {values:?}")),
                Err(error) => self.show(error),
            }
        }
    }

    async fn searches(&mut self) {
        for (text, limit) in [
            ("RELEASE", 10),
            ("release", 1),
            ("for programs", 10),
            ("nowhere", 10),
        ] {
            let query = SearchQuery {
                text: text.into(),
                limit,
                ..SearchQuery::default()
            };
            self.show(format_args!("> search {text} {limit}"));
            for hit in self
                .provider
                .search_for_caller(permit(), &query)
                .await
                .unwrap()
                .hits
            {
                self.show(format_args!(
                    "{} {:?} {:?}",
                    hit.entry.uri, hit.entry.title, hit.excerpt
                ));
            }
        }
    }
}

/// The digest of the unreleased changes in the sample.
const UNRELEASED: &str = "0f1eb69b";

fn shown(block: &Block) -> String {
    match &block.value {
        BlockValue::Text(text) => format!("text {text}\n"),
        BlockValue::Embedded(resource) => match &resource.body {
            Body::Text(text) => format!(
                "embedded {} {:?} {text:?}\n",
                resource.uri, resource.mime_type
            ),
            Body::Blob(_) => "embedded blob\n".into(),
        },
        _ => "another block\n".into(),
    }
}

fn expected() -> Expect {
    expect![[r###"
        tool compare_releases Some("Compare releases") Some("Lists what changed after one release, up to and including another.") Hints { read_only: Some(true), destructive: None, idempotent: Some(true), open_world: Some(false), long_running: None }
        output schema: true
        argument from "string" "The older version."
        argument to "string" "The newer version."
        required [String("from"), String("to")]
        tool draft_release Some("Draft a release") Some("Turns the unreleased changes into a release, after asking for its version.") Hints { read_only: Some(true), destructive: None, idempotent: Some(true), open_world: Some(false), long_running: None }
        output schema: false
        required []
        prompt announce_release Some("Announce a release") Some("Writes an announcement of a release.")
        Argument { name: "version", title: None, description: Some("The version to announce."), required: true }
        Argument { name: "tone", title: None, description: Some("Such as friendly or formal."), required: false }
        Declaration { name: "file", kind: Text, description: "Name of the file in the folder that is granted as `/changelog`.", default: Some("CHANGELOG.md"), required: false, secret: false }
        > compare_releases {"from":"0.1.0","to":"0.2.0"}
        {"changes":[{"item":"Completion of versions.","kind":"Added","version":"0.2.0"},{"item":"Each release as JSON, for programs.","kind":"Added","version":"0.2.0"},{"item":"A release without a date is no longer left out.","kind":"Fixed","version":"0.2.0"}]}
        text 0.2.0 Added: Completion of versions.
        0.2.0 Added: Each release as JSON, for programs.
        0.2.0 Fixed: A release without a date is no longer left out.
        error false
        > compare_releases {"from":"0.1.0","to":"Unreleased"}
        {"changes":[{"item":"A provider in each language.","kind":"Added","version":"Unreleased"},{"item":"Completion of versions.","kind":"Added","version":"0.2.0"},{"item":"Each release as JSON, for programs.","kind":"Added","version":"0.2.0"},{"item":"A release without a date is no longer left out.","kind":"Fixed","version":"0.2.0"}]}
        text Unreleased Added: A provider in each language.
        0.2.0 Added: Completion of versions.
        0.2.0 Added: Each release as JSON, for programs.
        0.2.0 Fixed: A release without a date is no longer left out.
        error false
        > compare_releases {"from":"0.2.0","to":"0.2.0"}
        {"changes":[]}
        text Nothing changed.
        error false
        > compare_releases {"from":"0.2.0","to":"0.1.0"}
        {"changes":[]}
        text Nothing changed.
        error false
        > compare_releases {"from":"9","to":"0.1.0"}
        text There is no release `9`. Known releases: Unreleased, 0.2.0, 0.1.0.
        error true
        > unknown {}
        not found
        > draft_release {}
        state Some("0f1eb69b")
        version elicitation/create {"message":"Which version is released?","mode":"form","requestedSchema":{"properties":{"version":{"description":"Such as 1.2.0","type":"string"}},"required":["version"],"type":"object"}}
        > draft_release {}
        text The changelog has changed: draft again.
        error true
        > draft_release {}
        text ## [1.0.0]

        ### Added

        - A provider in each language.

        error false
        > draft_release {}
        text No release was drafted.
        error false
        > draft_release {}
        text No release was drafted.
        error false
        > draft_release {}
        text No release was drafted.
        error false
        > announce_release [("version", "0.1.0")]
        Some("Announcement of release 0.1.0")
        User text Write an announcement of release 0.1.0 for its users. Name the most important change first.
        User embedded changelog://releases/0.1.0 Some("text/markdown") "## [0.1.0] - 2026-05-12\n\n### Added\n\n- The releases of a changelog, as resources.\n"

        > announce_release [("version", "0.2.0"), ("tone", "friendly")]
        Some("Announcement of release 0.2.0")
        User text Write an announcement of release 0.2.0 for its users, in a friendly tone. Name the most important change first.
        User embedded changelog://releases/0.2.0 Some("text/markdown") "## [0.2.0] - 2026-06-30\n\n### Added\n\n- Completion of versions.\n- Each release as JSON,\n  for programs.\n\n### Fixed\n\n- A release without a date is no longer left out.\n"

        > announce_release [("version", "9")]
        there is no release `9`
        > announce_release []
        `version` is missing
        not found
        values ["Unreleased", "0.2.0", "0.1.0"]
        values ["0.2.0", "0.1.0"]
        values ["friendly", "formal"]
        values ["formal"]
        not found
        > search RELEASE 10
        changelog://releases/Unreleased Some("Release Unreleased") Some("## [Unreleased]")
        changelog://releases/0.2.0 Some("Release 0.2.0") Some("- Each release as JSON,")
        changelog://releases/0.1.0 Some("Release 0.1.0") Some("- The releases of a changelog, as resources.")
        > search release 1
        changelog://releases/Unreleased Some("Release Unreleased") Some("## [Unreleased]")
        > search for programs 10
        changelog://releases/0.2.0 Some("Release 0.2.0") Some("for programs.")
        > search nowhere 10
    "###]]
}

/// Checks an example that `cargo xtask test language` has built.
async fn check_example(language: &str) {
    let path = format!("../../target/languages/{language}/session/plugins/changelog.wasm");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    check(&std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
        .await;
}

macro_rules! examples {
    ($($language:ident)*) => {
        $(
            #[tokio::test]
            #[ignore = "needs the built example"]
            async fn $language() {
                check_example(stringify!($language)).await;
            }
        )*
    };
}

examples!(c cpp go javascript python rust typescript);
