//! The provider as the core knows it. What does not depend on the contract is the same as for other providers.

use futures_util::future::{BoxFuture, ready};

use super::FunctionProvider;
use larder_model::input::Answer;
use larder_model::policy::Permit;
use larder_model::resource::{Entry, Match, ReadResult};
use larder_model::tool::{Tool, ToolCall, ToolResult};
use larder_model::uri::Uri;
use larder_provider::{
    CircuitStates, CompiledComponent, ListPage, ListQuery, LoadError, ProbeResult,
    Provider as ProviderInterface, ProviderCall, ProviderFacts, ToolValidation, UriFilter,
};

impl ProviderInterface for FunctionProvider {
    fn facts(&self) -> &ProviderFacts {
        ProviderInterface::facts(&self.provider)
    }

    fn circuits(&self) -> CircuitStates {
        self.provider.circuits()
    }

    fn probe(&self) -> BoxFuture<'_, Result<ProbeResult, LoadError>> {
        Box::pin(self.probe())
    }

    fn read<'a>(
        &'a self,
        permit: Permit,
        uri: &'a Uri,
        matched: Option<Match>,
        _known_version: Option<String>,
        _may_return: UriFilter,
    ) -> ProviderCall<'a, ReadResult> {
        Box::pin(self.read(permit, uri, matched))
    }

    /// All resources belong to templates, which the catalog matches.
    fn match_uri<'a>(&'a self, _permit: Permit, _uri: &'a Uri) -> ProviderCall<'a, Option<Match>> {
        Box::pin(ready(Ok(None)))
    }

    fn list_for_caller(
        &self,
        _permit: Permit,
        _query: ListQuery,
    ) -> ProviderCall<'_, ListPage<Entry>> {
        Box::pin(ready(Ok(ListPage::empty())))
    }

    fn all_tools(&self) -> ProviderCall<'_, ListPage<Tool>> {
        Box::pin(ready(Ok(self.tools())))
    }

    fn call_tool(
        &self,
        permit: Permit,
        call: ToolCall,
        validation: Option<ToolValidation>,
    ) -> ProviderCall<'_, Answer<ToolResult>> {
        Box::pin(self.call_tool(permit, call, validation))
    }

    fn needs_optimised_code(&self) -> bool {
        self.provider.needs_optimised_code()
    }

    fn replace_code(&self, compiled: Box<dyn CompiledComponent>) {
        self.provider.replace_code(compiled);
    }

    fn is_first_line(&self, message: &'static str, reason: &'static str, subject: &str) -> bool {
        self.provider.is_first_line(message, reason, subject)
    }

    fn log_omitted(&self, notes: &[String]) {
        self.provider.log_omitted(notes);
    }

    fn take_last_stderr(&self) -> String {
        self.provider.take_last_stderr()
    }

    fn take_last_notes(&self) -> Vec<String> {
        self.provider.take_last_notes()
    }
}
