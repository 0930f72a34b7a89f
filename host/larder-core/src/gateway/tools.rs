//! Calls of tools. A call is never repeated, shared or cached, because it may have effects.

use std::sync::Arc;

use serde_json::Value;

use super::audit_record::{AuditRecord, written};
use super::{Error, Gateway};
use crate::catalog::{Offer, OfferedTool, ResourceTool};
use larder_model::input::{Answer, ProvidedInput};
use larder_model::interaction::Interaction;
use larder_model::message::{Block, BlockValue};
use larder_model::name::Digest;
use larder_model::resource::Call;
use larder_model::tool::{ToolCall, ToolResult};
use larder_provider::{CallError, ToolValidation};

/// A request to call a tool. The arguments are an object.
pub type ToolRequest = ComponentRequest<Arc<Value>>;

/// A request for a tool or a prompt, with its arguments.
#[derive(Debug, Clone)]
pub struct ComponentRequest<A> {
    /// The name of the tool or prompt, as clients see it.
    pub name: String,
    /// The arguments.
    pub arguments: A,
    /// The answers of the client, if an earlier call requested input.
    pub input: Option<ProvidedInput>,
    /// The component that requested the input. If another component is served now, the call fails.
    pub asked_by: Option<Digest>,
}

/// The answer of a tool or of a prompt, and the component that returned it.
#[derive(Debug)]
pub struct ComponentAnswer<T> {
    /// The result, or the input that the client has to provide first.
    pub answer: Answer<T>,
    /// The digest of the component.
    pub component: Digest,
}

impl Gateway {
    /// Returns the server's own tool with this name, if the caller is offered such tools.
    pub fn resource_tool(&self, call: &Call, name: &str) -> Option<ResourceTool> {
        // Other names are rejected without a snapshot.
        let tool = ResourceTool::named(name)?;
        self.view(call).has_resource_tools().then_some(tool)
    }

    /// Returns the definition of a tool of a provider.
    pub fn tool(&self, call: &Call, name: &str) -> Option<Arc<OfferedTool>> {
        self.view(call).tool(name).map(|(_, tool)| tool.clone())
    }

    /// Calls a tool. If the arguments do not match the schema of the tool, the result says so in a text that a model
    /// can read.
    pub async fn call_tool(
        &self,
        call: &Arc<Call>,
        request: &ToolRequest,
    ) -> Result<ComponentAnswer<ToolResult>, Error> {
        let mut record = self.begin_record("call-tool", call, None).await?;
        record.set_name(Some(&request.name));
        let result = Box::pin(self.find_and_call_tool(call, request, &mut record)).await;
        let items = |answered: &ComponentAnswer<ToolResult>| match &answered.answer {
            Answer::Complete(result) => result.content.len(),
            Answer::InputRequired(_) => 0,
        };
        written(record.end_with_items(&result, items)).await?;
        result
    }

    async fn find_and_call_tool(
        &self,
        call: &Arc<Call>,
        request: &ToolRequest,
        record: &mut AuditRecord<'_>,
    ) -> Result<ComponentAnswer<ToolResult>, Error> {
        let view = self.view(call);
        let unknown = || view.unknown_tool(&request.name);
        let (offer, tool) = view.tool(&request.name).ok_or_else(unknown)?;
        if tool.is_for_apps_only && !shows_apps(call) {
            return Err(unknown());
        }
        let permit = offer.permit(call).map_err(|_| unknown())?;
        record.set_provider(offer);
        check_asked_by(offer, request.asked_by)?;
        let component = offer.provider.digest();
        let from_call = |error| Error::from_call(offer, &request.name, None, error);
        offer.provider.check_byte_quota().map_err(from_call)?;
        let validation = Some(validation(tool, request));
        let answer = offer
            .provider
            .call_tool(permit, tool_call(tool, request), validation)
            .await;
        if let Err(CallError::Refused(why)) = &answer {
            return Ok(ComponentAnswer {
                answer: Answer::Complete(invalid_arguments(why)),
                component,
            });
        }
        record.set_result(false, answer.as_ref().err());
        let answer = answer.map_err(from_call)?;
        charge(offer, &answer);
        Ok(ComponentAnswer { answer, component })
    }
}

/// Whether the client shows apps.
fn shows_apps(call: &Call) -> bool {
    let interaction = call.interaction.as_ref();
    interaction.is_some_and(Interaction::shows_apps)
}

/// Fails if the client's answers are for another component than the one that is called now.
pub(super) fn check_asked_by(offer: &Offer, asked_by: Option<Digest>) -> Result<(), Error> {
    match asked_by {
        Some(digest) if digest != offer.provider.digest() => Err(Error::Replaced {
            provider: offer.name().clone(),
        }),
        _ => Ok(()),
    }
}

/// The call, with the name that the provider gave to the tool.
fn tool_call(tool: &OfferedTool, request: &ToolRequest) -> ToolCall {
    ToolCall {
        name: tool.tool.name.clone(),
        arguments: request.arguments.to_string(),
        input: request.input.clone(),
    }
}

fn validation(tool: &OfferedTool, request: &ToolRequest) -> ToolValidation {
    ToolValidation {
        name: tool.name.to_string(),
        schemas: tool.schemas().clone(),
        arguments: request.arguments.clone(),
    }
}

/// A failed result that tells the model what is wrong with its arguments.
fn invalid_arguments(why: &str) -> ToolResult {
    let text = format!("The arguments do not match the input schema of the tool: {why}");
    let block = Block {
        value: BlockValue::Text(text),
        annotations: None,
        metadata: vec![],
    };
    ToolResult {
        content: vec![block],
        structured: None,
        is_error: true,
        metadata: vec![],
        held: None,
    }
}

/// Charges the bytes of a result to the provider's team.
fn charge(offer: &Offer, answer: &Answer<ToolResult>) {
    if let Answer::Complete(result) = answer {
        let structured = result
            .structured
            .as_deref()
            .map_or(0, |json| json.get().len());
        offer
            .provider
            .charge_bytes(structured + result.content.iter().map(Block::size).sum::<usize>());
    }
}
