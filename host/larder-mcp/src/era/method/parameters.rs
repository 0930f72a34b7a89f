//! The parameters of completions, tools and prompts.

use std::borrow::Cow;
use std::num::NonZeroU32;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::Operation;
use crate::wire::fields::Fields;
use crate::wire::rpc_error::{INVALID_PARAMS, RpcError, clip};
use larder_core::catalog::ResourceTool;
use larder_core::gateway::ComponentRequest;
use larder_model::input::InputResponse;
use larder_model::prompt::ArgumentQuery;
use larder_model::resource::CompletionRequest;
use larder_model::search::SearchQuery;
use larder_model::uri::{BadUri, Uri};

/// The default `limit` of a search.
const DEFAULT_RESULTS: u32 = 20;

/// A call that a modern client may make again, with answers to the requests of the earlier call.
#[derive(Debug)]
pub(crate) struct RetryableRequest<A> {
    pub(crate) request: ComponentRequest<A>,
    pub(crate) answers: Option<Answers>,
}

/// A call of one of the server's own tools.
#[derive(Debug)]
pub(crate) struct ResourceToolCall {
    pub(crate) tool: ResourceTool,
    /// The arguments are not validated yet.
    pub(crate) arguments: Value,
}

/// The answers of a modern client.
#[derive(Debug)]
pub(crate) struct Answers {
    pub(crate) responses: Vec<InputResponse>,
    /// The state that the earlier call returned. None if the client answers in advance.
    pub(crate) state: Option<String>,
}

/// A text that is not a URI.
#[derive(Debug)]
pub(crate) struct InvalidUri {
    pub(crate) text: String,
    pub(crate) error: BadUri,
}

impl InvalidUri {
    /// Parses a URI. If the URI is invalid, keeps its text.
    pub(super) fn parse(text: Cow<'_, str>) -> Result<Uri, Self> {
        Uri::parse(&text).map_err(|error| Self {
            text: text.into_owned(),
            error,
        })
    }
}

/// Reads the parameters of `completion/complete`.
pub(super) fn completion(fields: &Fields<'_>) -> Result<Operation, RpcError> {
    let reference = fields.required_object("ref")?;
    let argument = fields.required_object("argument")?;
    let name = argument.required_text("name")?;
    let prefix = argument.required_text("value")?;
    let context = fields.object("context")?.unwrap_or_default();
    let name = name.into_owned();
    let prefix = prefix.into_owned();
    let filled = strings(&context, "context.arguments")?;
    match &*reference.required_text("type")? {
        "ref/prompt" => {
            let prompt = reference.required_text("name")?.into_owned();
            let query = ArgumentQuery {
                prompt,
                argument: name,
                prefix,
                filled,
            };
            Ok(Operation::CompleteArgument(Box::new(query)))
        }
        "ref/resource" => {
            let template = reference.required_text("uri")?.into_owned();
            Ok(Operation::Complete(Some(CompletionRequest {
                template,
                variable: name,
                prefix,
                filled,
            })))
        }
        other => Err(unknown_reference(other)),
    }
}

fn unknown_reference(kind: &str) -> RpcError {
    let kind = clip(kind, 80);
    let message = format!("`ref.type` is `{kind}`: use \"ref/resource\" or \"ref/prompt\"");
    RpcError::new(INVALID_PARAMS, message)
}

/// Reads the parameters of a search.
pub(super) fn search(fields: &Fields<'_>) -> Result<SearchQuery, RpcError> {
    let invalid = || RpcError::new(INVALID_PARAMS, "`limit` must be a positive integer");
    let limit = match fields.get("limit") {
        None => DEFAULT_RESULTS,
        Some(json) => serde_json::from_str::<NonZeroU32>(json.get())
            .map_err(|_| invalid())?
            .get(),
    };
    let optional = |key| Ok::<_, RpcError>(fields.text(key)?.map(Into::into));
    Ok(SearchQuery {
        text: fields.required_text("query")?.into_owned(),
        limit,
        uri_prefix: optional("uriPrefix")?,
        kind: optional("kind")?,
    })
}

/// Reads the parameters of `tools/call`.
pub(super) fn tool_call(fields: &Fields<'_>) -> Result<RetryableRequest<Arc<Value>>, RpcError> {
    let arguments = || match fields.get("arguments") {
        None => Ok(Map::new()),
        Some(json) => serde_json::from_str(json.get())
            .map_err(|_| RpcError::new(INVALID_PARAMS, "`arguments` must be an object")),
    };
    retryable(fields, || Ok(Arc::new(Value::Object(arguments()?))))
}

/// Reads the parameters of `prompts/get`.
pub(super) fn prompt_call(
    fields: &Fields<'_>,
) -> Result<RetryableRequest<Vec<(String, String)>>, RpcError> {
    retryable(fields, || strings(fields, "arguments"))
}

fn retryable<A>(
    fields: &Fields<'_>,
    arguments: impl FnOnce() -> Result<A, RpcError>,
) -> Result<RetryableRequest<A>, RpcError> {
    let request = ComponentRequest {
        name: fields.required_text("name")?.into_owned(),
        arguments: arguments()?,
        input: None,
        asked_by: None,
    };
    Ok(RetryableRequest {
        request,
        answers: answers(fields)?,
    })
}

/// Reads the answers in a repeated call of a modern client.
fn answers(fields: &Fields<'_>) -> Result<Option<Answers>, RpcError> {
    let state = fields.text("requestState")?.map(Into::into);
    let given = fields.object("inputResponses")?;
    if state.is_none() && given.is_none() {
        return Ok(None);
    }
    let responses = given
        .unwrap_or_default()
        .iter()
        .map(|(key, json)| InputResponse {
            key: key.to_owned(),
            outcome: Ok(json.get().to_owned()),
        })
        .collect();
    Ok(Some(Answers { responses, state }))
}

/// Reads the member `arguments`, which has texts by name. `label` is the name of the member in errors.
fn strings(fields: &Fields<'_>, label: &str) -> Result<Vec<(String, String)>, RpcError> {
    let arguments = fields.object("arguments")?.unwrap_or_default();
    let pairs = arguments.iter().map(|(name, value)| {
        value
            .string()
            .map(|value| (name.to_owned(), value.into_owned()))
    });
    let pairs: Option<Vec<_>> = pairs.collect();
    pairs.ok_or_else(|| {
        RpcError::new(
            INVALID_PARAMS,
            format!("every value of `{label}` must be a string"),
        )
    })
}
