//! The provider as the core knows it.

use std::any::Any;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::Provider;
use super::functions::FunctionProvider;
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
    self as interface, CircuitStates, ListPage, ListQuery, LoadError, ProbeResult, ProviderCall,
    ProviderFacts, ProviderParts, ToolValidation, UriFilter,
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
        Box::pin(self.read(permit, uri, matched, known_version, may_return))
    }

    fn match_uri<'a>(&'a self, permit: Permit, uri: &'a Uri) -> ProviderCall<'a, Option<Match>> {
        Box::pin(self.match_uri(permit, uri))
    }

    fn list_for_caller(
        &self,
        permit: Permit,
        query: ListQuery,
    ) -> ProviderCall<'_, ListPage<Entry>> {
        Box::pin(self.list_for_caller(permit, query))
    }

    fn complete(&self, permit: Permit, request: CompletionRequest) -> ProviderCall<'_, Completion> {
        Box::pin(self.complete(permit, request))
    }

    fn versions<'a>(
        &'a self,
        permit: Permit,
        uris: &'a [Uri],
    ) -> ProviderCall<'a, Vec<Option<String>>> {
        Box::pin(self.versions(permit, uris))
    }

    fn all_tools(&self) -> ProviderCall<'_, ListPage<Tool>> {
        Box::pin(self.all_tools())
    }

    fn call_tool(
        &self,
        permit: Permit,
        call: ToolCall,
        validation: Option<ToolValidation>,
    ) -> ProviderCall<'_, Answer<ToolResult>> {
        Box::pin(self.call_tool(permit, call, validation))
    }

    fn all_prompts(&self) -> ProviderCall<'_, ListPage<Prompt>> {
        Box::pin(self.all_prompts())
    }

    fn get_prompt(
        &self,
        permit: Permit,
        request: PromptRequest,
    ) -> ProviderCall<'_, Answer<PromptResult>> {
        Box::pin(self.get_prompt(permit, request))
    }

    fn complete_argument(
        &self,
        permit: Permit,
        query: ArgumentQuery,
    ) -> ProviderCall<'_, Completion> {
        Box::pin(self.complete_argument(permit, query))
    }

    fn search_for_caller<'a>(
        &'a self,
        permit: Permit,
        query: &'a SearchQuery,
    ) -> ProviderCall<'a, Hits> {
        Box::pin(self.search_for_caller(permit, query))
    }

    fn declared_settings(&self, permit: Permit) -> ProviderCall<'_, ListPage<Declaration>> {
        Box::pin(self.declared_settings(permit))
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
