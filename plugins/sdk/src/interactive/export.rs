//! The exported functions of the optional interfaces.

use crate::bindings::prompts::exports::larder::provider::prompt_provider;
use crate::bindings::provider_types;
use crate::bindings::search::exports::larder::provider::search_provider;
use crate::bindings::settings::exports::larder::provider::settings_provider;
use crate::bindings::tools::exports::larder::provider::tool_provider;
use crate::export::call;
use crate::{Provider, ProviderExport, Result};

impl<E: ProviderExport> tool_provider::Guest for E {
    fn list_tools(
        _cursor: Option<String>,
    ) -> Result<tool_provider::ToolPage, provider_types::Error> {
        call::<E, _>(|provider| provider.tools().map(|tools| tools.page()))
    }

    fn call_tool(
        request: tool_provider::ToolCall,
    ) -> Result<tool_provider::ToolAnswer, provider_types::Error> {
        call::<E, _>(|provider| provider.tools()?.call(provider, request))
    }
}

impl<E: ProviderExport> prompt_provider::Guest for E {
    fn list_prompts(
        _cursor: Option<String>,
    ) -> Result<prompt_provider::PromptPage, provider_types::Error> {
        call::<E, _>(|provider| provider.prompts().map(|prompts| prompts.page()))
    }

    fn get_prompt(
        request: prompt_provider::PromptRequest,
    ) -> Result<prompt_provider::PromptAnswer, provider_types::Error> {
        call::<E, _>(|provider| provider.prompts()?.get(provider, &request))
    }

    fn complete_argument(
        query: prompt_provider::ArgumentQuery,
    ) -> Result<prompt_provider::Suggestions, provider_types::Error> {
        call::<E, _>(|provider| provider.prompts()?.complete(provider, &query))
    }
}

impl<E: ProviderExport> search_provider::Guest for E {
    fn search(
        query: search_provider::SearchQuery,
    ) -> Result<search_provider::Hits, provider_types::Error> {
        call::<E, _>(|provider| provider.search(&query))
    }
}

impl<E: ProviderExport> settings_provider::Guest for E {
    /// This does not create the provider, because the provider may need a missing setting.
    fn settings() -> Vec<settings_provider::Declaration> {
        E::Provider::settings()
    }
}
