//! Tools, prompts, search and settings of real components, called through the provider.

mod client;
mod hostile;
mod prompts;
mod search;
mod settings;
mod tools;

use std::sync::Arc;

use larder_model::input::Answer;
use larder_model::message::{Block, BlockValue};
use larder_model::name::TeamName;
use larder_model::policy::{Grant, Permit};
use larder_model::prompt::{PromptRequest, PromptResult};
use larder_model::resource::{Body, Call};
use larder_model::search::SearchQuery;
use larder_model::tool::{ToolCall, ToolName, ToolResult};
use larder_provider::{
    CallError, ListPage, OptionalInterfaces, Provider as _, SignalReceiver, signal_channel,
};
use larder_runtime::drain::Drain;
use larder_sandbox::Sandbox;
use larder_sandbox::provider::Provider;

use crate::support::harness::{anonymous_call, component_path, provider_parts, sandbox_config};

/// A provider without a server.
struct TestProvider {
    provider: Provider,
    signals: SignalReceiver,
    _drain: Drain,
}

async fn load(guest: &str, change: impl FnOnce(&mut Grant)) -> TestProvider {
    let drain = Drain::new();
    let sandbox = Arc::new(Sandbox::new(&sandbox_config(), &drain).unwrap());
    let team = TeamName::default_team();
    let component = std::fs::read(component_path(guest)).unwrap();
    let compiled = sandbox.compile(&team, component.into()).await.unwrap();
    let mut grant = Grant::default();
    change(&mut grant);
    let (sender, signals) = signal_channel();
    let parts = provider_parts(guest, grant, sender, &drain);
    let provider = Provider::new(parts, compiled, sandbox);
    TestProvider {
        provider,
        signals,
        _drain: drain,
    }
}

async fn interactive() -> TestProvider {
    load("interactive", |_| {}).await
}

async fn hostile() -> TestProvider {
    load("hostile_interfaces", |_| {}).await
}

fn permit_for(call: &Arc<Call>) -> Permit {
    Permit::for_team(call, &TeamName::default_team()).unwrap()
}

fn permit() -> Permit {
    permit_for(&anonymous_call())
}

fn tool_call(name: &str, arguments: &str) -> ToolCall {
    ToolCall {
        name: ToolName::parse(name).unwrap(),
        arguments: arguments.to_owned(),
        input: None,
    }
}

impl TestProvider {
    async fn call_tool(
        &self,
        name: &str,
        arguments: &str,
    ) -> Result<Answer<ToolResult>, CallError> {
        self.provider
            .call_tool(permit(), tool_call(name, arguments), None)
            .await
    }

    /// Calls a tool that returns one text.
    async fn tool_text(&self, permit: Permit, call: ToolCall) -> String {
        match self.provider.call_tool(permit, call, None).await {
            Ok(Answer::Complete(result)) => result
                .content
                .iter()
                .map(shown)
                .collect::<Vec<_>>()
                .join("\n"),
            Ok(Answer::InputRequired(_)) => "input required".into(),
            Err(error) => format!("error: {error}"),
        }
    }

    async fn prompt(
        &self,
        name: &str,
        arguments: &[(&str, &str)],
    ) -> Result<Answer<PromptResult>, CallError> {
        let arguments = arguments
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let request = PromptRequest {
            name: name.to_owned(),
            arguments,
            input: None,
        };
        self.provider.get_prompt(permit(), request).await
    }
}

/// Shows a block on one line.
fn shown(block: &Block) -> String {
    let value = match &block.value {
        BlockValue::Text(text) => format!("text {text}"),
        BlockValue::Image(media) => format!("image {} {:?}", media.mime_type, media.data),
        BlockValue::Audio(media) => format!("audio {} {:?}", media.mime_type, media.data),
        BlockValue::Link(entry) => format!("link {}", entry.uri),
        BlockValue::Embedded(resource) => match &resource.body {
            Body::Text(text) => {
                format!("embedded {} {:?} {text}", resource.uri, resource.mime_type)
            }
            Body::Blob(_) => "embedded blob".into(),
        },
    };
    let annotations = block
        .annotations
        .as_ref()
        .map(|it| format!(" {:?} {:?}", it.audience, it.priority));
    let metadata: String = block
        .metadata
        .iter()
        .map(|(key, value)| format!(" {key}={}", value.get()))
        .collect();
    value + &annotations.unwrap_or_default() + &metadata
}

/// Shows the names on a page and what was omitted from the page.
fn page<T>(page: Result<ListPage<T>, CallError>, name: impl Fn(&T) -> String) -> String {
    match page {
        Ok(page) => {
            let names: Vec<_> = page.items.iter().map(name).collect();
            let omitted: String = page
                .omitted
                .iter()
                .map(|why| format!("omitted: {why}\n"))
                .collect();
            format!("{} next {:?}\n{omitted}", names.join(" "), page.next)
        }
        Err(error) => format!("error: {error}"),
    }
}

#[tokio::test]
async fn finds_the_interfaces_of_a_component() {
    let interfaces = |loaded: &TestProvider| loaded.provider.facts().interfaces;
    assert_eq!(
        interfaces(&interactive().await),
        OptionalInterfaces {
            tools: true,
            prompts: true,
            search: true,
            settings: true,
            versions: false,
            directories: false,
        }
    );
    let echo = load("echo", |_| {}).await;
    assert_eq!(interfaces(&echo), OptionalInterfaces::default());
    let failed =
        |interface: &str| CallError::Failed(format!("it does not implement `{interface}`"));
    assert_eq!(
        echo.call_tool("x", "{}").await.unwrap_err(),
        failed("tool-provider")
    );
    assert_eq!(
        echo.prompt("x", &[]).await.unwrap_err(),
        failed("prompt-provider")
    );
    let search = echo
        .provider
        .search_for_caller(permit(), &SearchQuery::default())
        .await;
    assert_eq!(search.unwrap_err(), failed("search-provider"));
    assert_eq!(
        echo.provider.declared_settings(permit()).await.unwrap_err(),
        failed("settings-provider")
    );
}
