//! The calls for tools, prompts, search and settings. Each call fails if the component does not export the interface.

use std::any::Any;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::Provider;
use super::convert::{
    completion, declarations, hits, prompt_page, prompt_result, tool_page, tool_result,
    wit_argument_query, wit_prompt_request, wit_search_query, wit_tool_call,
};
use super::guest_calls;
use super::guest_calls::{AnswerMemory, NoChecks};
use super::omissions::Omissions;
use crate::bindings::exports::larder::provider::prompt_provider::Suggestions;
use crate::guest_config::GuestConfig;
use larder_model::input::Answer;
use larder_model::policy::Permit;
use larder_model::prompt::{ArgumentQuery, Prompt, PromptRequest, PromptResult};
use larder_model::resource::Completion;
use larder_model::search::{Hits, SearchQuery};
use larder_model::settings::Declaration;
use larder_model::tool::{Tool, ToolCall, ToolResult};
use larder_provider::{CallError, ListPage, ToolValidation, fetch_pages};

impl Provider {
    /// Returns a page of its list of tools. The names on a page differ.
    pub async fn list_tools(
        &self,
        permit: Permit,
        cursor: Option<String>,
    ) -> Result<ListPage<Tool>, CallError> {
        require(self.facts.interfaces.tools, "tool-provider")?;
        let convert = move |config: Arc<GuestConfig>, page: Result<_, _>| async move {
            let page = page.map_err(|error| config.redacted_error(error))?;
            tool_page(
                page,
                config.grant.limits.page_entries,
                &config.grant.secrets,
            )
            .await
        };
        self.call(permit, guest_calls::ListTools(cursor), convert)
            .await
    }

    /// Returns the first tools of the provider's list, at most `limits.catalog_entries`.
    pub async fn all_tools(&self) -> Result<ListPage<Tool>, CallError> {
        let limits = &self.config.grant.limits;
        let page =
            |cursor, _| -> BoxFuture<_> { Box::pin(self.list_tools(Permit::for_host(), cursor)) };
        let mut tools = fetch_pages(limits.catalog_entries, limits.result, page).await?;
        tools.keep_unique(|tool| tool.name.to_string(), "tool");
        tools.cut(limits.catalog_entries, "tools");
        Ok(tools)
    }

    /// Calls a tool. The call reaches at most one guest: it is never repeated, because a tool may have had effects
    /// before it failed. Callers must not share or cache the result. Arguments that do not match their schema are
    /// refused, and no guest is called.
    pub async fn call_tool(
        &self,
        permit: Permit,
        call: ToolCall,
        validation: Option<ToolValidation>,
    ) -> Result<Answer<ToolResult>, CallError> {
        require(self.facts.interfaces.tools, "tool-provider")?;
        let convert = move |config: Arc<GuestConfig>, answer: Result<_, _>| async move {
            let answer = answer.map_err(|error| config.redacted_error(error))?;
            let mut omissions = Omissions::new(&config.grant.secrets);
            let result = tool_result(answer, &mut omissions).await;
            config.log_omissions(&omissions);
            result
        };
        let memory = AnswerMemory::default();
        let guest_call = guest_calls::CallTool(wit_tool_call(call), memory);
        let (answer, guest_call) = self
            .call_and_return(permit, guest_call, convert, validation)
            .await;
        let mut answer = answer?;
        if let (Answer::Complete(result), Some(guest_call)) = (&mut answer, guest_call) {
            result.held = held(guest_call.1);
        }
        Ok(answer)
    }

    /// Returns a page of its list of prompts. The names on a page differ.
    pub async fn list_prompts(
        &self,
        permit: Permit,
        cursor: Option<String>,
    ) -> Result<ListPage<Prompt>, CallError> {
        require(self.facts.interfaces.prompts, "prompt-provider")?;
        let convert = move |config: Arc<GuestConfig>, page: Result<_, _>| async move {
            let page = page.map_err(|error| config.redacted_error(error))?;
            prompt_page(
                page,
                config.grant.limits.page_entries,
                &config.grant.secrets,
            )
            .await
        };
        self.call(permit, guest_calls::ListPrompts(cursor), convert)
            .await
    }

    /// Returns the first prompts of the provider's list, at most `limits.catalog_entries`.
    pub async fn all_prompts(&self) -> Result<ListPage<Prompt>, CallError> {
        let limits = &self.config.grant.limits;
        let page =
            |cursor, _| -> BoxFuture<_> { Box::pin(self.list_prompts(Permit::for_host(), cursor)) };
        let mut prompts = fetch_pages(limits.catalog_entries, limits.result, page).await?;
        prompts.keep_unique(|prompt| prompt.name.clone(), "prompt");
        prompts.cut(limits.catalog_entries, "prompts");
        Ok(prompts)
    }

    /// Returns the messages of a prompt.
    pub async fn get_prompt(
        &self,
        permit: Permit,
        request: PromptRequest,
    ) -> Result<Answer<PromptResult>, CallError> {
        require(self.facts.interfaces.prompts, "prompt-provider")?;
        let convert = move |config: Arc<GuestConfig>, answer: Result<_, _>| async move {
            let answer = answer.map_err(|error| config.redacted_error(error))?;
            let mut omissions = Omissions::new(&config.grant.secrets);
            let result = prompt_result(answer, &mut omissions).await;
            config.log_omissions(&omissions);
            result
        };
        let memory = AnswerMemory::default();
        let guest_call = guest_calls::GetPrompt(wit_prompt_request(request), memory);
        let (answer, guest_call) = self
            .call_and_return(permit, guest_call, convert, NoChecks)
            .await;
        let mut answer = answer?;
        if let (Answer::Complete(result), Some(guest_call)) = (&mut answer, guest_call) {
            result.held = held(guest_call.1);
        }
        Ok(answer)
    }

    /// Completes an argument of one of the provider's prompts.
    pub async fn complete_argument(
        &self,
        permit: Permit,
        query: ArgumentQuery,
    ) -> Result<Completion, CallError> {
        require(self.facts.interfaces.prompts, "prompt-provider")?;
        let convert = move |config: Arc<GuestConfig>, response: Result<Suggestions, _>| async move {
            let found = response.map_err(|error| config.redacted_error(error))?;
            let mut omissions = Omissions::new(&config.grant.secrets);
            let completion = completion(found.values, found.total, found.more, &mut omissions);
            config.log_omissions(&omissions);
            Ok(completion)
        };
        self.call(
            permit,
            guest_calls::CompleteArgument(wit_argument_query(query)),
            convert,
        )
        .await
    }

    /// Searches in the provider's content for a caller. The searches in all providers wait for this search, so it has a
    /// circuit breaker of its own, as lists have.
    pub async fn search_for_caller(
        &self,
        permit: Permit,
        query: &SearchQuery,
    ) -> Result<Hits, CallError> {
        self.within_breaker(&self.search_breaker, "search", self.search(permit, query))
            .await
    }

    /// Searches in the provider's content. Returns at most `query.limit` hits, and only hits that match the filters of
    /// the query.
    pub async fn search(&self, permit: Permit, query: &SearchQuery) -> Result<Hits, CallError> {
        require(self.facts.interfaces.search, "search-provider")?;
        let query = Arc::new(query.clone());
        let wit_query = wit_search_query(&query);
        let convert = move |config: Arc<GuestConfig>, response: Result<_, _>| {
            let query = query.clone();
            async move {
                let response = response.map_err(|error| config.redacted_error(error))?;
                let mut omissions = Omissions::new(&config.grant.secrets);
                let hits = hits(response, &query, &mut omissions).await;
                config.log_omissions(&omissions);
                Ok(hits)
            }
        };
        self.call(permit, guest_calls::Search(wit_query), convert)
            .await
    }

    /// Returns the settings that the provider declares, in one page.
    pub async fn declared_settings(
        &self,
        permit: Permit,
    ) -> Result<ListPage<Declaration>, CallError> {
        require(self.facts.interfaces.settings, "settings-provider")?;
        let convert = move |config: Arc<GuestConfig>, items: Vec<_>| async move {
            let mut omissions = Omissions::new(&config.grant.secrets);
            let items = declarations(items, &mut omissions)?;
            Ok(ListPage {
                items,
                next: None,
                freshness: None,
                omitted: omissions.summary(),
                unreadable_names: 0,
                bytes: 0,
            })
        };
        self.call(permit, guest_calls::Settings, convert).await
    }
}

/// Returns an error if an optional interface is not implemented.
fn require(is_implemented: bool, interface: &str) -> Result<(), CallError> {
    if is_implemented {
        Ok(())
    } else {
        Err(CallError::not_implemented(interface))
    }
}

/// The memory that is charged for an answer. It is released with the result.
fn held(memory: AnswerMemory) -> Option<Arc<dyn Any + Send + Sync>> {
    memory
        .into_charge()
        .map(|charge| Arc::new(charge) as Arc<dyn Any + Send + Sync>)
}
