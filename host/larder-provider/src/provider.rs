//! A loaded provider: the calls that the core makes to it. Dropping the future of a call ends the call, and drops its
//! guest.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use futures_util::future::{BoxFuture, ready};

use super::{
    CallError, CircuitStates, CompiledComponent, ListPage, ListQuery, LoadError, ProbeResult,
    ProviderFacts, ToolValidation,
};
use larder_model::input::Answer;
use larder_model::policy::Permit;
use larder_model::prompt::{ArgumentQuery, Prompt, PromptRequest, PromptResult};
use larder_model::resource::{Completion, CompletionRequest, Entry, Match, ReadResult};
use larder_model::search::{Hits, SearchQuery};
use larder_model::settings::Declaration;
use larder_model::tool::{Tool, ToolCall, ToolResult};
use larder_model::uri::Uri;

/// The future of a call.
pub type ProviderCall<'a, T> = BoxFuture<'a, Result<T, CallError>>;

/// Decides whether a provider may return content under a URI other than the requested one.
pub type UriFilter = Arc<dyn Fn(&Uri) -> bool + Send + Sync>;

/// One revision of a provider. Calls of optional interfaces fail unless they are implemented.
pub trait Provider: Any + Debug + Send + Sync {
    /// What does not change while the revision is served.
    fn facts(&self) -> &ProviderFacts;

    /// The present states of the circuit breakers.
    fn circuits(&self) -> CircuitStates;

    /// Gets the description, the first entries, all templates, and, if any are granted, the tools and prompts. The total
    /// time is bounded.
    fn probe(&self) -> BoxFuture<'_, Result<ProbeResult, LoadError>>;

    /// Rejects the revision if a required setting is missing.
    fn require_settings(&self) -> BoxFuture<'_, Result<(), LoadError>> {
        Box::pin(ready(Ok(())))
    }

    /// Reads a resource. `known_version` is the version that the caller has already.
    fn read<'a>(
        &'a self,
        permit: Permit,
        uri: &'a Uri,
        matched: Option<Match>,
        known_version: Option<String>,
        may_return: UriFilter,
    ) -> ProviderCall<'a, ReadResult>;

    /// Checks whether a URI within the provider's claims is one of its resources.
    fn match_uri<'a>(&'a self, permit: Permit, uri: &'a Uri) -> ProviderCall<'a, Option<Match>>;

    /// Returns a page of the provider's list of entries for a caller. The lists of all providers wait for this page, so
    /// its repeated faults must not affect other calls.
    fn list_for_caller(
        &self,
        permit: Permit,
        query: ListQuery,
    ) -> ProviderCall<'_, ListPage<Entry>>;

    /// Returns a page of the children of a folder. The URI ends with a slash.
    fn list_directory<'a>(
        &'a self,
        _permit: Permit,
        _uri: &'a str,
        _cursor: Option<String>,
    ) -> ProviderCall<'a, ListPage<Entry>> {
        unimplemented("directory-provider")
    }

    /// Completes a variable of one of the provider's templates. Returns no values if the provider does not implement
    /// completion.
    fn complete(
        &self,
        _permit: Permit,
        _request: CompletionRequest,
    ) -> ProviderCall<'_, Completion> {
        Box::pin(ready(Ok(Completion::default())))
    }

    /// Returns the current versions of these URIs in the same order; none for a URI that does not exist.
    fn versions<'a>(
        &'a self,
        _permit: Permit,
        _uris: &'a [Uri],
    ) -> ProviderCall<'a, Vec<Option<String>>> {
        unimplemented("version-provider")
    }

    /// Returns the first tools of the provider's list.
    fn all_tools(&self) -> ProviderCall<'_, ListPage<Tool>> {
        unimplemented("tool-provider")
    }

    /// Calls a tool. The call is never repeated, because a tool may have had effects before it failed. Arguments that
    /// do not match their schema are refused without a call.
    fn call_tool(
        &self,
        _permit: Permit,
        _call: ToolCall,
        _validation: Option<ToolValidation>,
    ) -> ProviderCall<'_, Answer<ToolResult>> {
        unimplemented("tool-provider")
    }

    /// Returns the first prompts of the provider's list.
    fn all_prompts(&self) -> ProviderCall<'_, ListPage<Prompt>> {
        unimplemented("prompt-provider")
    }

    /// Returns the messages of a prompt.
    fn get_prompt(
        &self,
        _permit: Permit,
        _request: PromptRequest,
    ) -> ProviderCall<'_, Answer<PromptResult>> {
        unimplemented("prompt-provider")
    }

    /// Completes an argument of one of the provider's prompts.
    fn complete_argument(
        &self,
        _permit: Permit,
        _query: ArgumentQuery,
    ) -> ProviderCall<'_, Completion> {
        unimplemented("prompt-provider")
    }

    /// Searches in the provider's content for a caller. The searches in all providers wait for this search, so its
    /// repeated faults must not affect other calls.
    fn search_for_caller<'a>(
        &'a self,
        _permit: Permit,
        _query: &'a SearchQuery,
    ) -> ProviderCall<'a, Hits> {
        unimplemented("search-provider")
    }

    /// Returns the settings that the provider declares, in one page.
    fn declared_settings(&self, _permit: Permit) -> ProviderCall<'_, ListPage<Declaration>> {
        unimplemented("settings-provider")
    }

    /// Whether optimised code is to replace the code of the provider.
    fn needs_optimised_code(&self) -> bool {
        false
    }

    /// From now on, uses other code of the same component. Calls in progress end with the previous code.
    fn replace_code(&self, _compiled: Box<dyn CompiledComponent>) {}

    /// Whether a line with this message, for this reason and about this subject, is to be written to the log. Repeated
    /// lines are not written.
    fn is_first_line(&self, message: &'static str, reason: &'static str, subject: &str) -> bool;

    /// Logs what was omitted from a list. Repeated omissions are not logged each time.
    fn log_omitted(&self, notes: &[String]);

    /// Takes the end of the stderr of the last guest that misbehaved, without secrets. Empty if no guest misbehaved
    /// since the last call of this method, or if the guest wrote nothing.
    fn take_last_stderr(&self) -> String {
        String::new()
    }

    /// Takes what was last omitted or changed in a response, without secrets. Empty if nothing was omitted or changed
    /// since the last call of this method.
    fn take_last_notes(&self) -> Vec<String> {
        Vec::new()
    }
}

fn unimplemented<T: Send + 'static>(interface: &str) -> ProviderCall<'static, T> {
    Box::pin(ready(Err(CallError::not_implemented(interface))))
}
