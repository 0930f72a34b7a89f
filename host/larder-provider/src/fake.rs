//! An engine and a provider without WebAssembly, for tests. A provider serves texts and tools that a test defines. A
//! test can let its calls fail or wait, and sees which calls were made.

mod behaviour;
mod engine;
mod state;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime};

use futures_util::future::BoxFuture;
use larder_json_schema::Effort;
use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::sync::watch;

pub use self::behaviour::{FakeCompleter, FakeLister, FakeRead, FakeReader, FakeSearcher};
pub use self::engine::FakeEngine;
use self::state::State;
pub use self::state::entry;
use super::{
    CallError, CircuitStates, Fault, FaultKind, GrantSources, ListPage, ListQuery, LoadError,
    MAX_EFFORT, OptionalInterfaces, ProbeResult, Provider, ProviderCall, ProviderFacts,
    ProviderParts, ToolValidation, UriFilter, signal_channel,
};
use larder_model::input::Answer;
use larder_model::message::{Block, BlockValue};
use larder_model::name::{Digest, ProviderName, TeamName};
use larder_model::policy::{Grant, Permit, TimeLimit, UI_KEY};
use larder_model::resource::{
    Call, Completion, CompletionRequest, Entry, Freshness, Match, ReadResult,
};
use larder_model::search::{Hits, SearchQuery};
use larder_model::tool::{Hints, Tool, ToolCall, ToolName, ToolResult};
use larder_model::uri::Uri;
use larder_runtime::drain::Drain;
use larder_runtime::metrics::Metrics;

/// What a fake provider serves, and how it behaves. Clones share one state, so that a test can change what a provider
/// serves.
#[derive(Debug, Clone, Default)]
pub struct FakeContent(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// Whether calls wait.
    is_paused: watch::Sender<bool>,
}

impl FakeContent {
    /// Adds a resource with this text, or replaces its text. The provider lists all its resources.
    pub fn with_text(self, uri: &str, text: &str) -> Self {
        self.0
            .state
            .lock()
            .texts
            .insert(uri.to_owned(), text.to_owned());
        self
    }

    /// Removes a resource.
    pub fn remove(&self, uri: &str) {
        self.0.state.lock().texts.remove(uri);
    }

    /// From now on, lists contain the versions of the texts.
    pub fn versioned(self) -> Self {
        self.0.state.lock().is_versioned = true;
        self
    }

    /// From now on, each read returns another text.
    pub fn unstable(self) -> Self {
        self.0.state.lock().is_unstable = true;
        self
    }

    /// Adds a tool with this JSON Schema for its arguments. The tool returns its arguments as text.
    ///
    /// # Panics
    ///
    /// If the name or the JSON is invalid.
    pub fn with_tool(self, name: &str, input_schema: &str) -> Self {
        let tool = Tool {
            name: ToolName::parse(name).expect("a name of a tool"),
            title: None,
            description: None,
            input_schema: RawValue::from_string(input_schema.to_owned()).expect("JSON"),
            output_schema: None,
            hints: Hints::default(),
            icons: vec![],
            metadata: vec![],
        };
        self.0.state.lock().tools.push(tool);
        self
    }

    /// Adds a tool whose results are shown by this page of an app.
    ///
    /// # Panics
    ///
    /// If the name is invalid.
    pub fn with_page_tool(self, name: &str, page: &str) -> Self {
        let content = self.with_tool(name, "{}");
        let ui = format!("{{\"resourceUri\":\"{page}\"}}");
        let ui = RawValue::from_string(ui).expect("JSON");
        if let Some(tool) = content.0.state.lock().tools.last_mut() {
            tool.metadata.push((UI_KEY.to_owned(), ui));
        }
        content
    }

    /// From now on, calls fail with this error.
    pub fn fail(&self, error: CallError) {
        self.0.state.lock().failure = Some(error);
    }

    /// From now on, calls wait until [`Self::resume`] is called.
    pub fn pause(&self) {
        self.0.is_paused.send_replace(true);
    }

    /// Lets calls that wait continue.
    pub fn resume(&self) {
        self.0.is_paused.send_replace(false);
    }

    /// The calls that were made so far.
    pub fn calls(&self) -> Vec<String> {
        self.0.state.lock().calls.clone()
    }

    /// The number of calls that run now.
    pub fn running(&self) -> usize {
        self.0.state.lock().running
    }

    /// Creates a provider of the default team with this content.
    ///
    /// # Panics
    ///
    /// If the name is invalid.
    pub fn provider(&self, name: &str, grant: Grant) -> Arc<dyn Provider> {
        self.provider_of_team(TeamName::default_team(), name, grant)
    }

    /// Creates a provider of a team with this content.
    ///
    /// # Panics
    ///
    /// If the name is invalid.
    pub fn provider_of_team(&self, team: TeamName, name: &str, grant: Grant) -> Arc<dyn Provider> {
        let parts = ProviderParts {
            name: ProviderName::parse(name).expect("a name of a provider"),
            team,
            grant: Arc::new(grant),
            grant_sources: GrantSources::default(),
            signals: signal_channel().0,
            quota_usage: None,
            key_value: None,
            drain: Drain::new(),
        };
        let digest = Digest::of(name.as_bytes());
        Arc::new(self.provider_of(parts, digest, &Metrics::default()))
    }

    fn provider_of(&self, parts: ProviderParts, digest: Digest, metrics: &Metrics) -> FakeProvider {
        static REVISIONS: AtomicU64 = AtomicU64::new(1);
        FakeProvider {
            facts: ProviderFacts {
                metrics: metrics.provider(&parts.team, &parts.name),
                digest,
                revision: REVISIONS.fetch_add(1, Ordering::Relaxed),
                since: SystemTime::now(),
                name: parts.name,
                team: parts.team,
                grant: parts.grant,
                grant_sources: parts.grant_sources,
                interfaces: self.interfaces(),
                quota_usage: parts.quota_usage,
            },
            content: self.clone(),
        }
    }

    fn interfaces(&self) -> OptionalInterfaces {
        let state = self.0.state.lock();
        OptionalInterfaces {
            tools: !state.tools.is_empty(),
            directories: !state.directories.is_empty(),
            search: state.searcher.is_some(),
            ..OptionalInterfaces::default()
        }
    }

    /// Makes a call. Ends when the future is dropped.
    async fn call<T>(
        &self,
        call: String,
        answer: impl FnOnce(&State) -> Result<T, CallError>,
    ) -> Result<T, CallError> {
        let _running = RunningCall::begin(&self.0.state, call);
        // Fails only if the sender is dropped.
        _ = self
            .0
            .is_paused
            .subscribe()
            .wait_for(|is_paused| !is_paused)
            .await;
        let state = self.0.state.lock();
        match &state.failure {
            Some(error) => Err(error.clone()),
            None => answer(&state),
        }
    }
}

/// A call that runs until this value is dropped.
struct RunningCall<'a>(&'a Mutex<State>);

impl<'a> RunningCall<'a> {
    fn begin(state: &'a Mutex<State>, call: String) -> Self {
        let mut locked = state.lock();
        locked.calls.push(call);
        locked.running += 1;
        Self(state)
    }
}

impl Drop for RunningCall<'_> {
    fn drop(&mut self) {
        self.0.lock().running -= 1;
    }
}

/// A provider without WebAssembly.
#[derive(Debug)]
struct FakeProvider {
    facts: ProviderFacts,
    content: FakeContent,
}

impl Provider for FakeProvider {
    fn facts(&self) -> &ProviderFacts {
        &self.facts
    }

    fn circuits(&self) -> CircuitStates {
        CircuitStates::default()
    }

    fn probe(&self) -> BoxFuture<'_, Result<ProbeResult, LoadError>> {
        let probe = self.content.call("probe".into(), |state| {
            let query = ListQuery {
                limit: self.facts.grant.limits.catalog_entries,
                ..ListQuery::default()
            };
            let entries = state.list(&query, &Call::from_host())?;
            Ok(ProbeResult {
                title: state.title.clone(),
                version: None,
                summary: None,
                instructions: state.instructions.clone(),
                claims: vec![],
                entries: entries.items,
                next_cursor: entries.next,
                templates: state.templates.clone(),
                tools: state.tools.clone(),
                prompts: vec![],
                freshness: entries.freshness.unwrap_or(Freshness::UNKNOWN),
                probed_at: Instant::now(),
                omitted: vec![],
                setting_problems: vec![],
            })
        });
        let what = "its lists";
        Box::pin(async move {
            probe
                .await
                .map_err(|error| LoadError::Probe { what, error })
        })
    }

    fn read<'a>(
        &'a self,
        permit: Permit,
        uri: &'a Uri,
        matched: Option<Match>,
        known_version: Option<String>,
        _may_return: UriFilter,
    ) -> ProviderCall<'a, ReadResult> {
        let call = format!("read {uri}");
        let read = move |state: &State| {
            state.read(&FakeRead {
                uri,
                matched: matched.as_ref(),
                known_version: known_version.as_deref(),
                call: permit.call(),
            })
        };
        Box::pin(self.content.call(call, read))
    }

    fn match_uri<'a>(&'a self, _permit: Permit, uri: &'a Uri) -> ProviderCall<'a, Option<Match>> {
        Box::pin(self.content.call(format!("match {uri}"), |_| Ok(None)))
    }

    fn list_for_caller(
        &self,
        permit: Permit,
        query: ListQuery,
    ) -> ProviderCall<'_, ListPage<Entry>> {
        Box::pin(async move {
            let delay = self.content.0.state.lock().list_delay;
            let call = format!("list {}", query.cursor.as_deref().unwrap_or_default());
            let list = |state: &State| state.list(&query, permit.call());
            let answer = async {
                tokio::time::sleep(delay).await;
                self.content.call(call, list).await
            };
            within(permit.time_limit(), answer).await
        })
    }

    fn list_directory<'a>(
        &'a self,
        _permit: Permit,
        uri: &'a str,
        cursor: Option<String>,
    ) -> ProviderCall<'a, ListPage<Entry>> {
        let cursor = cursor.unwrap_or_default();
        let from = cursor.parse().unwrap_or_default();
        let answer = move |state: &State| state.directory(uri, from);
        let name = format!("directory {uri} {cursor}");
        Box::pin(self.content.call(name, answer))
    }

    fn complete(
        &self,
        _permit: Permit,
        request: CompletionRequest,
    ) -> ProviderCall<'_, Completion> {
        let call = format!("complete {}", request.variable);
        let complete = move |state: &State| match state.completer {
            Some(completer) => completer(request),
            None => Ok(Completion::default()),
        };
        Box::pin(self.content.call(call, complete))
    }

    fn call_tool(
        &self,
        _permit: Permit,
        call: ToolCall,
        validation: Option<ToolValidation>,
    ) -> ProviderCall<'_, Answer<ToolResult>> {
        Box::pin(async move {
            if let Some(validation) = validation {
                let input = &validation.schemas.input;
                input
                    .validate(&validation.arguments, &mut Effort::new(MAX_EFFORT))
                    .map_err(|error| CallError::Refused(error.to_string()))?;
            }
            let name = format!("call {}", call.name);
            let answer = |_: &State| Ok(Answer::Complete(text_result(call.arguments)));
            self.content.call(name, answer).await
        })
    }

    fn search_for_caller<'a>(
        &'a self,
        permit: Permit,
        query: &'a SearchQuery,
    ) -> ProviderCall<'a, Hits> {
        let search = move |state: &State| state.search(query, permit.call());
        Box::pin(self.content.call(format!("search {}", query.text), search))
    }

    fn is_first_line(&self, _message: &'static str, _reason: &'static str, _subject: &str) -> bool {
        true
    }

    fn log_omitted(&self, _notes: &[String]) {}
}

/// Ends a call when its caller does not wait any longer, as an engine does.
async fn within<T>(
    limit: Option<TimeLimit>,
    answer: impl Future<Output = Result<T, CallError>>,
) -> Result<T, CallError> {
    let Some(limit) = limit else {
        return answer.await;
    };
    let answer = tokio::time::timeout_at(limit.until.into(), answer).await;
    answer.unwrap_or_else(|_| {
        Err(CallError::Fault(Fault {
            kind: FaultKind::CallerTimeout(limit.total),
            detail: String::new(),
            stderr: String::new(),
        }))
    })
}

fn text_result(text: String) -> ToolResult {
    let block = Block {
        value: BlockValue::Text(text),
        annotations: None,
        metadata: vec![],
    };
    ToolResult {
        content: vec![block],
        structured: None,
        is_error: false,
        metadata: vec![],
        held: None,
    }
}
