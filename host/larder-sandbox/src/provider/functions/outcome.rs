//! Converts what a function returned to the result of a tool or of a read.

use serde_json::value::RawValue;
use wasmtime::component::Val;

use super::call::FunctionAnswer;
use super::resources::FunctionTemplate;
use super::result_json::{bytes, json};
use super::value_facts::{media_type, value_size};
use crate::threads::call_thread::move_to_long_call_thread;
use larder_functions::{FunctionSet, Type, TypeId, TypeTable};
use larder_model::message::{Block, BlockValue};
use larder_model::resource::{Body, Content, Contents, Freshness, ReadResult, Scope};
use larder_model::size;
use larder_model::tool::ToolResult;
use larder_model::uri::Uri;
use larder_provider::CallError;

/// Maximum size of a structured result in bytes, as for tools of the contract.
const MAX_STRUCTURED: usize = 1 << 20;
/// Results up to this size are converted on the thread that received the call.
const SHORT_RESULT: usize = 64 << 10;

/// The value of a success, or of an error.
enum Outcome {
    Success(Option<(TypeId, Val)>),
    Error(Option<(TypeId, Val)>),
}

fn outcome(functions: &FunctionSet, index: usize, value: Option<Val>) -> Outcome {
    let types = functions.functions[index].outcome(&functions.types);
    let pair = |ty: Option<TypeId>, value: Option<Box<Val>>| Some((ty?, *value?));
    match (types.error, value) {
        (Some(_), Some(Val::Result(Ok(value)))) => Outcome::Success(pair(types.value, value)),
        (Some(error), Some(Val::Result(Err(value)))) => Outcome::Error(pair(*error, value)),
        (_, value) => Outcome::Success(pair(types.value, value.map(Box::new))),
    }
}

/// Moves the call to a thread for long calls, if converting this value takes long.
async fn move_if_large(value: Option<&Val>) {
    if value.is_some_and(|value| value_size(value) > SHORT_RESULT) {
        move_to_long_call_thread().await;
    }
}

/// Converts the answer of a function to the result of its tool.
pub(super) async fn tool_result(
    functions: &FunctionSet,
    index: usize,
    answer: FunctionAnswer,
) -> Result<ToolResult, CallError> {
    let value = answer?.value;
    move_if_large(value.as_ref()).await;
    let types = &functions.types;
    match outcome(functions, index, value) {
        Outcome::Success(None) => Ok(result(None, None, false)),
        Outcome::Success(Some((_, Val::String(text)))) => Ok(result(Some(text), None, false)),
        Outcome::Success(Some((ty, value))) => {
            let text = json(types, ty, &value)?;
            let structured = structured(types, ty, &text)?;
            Ok(result(Some(text), Some(structured), false))
        }
        Outcome::Error(value) => {
            let text = error_text(types, value)?;
            Ok(result(Some(text), None, true))
        }
    }
}

fn result(text: Option<String>, structured: Option<Box<RawValue>>, is_error: bool) -> ToolResult {
    let block = text.map(|text| Block {
        value: BlockValue::Text(text),
        annotations: None,
        metadata: Vec::new(),
    });
    ToolResult {
        content: block.into_iter().collect(),
        structured,
        is_error,
        metadata: Vec::new(),
        held: None,
    }
}

/// A record is the structured result itself. Other values are its member `result`, because it must be an object.
pub(super) fn structured(
    types: &TypeTable,
    ty: TypeId,
    text: &str,
) -> Result<Box<RawValue>, CallError> {
    if text.len() > MAX_STRUCTURED {
        return Err(CallError::Failed(format!(
            "its result has more than {} as JSON: return less, or a string",
            size::show(MAX_STRUCTURED as u64)
        )));
    }
    let object = match types.get(ty) {
        Type::Record(_) => text.to_owned(),
        _ => format!(r#"{{"result":{text}}}"#),
    };
    RawValue::from_string(object)
        .map_err(|error| CallError::Failed(format!("its result is no JSON: {error}")))
}

fn error_text(types: &TypeTable, value: Option<(TypeId, Val)>) -> Result<String, CallError> {
    match value {
        None => Ok("the function failed without an explanation".into()),
        Some((_, Val::String(text))) => Ok(text),
        Some((ty, value)) => json(types, ty, &value),
    }
}

/// Converts the answer of a function to the result of a read. An option without a value is a resource that does not
/// exist.
pub(super) async fn read_result(
    functions: &FunctionSet,
    template: &FunctionTemplate,
    uri: Uri,
    answer: FunctionAnswer,
) -> Result<ReadResult, CallError> {
    let answer = answer?;
    move_if_large(answer.value.as_ref()).await;
    let types = &functions.types;
    let value = match outcome(functions, template.function, answer.value) {
        Outcome::Success(value) => value,
        Outcome::Error(value) => return Err(CallError::Failed(error_text(types, value)?)),
    };
    let (body, mime_type) = match value {
        None | Some((_, Val::Option(None))) => return Err(CallError::NotFound),
        Some((ty, Val::Option(Some(value)))) => match types.get(ty) {
            Type::Option(some) => body(types, *some, *value)?,
            _ => return Err(CallError::NotFound),
        },
        Some((ty, value)) => body(types, ty, value)?,
    };
    let content = Content {
        uri,
        mime_type: template
            .mime_type
            .clone()
            .or_else(|| Some(mime_type.into())),
        body,
        metadata: Vec::new(),
    };
    Ok(ReadResult {
        contents: Contents::from_iter([content]).into(),
        version: None,
        freshness: freshness(template, answer.belongs_to_caller),
        shared: false,
    })
}

fn freshness(template: &FunctionTemplate, belongs_to_caller: bool) -> Freshness {
    let scope = if belongs_to_caller {
        Scope::Caller
    } else {
        Scope::Everyone
    };
    Freshness {
        ttl: template.ttl,
        scope,
    }
}

/// The body of a resource, and its media type.
fn body(types: &TypeTable, id: TypeId, value: Val) -> Result<(Body, &'static str), CallError> {
    let ty = types.get(id);
    let mime_type = media_type(types, ty);
    let body = match value {
        Val::String(text) => Body::Text(text),
        Val::List(items) if types.is_bytes(ty) => Body::Blob(bytes(&items)),
        value => Body::Text(json(types, id, &value)?),
    };
    Ok((body, mime_type))
}
