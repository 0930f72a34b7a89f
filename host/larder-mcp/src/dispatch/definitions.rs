//! The operations on tools and prompts.

use std::sync::Arc;

use serde_json::Value;

use super::input::{Input, InputSource};
use super::{Context, ResultMetadata};
use crate::client_side::input_state::Binding;
use crate::era::method::RetryableRequest;
use crate::era::peer::Peer;
use crate::era::request_slot::RequestSlot;
use crate::outgoing::waiting_bytes::ChargedResponse;
use crate::render::definitions as render;
use crate::wire::rpc_error::{DispatchError, RpcError};
use larder_model::input::Answer;
use larder_model::message::Block;
use larder_model::prompt::PromptResult;
use larder_model::resource::Metadata;
use larder_model::tool::ToolResult;

impl Context<'_> {
    /// `tools/list`. A client that shows no apps does not get the tools that only apps can call.
    pub(super) async fn tools(
        self,
        cursor: Option<&str>,
        for_apps: bool,
    ) -> Result<ChargedResponse, DispatchError> {
        let page = self.gateway().tools(self.call, cursor).await?;
        let shown = page.items.iter();
        let shown = shown.filter(|tool| for_apps || !tool.is_for_apps_only);
        let items = shown.map(|tool| render::tool_json(tool));
        Ok(self.page(&page, "tools", items)?)
    }

    /// `tools/call`. If the tool requires input, the client gets the requests, and the call is made again with the
    /// answers.
    pub(super) async fn call_tool(
        self,
        retried: &mut RetryableRequest<Arc<Value>>,
        peer: &Peer,
        slot: &mut RequestSlot,
    ) -> Result<ChargedResponse, DispatchError> {
        let RetryableRequest { request, answers } = retried;
        let name = request.name.clone();
        let arguments = request.arguments.to_string();
        let mut input = self.input("tools/call", &name, arguments, peer, slot);
        input.take_answers(request, answers.take())?;
        loop {
            let answered = self.gateway().call_tool(self.call, request).await?;
            let required = match answered.answer {
                Answer::Complete(result) => return Ok(self.tool_result(&result)?),
                Answer::InputRequired(required) => required,
            };
            let question = input.provide(request, required, answered.component).await?;
            if let Some(question) = question {
                return Ok(self.input_required(&question).into());
            }
        }
    }

    fn tool_result(self, result: &ToolResult) -> Result<ChargedResponse, RpcError> {
        let size = result.content.iter().map(Block::size).sum::<usize>();
        let out = self.output(size + structured_size(result))?;
        self.result_in(out, provider_metadata(&result.metadata), |o| {
            render::tool_result(o, result)
        })
    }

    /// `prompts/list`.
    pub(super) async fn prompts(
        self,
        cursor: Option<&str>,
    ) -> Result<ChargedResponse, DispatchError> {
        let page = self.gateway().prompts(self.call, cursor).await?;
        let items = page.items.iter().map(|prompt| render::prompt_json(prompt));
        Ok(self.page(&page, "prompts", items)?)
    }

    /// `prompts/get`. If the prompt requires input, the client gets the requests, and the call is made again with the
    /// answers.
    pub(super) async fn get_prompt(
        self,
        retried: &mut RetryableRequest<Vec<(String, String)>>,
        peer: &Peer,
        slot: &mut RequestSlot,
    ) -> Result<ChargedResponse, DispatchError> {
        let RetryableRequest { request, answers } = retried;
        let name = request.name.clone();
        let arguments = format!("{:?}", request.arguments);
        let mut input = self.input("prompts/get", &name, arguments, peer, slot);
        input.take_answers(request, answers.take())?;
        loop {
            let answered = self.gateway().get_prompt(self.call, request).await?;
            let required = match answered.answer {
                Answer::Complete(result) => return Ok(self.prompt_result(&result)?),
                Answer::InputRequired(required) => required,
            };
            let question = input.provide(request, required, answered.component).await?;
            if let Some(question) = question {
                return Ok(self.input_required(&question).into());
            }
        }
    }

    fn prompt_result(self, result: &PromptResult) -> Result<ChargedResponse, RpcError> {
        let sizes = result.messages.iter().map(|message| message.content.size());
        let out = self.output(sizes.sum())?;
        self.result_in(out, provider_metadata(&result.metadata), |o| {
            render::prompt_result(o, result)
        })
    }
}

impl<'a> Context<'a> {
    /// The input of a call of the tool or prompt with this name.
    fn input(
        self,
        method: &'a str,
        name: &'a str,
        arguments: String,
        peer: &'a Peer,
        slot: &'a mut RequestSlot,
    ) -> Input<'a> {
        let source = InputSource {
            endpoint: self.endpoint,
            call: self.call,
            peer,
            slot,
        };
        let binding = Binding {
            caller: self.call.caller.as_ref(),
            method,
            name,
            arguments,
        };
        Input::new(source, binding)
    }
}

fn structured_size(result: &ToolResult) -> usize {
    result
        .structured
        .as_deref()
        .map_or(0, |json| json.get().len())
}

fn provider_metadata(metadata: &Metadata) -> ResultMetadata<'_> {
    ResultMetadata {
        of_provider: metadata,
        ..ResultMetadata::default()
    }
}
