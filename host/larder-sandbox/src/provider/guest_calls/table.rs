//! The functions of the contract with one parameter.

use super::contract_call::ContractFunction;
use crate::bindings::exports::larder::provider::completion_provider::{
    Completion, CompletionRequest,
};
use crate::bindings::exports::larder::provider::directory_provider::{
    DirectoryPage, DirectoryQuery,
};
use crate::bindings::exports::larder::provider::prompt_provider::{
    ArgumentQuery, PromptAnswer, PromptPage, PromptRequest, Suggestions,
};
use crate::bindings::exports::larder::provider::search_provider::{Hits, SearchQuery};
use crate::bindings::exports::larder::provider::tool_provider::{ToolAnswer, ToolCall, ToolPage};
use crate::provider::convert::{
    entry_size, hits_size, prompt_answer_size, prompt_size, template_size, tool_answer_size,
    tool_size,
};
use crate::provider::wit::TemplatePage;
use crate::run::contract_exports::{FunctionName, RESOURCES};

const TOOLS: &str = "larder:provider/tool-provider@0.1.0";
const PROMPTS: &str = "larder:provider/prompt-provider@0.1.0";

/// The cursor of a list is the subject of its calls.
fn cursor(cursor: &Option<String>) -> &str {
    cursor.as_deref().unwrap_or_default()
}

pub(crate) static LIST_TEMPLATES: ContractFunction<Option<String>, TemplatePage> =
    ContractFunction {
        name: FunctionName(RESOURCES, "list-templates"),
        operation: "templates",
        is_repeatable: true,
        subject: cursor,
        size: |page| page.templates.iter().map(template_size).sum(),
    };

pub(crate) static LIST_TOOLS: ContractFunction<Option<String>, ToolPage> = ContractFunction {
    name: FunctionName(TOOLS, "list-tools"),
    operation: "tools",
    is_repeatable: true,
    subject: cursor,
    size: |page| page.tools.iter().map(tool_size).sum(),
};

pub(crate) static CALL_TOOL: ContractFunction<ToolCall, ToolAnswer> = ContractFunction {
    name: FunctionName(TOOLS, "call-tool"),
    operation: "tool",
    // A tool may have effects, and a guest that failed may have had some of these effects.
    is_repeatable: false,
    subject: |call| &call.name,
    size: tool_answer_size,
};

pub(crate) static LIST_PROMPTS: ContractFunction<Option<String>, PromptPage> = ContractFunction {
    name: FunctionName(PROMPTS, "list-prompts"),
    operation: "prompts",
    is_repeatable: true,
    subject: cursor,
    size: |page| page.prompts.iter().map(prompt_size).sum(),
};

pub(crate) static GET_PROMPT: ContractFunction<PromptRequest, PromptAnswer> = ContractFunction {
    name: FunctionName(PROMPTS, "get-prompt"),
    operation: "prompt",
    is_repeatable: true,
    subject: |request| &request.name,
    size: prompt_answer_size,
};

pub(crate) static COMPLETE_ARGUMENT: ContractFunction<ArgumentQuery, Suggestions> =
    ContractFunction {
        name: FunctionName(PROMPTS, "complete-argument"),
        operation: "complete",
        is_repeatable: true,
        subject: |query| &query.prompt,
        size: |found| found.values.iter().map(String::len).sum(),
    };

pub(crate) static COMPLETE: ContractFunction<CompletionRequest, Completion> = ContractFunction {
    name: FunctionName("larder:provider/completion-provider@0.1.0", "complete"),
    operation: "complete",
    is_repeatable: true,
    subject: |request| &request.uri_template,
    size: |_| 0,
};

pub(crate) static LIST_DIRECTORY: ContractFunction<DirectoryQuery, DirectoryPage> =
    ContractFunction {
        name: FunctionName("larder:provider/directory-provider@0.1.0", "list-directory"),
        operation: "directory",
        is_repeatable: true,
        subject: |query| &query.uri,
        size: |page| page.children.iter().map(entry_size).sum(),
    };

pub(crate) static VERSIONS: ContractFunction<Vec<String>, Vec<Option<String>>> = ContractFunction {
    name: FunctionName("larder:provider/version-provider@0.1.0", "versions"),
    operation: "versions",
    is_repeatable: true,
    subject: |uris| uris.first().map_or("", String::as_str),
    size: |_| 0,
};

pub(crate) static SEARCH: ContractFunction<SearchQuery, Hits> = ContractFunction {
    name: FunctionName("larder:provider/search-provider@0.1.0", "search"),
    operation: "search",
    is_repeatable: true,
    subject: |query| &query.text,
    size: hits_size,
};
