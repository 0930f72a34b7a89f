//! The calls of the functions for tools, prompts, search and settings.

use super::{Answer, AnswerMemory, implemented};
use crate::bindings::exports::larder::provider::{
    prompt_provider, search_provider, settings_provider, tool_provider,
};
use crate::provider::convert::{
    hits_size, prompt_answer_size, prompt_size, tool_answer_size, tool_size,
};
use crate::run::guest::{CallableGuest, GuestCall};
use larder_runtime::memory_budget::MemoryCharge;

pub(in crate::provider) struct ListTools(pub(in crate::provider) Option<String>);

impl GuestCall for ListTools {
    type Output = Answer<tool_provider::ToolPage>;
    const OPERATION: &'static str = "tools";

    fn answer_size(answer: &Self::Output) -> usize {
        answer
            .as_ref()
            .map_or(0, |page| page.tools.iter().map(tool_size).sum())
    }

    fn subject(&self) -> &str {
        self.0.as_deref().unwrap_or_default()
    }

    async fn call(&self, guest: CallableGuest<'_>) -> wasmtime::Result<Self::Output> {
        implemented(&guest.compiled.contract()?.tools)?
            .load(&mut *guest.store, guest.instance)?
            .call_list_tools(guest.store, self.0.as_deref())
            .await
    }
}

pub(in crate::provider) struct CallTool(
    pub(in crate::provider) tool_provider::ToolCall,
    pub(in crate::provider) AnswerMemory,
);

impl GuestCall for CallTool {
    type Output = Answer<tool_provider::ToolAnswer>;
    const OPERATION: &'static str = "tool";
    /// A tool may have effects, and a guest that failed may have had some of these effects.
    const IS_REPEATABLE: bool = false;

    fn answer_size(answer: &Self::Output) -> usize {
        answer.as_ref().map_or(0, tool_answer_size)
    }

    fn keep_answer_memory(&self, memory: MemoryCharge) {
        self.1.keep(memory);
    }

    fn subject(&self) -> &str {
        &self.0.name
    }

    async fn call(&self, guest: CallableGuest<'_>) -> wasmtime::Result<Self::Output> {
        // If all functions of the interface were loaded, the types of the other functions would be checked too.
        let call_tool = implemented(&guest.compiled.contract()?.call_tool)?;
        let function = guest
            .instance
            .get_typed_func::<(&tool_provider::ToolCall,), (Self::Output,)>(
                &mut *guest.store,
                call_tool,
            )?;
        Ok(function.call_async(guest.store, (&self.0,)).await?.0)
    }
}

pub(in crate::provider) struct ListPrompts(pub(in crate::provider) Option<String>);

impl GuestCall for ListPrompts {
    type Output = Answer<prompt_provider::PromptPage>;
    const OPERATION: &'static str = "prompts";

    fn answer_size(answer: &Self::Output) -> usize {
        answer
            .as_ref()
            .map_or(0, |page| page.prompts.iter().map(prompt_size).sum())
    }

    fn subject(&self) -> &str {
        self.0.as_deref().unwrap_or_default()
    }

    async fn call(&self, guest: CallableGuest<'_>) -> wasmtime::Result<Self::Output> {
        implemented(&guest.compiled.contract()?.prompts)?
            .load(&mut *guest.store, guest.instance)?
            .call_list_prompts(guest.store, self.0.as_deref())
            .await
    }
}

pub(in crate::provider) struct GetPrompt(
    pub(in crate::provider) prompt_provider::PromptRequest,
    pub(in crate::provider) AnswerMemory,
);

impl GuestCall for GetPrompt {
    type Output = Answer<prompt_provider::PromptAnswer>;
    const OPERATION: &'static str = "prompt";

    fn answer_size(answer: &Self::Output) -> usize {
        answer.as_ref().map_or(0, prompt_answer_size)
    }

    fn keep_answer_memory(&self, memory: MemoryCharge) {
        self.1.keep(memory);
    }

    fn subject(&self) -> &str {
        &self.0.name
    }

    async fn call(&self, guest: CallableGuest<'_>) -> wasmtime::Result<Self::Output> {
        implemented(&guest.compiled.contract()?.prompts)?
            .load(&mut *guest.store, guest.instance)?
            .call_get_prompt(guest.store, &self.0)
            .await
    }
}

pub(in crate::provider) struct CompleteArgument(
    pub(in crate::provider) prompt_provider::ArgumentQuery,
);

impl GuestCall for CompleteArgument {
    type Output = Answer<prompt_provider::Suggestions>;
    const OPERATION: &'static str = "complete";

    fn answer_size(answer: &Self::Output) -> usize {
        answer.as_ref().map_or(0, |suggestions| {
            suggestions.values.iter().map(String::len).sum()
        })
    }

    fn subject(&self) -> &str {
        &self.0.prompt
    }

    async fn call(&self, guest: CallableGuest<'_>) -> wasmtime::Result<Self::Output> {
        implemented(&guest.compiled.contract()?.prompts)?
            .load(&mut *guest.store, guest.instance)?
            .call_complete_argument(guest.store, &self.0)
            .await
    }
}

pub(in crate::provider) struct Search(pub(in crate::provider) search_provider::SearchQuery);

impl GuestCall for Search {
    type Output = Answer<search_provider::Hits>;
    const OPERATION: &'static str = "search";

    fn answer_size(answer: &Self::Output) -> usize {
        answer.as_ref().map_or(0, hits_size)
    }

    fn subject(&self) -> &str {
        &self.0.text
    }

    async fn call(&self, guest: CallableGuest<'_>) -> wasmtime::Result<Self::Output> {
        implemented(&guest.compiled.contract()?.search)?
            .load(&mut *guest.store, guest.instance)?
            .call_search(guest.store, &self.0)
            .await
    }
}

pub(in crate::provider) struct Settings;

impl GuestCall for Settings {
    type Output = Vec<settings_provider::Declaration>;
    const OPERATION: &'static str = "settings";

    fn subject(&self) -> &str {
        ""
    }

    async fn call(&self, guest: CallableGuest<'_>) -> wasmtime::Result<Self::Output> {
        implemented(&guest.compiled.contract()?.settings)?
            .load(&mut *guest.store, guest.instance)?
            .call_settings(guest.store)
            .await
    }
}
