//! The provider as the core knows it: the calls of the functions of the contract.

use std::any::Any;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, ready};

use super::answers::{held, with_memory, with_tool_memory};
use super::convert::{
    completion, declarations, entry_page, hits, prompt_result, read_result, template_match,
    tool_result, versions, wit_argument_query, wit_prompt_request, wit_read_request,
    wit_search_query, wit_tool_call,
};
use super::functions::FunctionProvider;
use super::guest_calls::{
    self, AnswerMemory, CALL_TOOL, COMPLETE, COMPLETE_ARGUMENT, GET_PROMPT, LIST_DIRECTORY,
    NoChecks, SEARCH, VERSIONS,
};
use super::omissions::Omissions;
use super::{Provider, wit};
use crate::bindings::exports::larder::provider::completion_provider;
use crate::bindings::exports::larder::provider::directory_provider::{
    DirectoryPage, DirectoryQuery,
};
use crate::bindings::exports::larder::provider::prompt_provider::Suggestions;
use crate::bindings::larder::provider::provider_types::Error as WitError;
use crate::guest_config::GuestConfig;
use crate::{CompiledComponent, Sandbox};
use larder_model::input::Answer;
use larder_model::policy::Permit;
use larder_model::prompt::{ArgumentQuery, Prompt, PromptRequest, PromptResult};
use larder_model::resource::{Completion, CompletionRequest, Entry, Match, ReadResult};
use larder_model::search::{Hits, SearchQuery};
use larder_model::settings::Declaration;
use larder_model::tool::{Tool, ToolCall, ToolResult};
use larder_model::uri::Uri;
use larder_provider::{
    self as interface, CallError, CircuitStates, ListPage, ListQuery, LoadError, ProbeResult,
    ProviderCall, ProviderFacts, ProviderParts, ToolValidation, UriFilter, fetch_pages,
};

/// A linked component, with the sandbox that runs its guests.
pub(crate) struct SandboxComponent {
    pub(crate) compiled: CompiledComponent,
    pub(crate) sandbox: Arc<Sandbox>,
}

impl interface::CompiledComponent for SandboxComponent {
    fn imports(&self) -> &[String] {
        self.compiled.imports()
    }

    fn into_provider(self: Box<Self>, parts: ProviderParts) -> Arc<dyn interface::Provider> {
        let Self { compiled, sandbox } = *self;
        match compiled.functions().map(|functions| functions.set.clone()) {
            None => Arc::new(Provider::new(parts, compiled, sandbox)),
            Some(functions) => Arc::new(FunctionProvider::new(parts, compiled, functions, sandbox)),
        }
    }
}

impl interface::Provider for Provider {
    fn facts(&self) -> &ProviderFacts {
        &self.facts
    }

    fn circuits(&self) -> CircuitStates {
        CircuitStates {
            calls_open_for: self.breaker.circuit_open_for(),
            list_open_for: self.list_breaker.circuit_open_for(),
            search_open_for: self.search_breaker.circuit_open_for(),
            consecutive_faults: self.breaker.consecutive_faults(),
        }
    }

    fn probe(&self) -> BoxFuture<'_, Result<ProbeResult, LoadError>> {
        Box::pin(self.probe())
    }

    fn require_settings(&self) -> BoxFuture<'_, Result<(), LoadError>> {
        Box::pin(self.require_settings())
    }

    fn read<'a>(
        &'a self,
        permit: Permit,
        uri: &'a Uri,
        matched: Option<Match>,
        known_version: Option<String>,
        may_return: UriFilter,
    ) -> ProviderCall<'a, ReadResult> {
        let has_version = known_version.is_some();
        let request = wit_read_request(uri, matched, known_version);
        let requested = uri.clone();
        let convert = move |config: Arc<GuestConfig>, response: Result<wit::Reading, WitError>| {
            let requested = requested.clone();
            let may_return = may_return.clone();
            async move {
                let reading = response.map_err(|error| match error {
                    WitError::NotModified if has_version => CallError::NotModified,
                    error => config.redacted_error(error),
                })?;
                let mut omissions = Omissions::new(&config.grant);
                let result = read_result(reading, &requested, &*may_return, &mut omissions).await;
                config.log_omissions(&omissions);
                result
            }
        };
        let guest_call = guest_calls::Read(request, AnswerMemory::default());
        let call = self.call_with_memory(permit, guest_call, convert, NoChecks);
        Box::pin(call.map(|read| read.map(|(result, memory)| with_memory(result, memory))))
    }

    fn match_uri<'a>(&'a self, permit: Permit, uri: &'a Uri) -> ProviderCall<'a, Option<Match>> {
        let guest_call = guest_calls::MatchUri(uri.clone());
        let convert = |_: Arc<GuestConfig>, found: Option<_>| async move {
            found.map(template_match).transpose()
        };
        Box::pin(self.call(permit, guest_call, convert))
    }

    /// The lists of all providers wait for this page, so it has a circuit breaker of its own.
    fn list_for_caller(
        &self,
        permit: Permit,
        query: ListQuery,
    ) -> ProviderCall<'_, ListPage<Entry>> {
        Box::pin(self.within_breaker(&self.list_breaker, "list", self.list(permit, query)))
    }

    fn list_directory<'a>(
        &'a self,
        permit: Permit,
        uri: &'a str,
        cursor: Option<String>,
    ) -> ProviderCall<'a, ListPage<Entry>> {
        let guest_call = LIST_DIRECTORY.call(DirectoryQuery {
            uri: uri.to_owned(),
            cursor,
            limit: self.config.grant.limits.page_entries,
        });
        let convert = |config: Arc<GuestConfig>, answer| async move {
            let page: DirectoryPage = config.redacted(answer)?;
            let page = wit::EntryPage {
                entries: page.children,
                next_cursor: page.next_cursor,
                freshness: page.freshness,
            };
            entry_page(page, &config.grant).await
        };
        if_implemented(
            self.facts.interfaces.directories,
            "directory-provider",
            || self.call(permit, guest_call, convert),
        )
    }

    fn complete(&self, permit: Permit, request: CompletionRequest) -> ProviderCall<'_, Completion> {
        if !self.implements_completion() {
            return Box::pin(ready(Ok(Completion::default())));
        }
        let request = completion_provider::CompletionRequest {
            uri_template: request.template,
            variable: request.variable,
            prefix: request.prefix,
            filled: request.filled,
        };
        let convert = |config: Arc<GuestConfig>, answer| async move {
            let convert = async |found: completion_provider::Completion,
                                 omissions: &mut Omissions<'_>| {
                Ok(completion(found.values, found.total, found.more, omissions))
            };
            config.converted(answer, convert).await
        };
        Box::pin(self.call(permit, COMPLETE.call(request), convert))
    }

    fn versions<'a>(
        &'a self,
        permit: Permit,
        uris: &'a [Uri],
    ) -> ProviderCall<'a, Vec<Option<String>>> {
        let count = uris.len();
        let guest_call = VERSIONS.call(uris.iter().map(ToString::to_string).collect());
        let convert = move |config: Arc<GuestConfig>, answer| async move {
            let convert = async |found, omissions: &mut Omissions<'_>| {
                versions(found, count, omissions).await
            };
            config.converted(answer, convert).await
        };
        if_implemented(self.facts.interfaces.versions, "version-provider", || {
            self.call(permit, guest_call, convert)
        })
    }

    fn all_tools(&self) -> ProviderCall<'_, ListPage<Tool>> {
        let page = |cursor, _| -> ProviderCall<'_, _> {
            Box::pin(self.list_tools(Permit::for_host(), cursor))
        };
        if_implemented(
            self.facts.interfaces.tools,
            "tool-provider",
            || async move {
                let limits = &self.config.grant.limits;
                let mut tools = fetch_pages(limits.catalog_entries, limits.result, page).await?;
                tools.keep_unique(|tool| tool.name.to_string(), "tool");
                tools.cut(limits.catalog_entries, "tools");
                Ok(tools)
            },
        )
    }

    /// The call reaches at most one guest.
    fn call_tool(
        &self,
        permit: Permit,
        call: ToolCall,
        validation: Option<ToolValidation>,
    ) -> ProviderCall<'_, Answer<ToolResult>> {
        let convert = |config: Arc<GuestConfig>, answer| async move {
            config.converted(answer, tool_result).await
        };
        let guest_call = CALL_TOOL.call(wit_tool_call(call));
        if_implemented(
            self.facts.interfaces.tools,
            "tool-provider",
            || async move {
                let call = self.call_with_memory(permit, guest_call, convert, validation);
                let (answer, memory) = call.await?;
                Ok(with_tool_memory(answer, memory))
            },
        )
    }

    fn all_prompts(&self) -> ProviderCall<'_, ListPage<Prompt>> {
        let page = |cursor, _| -> ProviderCall<'_, _> {
            Box::pin(self.list_prompts(Permit::for_host(), cursor))
        };
        if_implemented(
            self.facts.interfaces.prompts,
            "prompt-provider",
            || async move {
                let limits = &self.config.grant.limits;
                let mut prompts = fetch_pages(limits.catalog_entries, limits.result, page).await?;
                prompts.keep_unique(|prompt| prompt.name.clone(), "prompt");
                prompts.cut(limits.catalog_entries, "prompts");
                Ok(prompts)
            },
        )
    }

    fn get_prompt(
        &self,
        permit: Permit,
        request: PromptRequest,
    ) -> ProviderCall<'_, Answer<PromptResult>> {
        let convert = |config: Arc<GuestConfig>, answer| async move {
            config.converted(answer, prompt_result).await
        };
        let guest_call = GET_PROMPT.call(wit_prompt_request(request));
        if_implemented(
            self.facts.interfaces.prompts,
            "prompt-provider",
            || async move {
                let call = self.call_with_memory(permit, guest_call, convert, NoChecks);
                let (mut answer, memory) = call.await?;
                if let Answer::Complete(result) = &mut answer {
                    result.held = held(memory);
                }
                Ok(answer)
            },
        )
    }

    fn complete_argument(
        &self,
        permit: Permit,
        query: ArgumentQuery,
    ) -> ProviderCall<'_, Completion> {
        let convert = |config: Arc<GuestConfig>, answer| async move {
            let convert = async |found: Suggestions, omissions: &mut Omissions<'_>| {
                Ok(completion(found.values, found.total, found.more, omissions))
            };
            config.converted(answer, convert).await
        };
        let guest_call = COMPLETE_ARGUMENT.call(wit_argument_query(query));
        if_implemented(self.facts.interfaces.prompts, "prompt-provider", || {
            self.call(permit, guest_call, convert)
        })
    }

    /// The searches in all providers wait for this search, so it has a circuit breaker of its own, as lists have.
    fn search_for_caller<'a>(
        &'a self,
        permit: Permit,
        query: &'a SearchQuery,
    ) -> ProviderCall<'a, Hits> {
        let guest_call = SEARCH.call(wit_search_query(query));
        let query = Arc::new(query.clone());
        let convert = move |config: Arc<GuestConfig>, answer| {
            let query = query.clone();
            async move {
                let convert = async |found, omissions: &mut Omissions<'_>| {
                    Ok(hits(found, &query, omissions).await)
                };
                config.converted(answer, convert).await
            }
        };
        if_implemented(self.facts.interfaces.search, "search-provider", || {
            let call = self.call(permit, guest_call, convert);
            self.within_breaker(&self.search_breaker, "search", call)
        })
    }

    fn declared_settings(&self, permit: Permit) -> ProviderCall<'_, ListPage<Declaration>> {
        let convert = |config: Arc<GuestConfig>, items: Vec<_>| async move {
            let mut omissions = Omissions::new(&config.grant);
            let items = declarations(items, &mut omissions)?;
            Ok(ListPage {
                items,
                omitted: omissions.summary(),
                ..ListPage::empty()
            })
        };
        if_implemented(self.facts.interfaces.settings, "settings-provider", || {
            self.call(permit, guest_calls::Settings, convert)
        })
    }

    fn needs_optimised_code(&self) -> bool {
        self.compiled.load().is_first_tier()
    }

    fn replace_code(&self, compiled: Box<dyn interface::CompiledComponent>) {
        let compiled: Box<dyn Any> = compiled;
        let Ok(component) = compiled.downcast::<SandboxComponent>() else {
            let provider = self.facts.name.as_str();
            tracing::error!(provider, "code of another engine cannot replace its code");
            return;
        };
        if component.compiled.digest() == self.facts.digest {
            // A guest that is now in use is not kept after its call.
            self.compiled.swap(component.compiled.into()).set_replaced();
            // Idle guests have the previous code.
            self.sandbox.discard_idle_guests(self.facts.revision);
        }
    }

    fn is_first_line(&self, message: &'static str, reason: &'static str, subject: &str) -> bool {
        self.config.log.is_first(message, reason, subject)
    }

    fn log_omitted(&self, notes: &[String]) {
        self.config.log_omitted(notes);
    }

    fn take_last_stderr(&self) -> String {
        std::mem::take(&mut self.last_stderr.lock())
    }

    fn take_last_notes(&self) -> Vec<String> {
        self.config.log.take_notes()
    }
}

impl Provider {
    fn implements_completion(&self) -> bool {
        let compiled = self.compiled.load_full();
        let contract = compiled.find_contract();
        contract.is_some_and(|contract| contract.completion.is_some())
    }
}

/// Makes a call if the component exports this optional interface.
fn if_implemented<'a, T, F>(
    is_implemented: bool,
    interface: &str,
    call: impl FnOnce() -> F,
) -> ProviderCall<'a, T>
where
    T: Send + 'a,
    F: Future<Output = Result<T, CallError>> + Send + 'a,
{
    if is_implemented {
        Box::pin(call())
    } else {
        Box::pin(ready(Err(CallError::not_implemented(interface))))
    }
}
