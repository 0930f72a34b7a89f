//! The operations on tools and prompts.

use std::sync::Arc;

use super::ResultMetadata;
use super::input::{Input, InputSource, Provided};
use crate::Endpoint;
use crate::input_state::Binding;
use crate::json_writer::Object;
use crate::message::Id;
use crate::method::Retried;
use crate::peer::Peer;
use crate::render::definitions as render;
use crate::request_slot::RequestSlot;
use crate::rpc_error::DispatchError;
use crate::waiting_bytes::ChargedResponse;
use larder_core::gateway::{PromptCall, ToolRequest};
use larder_model::input::Answer;
use larder_model::message::Block;
use larder_model::resource::{Call, Metadata};
use larder_model::tool::ToolResult;

impl Endpoint {
    /// `tools/list`.
    pub(super) async fn tools(
        &self,
        id: &Id,
        modern: bool,
        call: &Arc<Call>,
        cursor: Option<&str>,
    ) -> Result<ChargedResponse, DispatchError> {
        let page = self.0.gateway.tools(call, cursor).await?;
        let items: Vec<_> = page
            .items
            .iter()
            .map(|tool| render::tool_json(tool))
            .collect();
        Ok(self.page(id, modern, call, &page, "tools", &items)?)
    }

    /// `tools/call`. If the tool asks for input, the call is made again with the answers.
    pub(super) async fn call_tool(
        &self,
        id: &Id,
        call: &Arc<Call>,
        retried: &mut Retried<ToolRequest>,
        peer: &Peer,
        slot: &mut RequestSlot,
    ) -> Result<ChargedResponse, DispatchError> {
        let Retried { request, answers } = retried;
        let name = request.name.clone();
        let arguments = request.arguments.to_string();
        let binding = Binding {
            caller: call.caller.as_ref(),
            method: "tools/call",
            name: &name,
            arguments,
        };
        let source = InputSource {
            endpoint: self,
            call,
            peer,
            slot,
        };
        let mut input = Input::new(source, binding);
        if let Some((provided, asked_by)) = input.of_answers(answers.take())? {
            request.input = Some(provided);
            request.asked_by = asked_by;
        }
        loop {
            let answered = self.0.gateway.call_tool(call, request).await?;
            match answered.answer {
                Answer::Complete(result) => {
                    let metadata = provider_metadata(&result.metadata);
                    let size = result.content.iter().map(Block::size).sum::<usize>()
                        + structured_size(&result);
                    let out = self.output(call, size)?;
                    let fill = |o: &mut Object<'_>| render::tool_result(o, &result);
                    return Ok(self.result_in(out, id, peer.is_modern(), metadata, fill)?);
                }
                Answer::InputRequired(required) => {
                    match input.provide(required, answered.component).await? {
                        Provided::Now(provided) => {
                            (request.input, request.asked_by) =
                                (Some(provided), Some(answered.component));
                        }
                        Provided::Later(question) => {
                            return Ok(self.input_required(id, &question).into());
                        }
                    }
                }
            }
        }
    }

    /// `prompts/list`.
    pub(super) async fn prompts(
        &self,
        id: &Id,
        modern: bool,
        call: &Arc<Call>,
        cursor: Option<&str>,
    ) -> Result<ChargedResponse, DispatchError> {
        let page = self.0.gateway.prompts(call, cursor).await?;
        let items: Vec<_> = page
            .items
            .iter()
            .map(|prompt| render::prompt_json(prompt))
            .collect();
        Ok(self.page(id, modern, call, &page, "prompts", &items)?)
    }

    /// `prompts/get`. If the prompt asks for input, the call is made again with the answers.
    pub(super) async fn get_prompt(
        &self,
        id: &Id,
        call: &Arc<Call>,
        retried: &mut Retried<PromptCall>,
        peer: &Peer,
        slot: &mut RequestSlot,
    ) -> Result<ChargedResponse, DispatchError> {
        let Retried { request, answers } = retried;
        let name = request.name.clone();
        let arguments = format!("{:?}", request.arguments);
        let binding = Binding {
            caller: call.caller.as_ref(),
            method: "prompts/get",
            name: &name,
            arguments,
        };
        let source = InputSource {
            endpoint: self,
            call,
            peer,
            slot,
        };
        let mut input = Input::new(source, binding);
        if let Some((provided, asked_by)) = input.of_answers(answers.take())? {
            request.input = Some(provided);
            request.asked_by = asked_by;
        }
        loop {
            let answered = self.0.gateway.get_prompt(call, request).await?;
            match answered.answer {
                Answer::Complete(result) => {
                    let metadata = provider_metadata(&result.metadata);
                    let size = result
                        .messages
                        .iter()
                        .map(|message| message.content.size())
                        .sum();
                    let out = self.output(call, size)?;
                    let fill = |o: &mut Object<'_>| render::prompt_result(o, &result);
                    return Ok(self.result_in(out, id, peer.is_modern(), metadata, fill)?);
                }
                Answer::InputRequired(required) => {
                    match input.provide(required, answered.component).await? {
                        Provided::Now(provided) => {
                            (request.input, request.asked_by) =
                                (Some(provided), Some(answered.component));
                        }
                        Provided::Later(question) => {
                            return Ok(self.input_required(id, &question).into());
                        }
                    }
                }
            }
        }
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
