//! A provider whose tools are the functions of a component that does not export the contract. Its calls take the same
//! way as the calls of the contract, so all limits hold. Only the call itself and the values differ.

mod arguments;
mod call;
mod definitions;
mod interface;
mod outcome;
mod resources;
mod result_json;
#[cfg(test)]
mod roundtrip_tests;
mod uri_values;
mod value_facts;

use std::sync::Arc;
use std::time::Instant;

use self::call::{FunctionAnswer, FunctionCall};
use self::resources::FunctionTemplate;
use super::Provider;
use super::answers::{with_memory, with_tool_memory};
use super::guest_calls::NoChecks;
use super::probe::NOT_REUSABLE;
use crate::guest_config::GuestConfig;
use crate::{CompiledComponent, Sandbox};
use larder_functions::FunctionSet;
use larder_model::input::Answer;
use larder_model::policy::{Permit, ToolGrant};
use larder_model::resource::{Match, ReadResult, Template};
use larder_model::tool::{Tool, ToolCall, ToolResult};
use larder_model::uri::Uri;
use larder_provider::{CallError, ListPage, LoadError, ProbeResult, ProviderParts, ToolValidation};

/// A provider whose tools are functions.
#[derive(Debug)]
pub(crate) struct FunctionProvider {
    /// Makes the calls.
    provider: Provider,
    functions: Arc<FunctionSet>,
    /// The functions that are read as resources.
    templates: Vec<FunctionTemplate>,
    /// Why other functions cannot be read as resources.
    template_problems: Vec<String>,
}

impl FunctionProvider {
    pub(super) fn new(
        parts: ProviderParts,
        compiled: CompiledComponent,
        functions: Arc<FunctionSet>,
        sandbox: Arc<Sandbox>,
    ) -> Self {
        let configured = &parts.grant.functions.resources;
        let (templates, template_problems) = resources::templates(configured, &functions);
        Self {
            provider: Provider::new(parts, compiled, sandbox),
            functions,
            templates,
            template_problems,
        }
    }

    /// Returns the granted tools and the templates. No guest is called, because everything is known already.
    async fn probe(&self) -> Result<ProbeResult, LoadError> {
        let grant = &self.provider.config.grant;
        let all = self.tools();
        let mut omitted = all.omitted;
        omitted.extend(self.functions.refusals());
        omitted.extend(definitions::unknown_names(
            &self.functions,
            &grant.functions,
        ));
        omitted.extend(self.template_problems.iter().cloned());
        omitted.extend(self.missing_grants());
        let mut tools = all.items;
        tools.retain(|tool| grant.tools.allows(tool.name.as_str()));
        let bytes = definitions::size(&tools)
            + self.functions.documentation.as_ref().map_or(0, String::len);
        let charged = self.provider.charge_lists(bytes as u64);
        charged.map_err(|error| LoadError::Probe {
            what: "its functions",
            error,
        })?;
        Ok(ProbeResult {
            title: None,
            version: None,
            summary: self.functions.documentation.clone(),
            instructions: None,
            claims: Vec::new(),
            entries: Vec::new(),
            next_cursor: None,
            templates: self.listed_templates(),
            tools,
            prompts: Vec::new(),
            freshness: NOT_REUSABLE,
            probed_at: Instant::now(),
            omitted,
            setting_problems: Vec::new(),
        })
    }

    /// Says which functions nobody can call because a grant is missing, and which granted functions do not exist.
    fn missing_grants(&self) -> Vec<String> {
        let grant = &self.provider.config.grant;
        let exists = |name: &&String| self.functions.find(name).is_some();
        match &grant.tools {
            ToolGrant::All => Vec::new(),
            ToolGrant::Names(names) if !names.is_empty() => {
                let missing = names.iter().filter(|name| !exists(name));
                missing
                    .map(|name| format!("the tool {name:?}: it has no such function"))
                    .collect()
            }
            ToolGrant::None | ToolGrant::Names(_) if !self.templates.is_empty() => Vec::new(),
            ToolGrant::None | ToolGrant::Names(_) => {
                let count = self.functions.functions.len();
                let name = &self.provider.config.provider;
                vec![format!(
                    "{count} function{}, because no tool is granted: set `tools = true` or a list of names in [provider.{name}]",
                    if count == 1 { "" } else { "s" }
                )]
            }
        }
    }

    fn listed_templates(&self) -> Vec<Template> {
        let grant = &self.provider.config.grant;
        let templates = self.templates.iter();
        templates
            .map(|template| template.listed(&self.functions, grant))
            .collect()
    }

    fn find_template(&self, text: &str) -> Option<&FunctionTemplate> {
        let mut templates = self.templates.iter();
        templates.find(|template| template.text() == text)
    }

    /// Returns all functions as tools.
    fn tools(&self) -> ListPage<Tool> {
        let grant = &self.provider.config.grant;
        let mut page = ListPage::empty();
        page.items = definitions::tools(&self.functions, &grant.functions);
        page.cut(grant.limits.catalog_entries, "tools");
        page
    }

    /// Calls the function of a tool, at most once.
    async fn call_tool(
        &self,
        permit: Permit,
        call: ToolCall,
        validation: Option<ToolValidation>,
    ) -> Result<Answer<ToolResult>, CallError> {
        let tool = call.name.as_str();
        let Some((index, _)) = self.functions.find(tool) else {
            return Err(CallError::Refused(format!("it has no function `{tool}`")));
        };
        let arguments = validation.as_ref().map(|it| it.arguments.clone());
        let arguments = match arguments {
            Some(arguments) => arguments,
            None => Arc::new(
                serde_json::from_str(&call.arguments)
                    .map_err(|error| CallError::Refused(error.to_string()))?,
            ),
        };
        let guest_call = FunctionCall::of_tool(self.functions.clone(), index, arguments);
        let functions = self.functions.clone();
        let convert = move |_: Arc<GuestConfig>, answer: FunctionAnswer| {
            let functions = functions.clone();
            async move {
                let result = outcome::tool_result(&functions, index, answer).await?;
                Ok(Answer::Complete(result))
            }
        };
        let call = self
            .provider
            .call_with_memory(permit, guest_call, convert, validation);
        let (answer, memory) = call.await?;
        Ok(with_tool_memory(answer, memory))
    }

    /// Reads a resource by calling its function.
    async fn read(
        &self,
        permit: Permit,
        uri: &Uri,
        matched: Option<Match>,
    ) -> Result<ReadResult, CallError> {
        let matched = matched.ok_or(CallError::NotFound)?;
        let template = self.find_template(&matched.template);
        let template = template.ok_or(CallError::NotFound)?.clone();
        let function = template.function;
        let arguments = template
            .arguments(&self.functions, &matched.variables)
            .map_err(CallError::Refused)?;
        let functions = self.functions.clone();
        let guest_call = FunctionCall::of_resource(functions, function, uri, arguments);
        let functions = self.functions.clone();
        let uri = uri.clone();
        let convert = move |_: Arc<GuestConfig>, answer: FunctionAnswer| {
            let functions = functions.clone();
            let template = template.clone();
            let uri = uri.clone();
            async move { outcome::read_result(&functions, &template, uri, answer).await }
        };
        let call = self
            .provider
            .call_with_memory(permit, guest_call, convert, NoChecks);
        let (result, memory) = call.await?;
        Ok(with_memory(result, memory))
    }
}
