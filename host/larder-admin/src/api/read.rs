//! The paths `/api/read` and `/api/complete`: reads and completions on behalf of a caller that the operator chooses.
//! Tools cannot be called here.

use std::time::{Duration, Instant, SystemTime};

use axum::body::{Body, Bytes};
use axum::extract::{Extension, State};
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderMap};
use serde::{Deserialize, Serialize};

use super::body;
use super::caller::ChosenCaller;
use super::response::ApiError;
use super::time::timestamp;
use crate::operator::Operator;
use crate::response::json;
use crate::{Admin, STARTING};
use larder_core::gateway::{self, Gateway};
use larder_model::name::TeamName;
use larder_model::resource::{self, Caller, CompletionRequest, Content, ReadResult};
use larder_model::uri::Uri;
use larder_runtime::memory_budget::{ChargeError, MemoryCharge, MemoryUse};

/// Responses with at least this many bytes are written on a separate thread.
const LARGE: u64 = 256 << 10;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Read {
    uri: String,
    #[serde(default)]
    caller: ChosenCaller,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Complete {
    template: String,
    variable: String,
    #[serde(default)]
    value: String,
    /// The variables that have values.
    #[serde(default)]
    context: serde_json::Map<String, serde_json::Value>,
    #[serde(default)]
    caller: ChosenCaller,
}

/// The result of a read.
#[derive(Serialize)]
struct ReadAnswer<'a> {
    contents: Vec<ContentJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl_seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires: Option<String>,
    duration_seconds: f64,
    cache: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ContentJson<'a> {
    uri: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_type: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    /// In base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    blob: Option<String>,
}

#[derive(Serialize)]
struct CompletionResponse {
    values: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<u64>,
    has_more: bool,
}

/// A response, and the memory that is charged for the response until it is sent.
struct ChargedBytes {
    bytes: Vec<u8>,
    _charge: MemoryCharge,
}

impl AsRef<[u8]> for ChargedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

pub(super) async fn read(
    State(admin): State<Admin>,
    Extension(operator): Extension<Operator>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, ApiError> {
    let Read { uri, caller } = body::parse(&headers, &body)?;
    let uri = Uri::parse(&uri).map_err(|error| ApiError::bad_request(error.to_string()))?;
    let call = caller.call(&admin, &operator)?;
    let started = Instant::now();
    // Boxed: the future of a read is large, and the futures of the other paths would reserve space for it.
    let gateway = admin.gateway()?;
    let result = Box::pin(gateway.read(&call, &uri, None))
        .await
        .map_err(api_error)?;
    let took = started.elapsed();
    let charge = admin.charge(&call, &result)?;
    if charge.bytes() < LARGE {
        return answer(&result, took, charge);
    }
    let write = admin
        .0
        .drain
        .spawn_blocking(move || answer(&result, took, charge));
    write
        .await
        .unwrap_or_else(|error| Err(ApiError::failed(error)))
}

pub(super) async fn complete(
    State(admin): State<Admin>,
    Extension(operator): Extension<Operator>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, ApiError> {
    let Complete {
        template,
        variable,
        value,
        context,
        caller,
    } = body::parse(&headers, &body)?;
    let call = caller.call(&admin, &operator)?;
    let text = |(name, value): (String, serde_json::Value)| match value {
        serde_json::Value::String(value) => Ok((name, value)),
        _ => Err(ApiError::bad_request(format!(
            "the value of `{name}` in `context` must be a text"
        ))),
    };
    let filled = context.into_iter().map(text).collect::<Result<_, _>>()?;
    let request = CompletionRequest {
        template,
        variable,
        prefix: value,
        filled,
    };
    let gateway = admin.gateway()?;
    let completion = Box::pin(gateway.complete(&call, request))
        .await
        .map_err(api_error)?;
    Ok(json(StatusCode::OK, &CompletionResponse::of(completion)))
}

impl CompletionResponse {
    fn of(completion: resource::Completion) -> Self {
        Self {
            values: completion.values,
            total: completion.total,
            has_more: completion.has_more,
        }
    }
}

fn answer(
    result: &ReadResult,
    took: Duration,
    mut charge: MemoryCharge,
) -> Result<Response, ApiError> {
    let ttl = Some(result.freshness.ttl).filter(|ttl| !ttl.is_zero());
    let answer = ReadAnswer {
        contents: result.contents.iter().map(content).collect(),
        version: result.version.as_deref(),
        ttl_seconds: ttl.map(|ttl| ttl.as_secs_f64()),
        expires: ttl.and_then(expiry),
        duration_seconds: took.as_secs_f64(),
        cache: cache_label(result.shared, ttl),
    };
    let mut bytes = serde_json::to_vec(&answer).map_err(ApiError::failed)?;
    bytes.push(b'\n');
    // Escapes can make the response larger than expected.
    let more = (bytes.capacity() as u64).saturating_sub(charge.bytes());
    charge.grow_again(more).map_err(no_memory)?;
    let body = charged_body(bytes, charge);
    Ok(([(CONTENT_TYPE, "application/json")], body).into_response())
}

fn expiry(ttl: Duration) -> Option<String> {
    SystemTime::now().checked_add(ttl).map(timestamp)
}

fn cache_label(is_shared: bool, ttl: Option<Duration>) -> &'static str {
    match (is_shared, ttl) {
        (true, _) => "hit",
        (false, Some(_)) => "miss",
        (false, None) => "none",
    }
}

fn charged_body(bytes: Vec<u8>, charge: MemoryCharge) -> Body {
    Body::from(Bytes::from_owner(ChargedBytes {
        bytes,
        _charge: charge,
    }))
}

fn content(content: &Content) -> ContentJson<'_> {
    let (text, blob) = match &content.body {
        resource::Body::Text(text) => (Some(text.as_str()), None),
        resource::Body::Blob(bytes) => (None, Some(base64_simd::STANDARD.encode_to_string(bytes))),
    };
    ContentJson {
        uri: content.uri.as_str(),
        mime_type: content.mime_type.as_deref(),
        text,
        blob,
    }
}

fn no_memory(refused: ChargeError) -> ApiError {
    let message = match refused {
        ChargeError::Full => "the memory for responses is in use: try again later".to_owned(),
        ChargeError::AboveLimit(limit) => {
            format!(
                "the response needs more than the {limit} bytes of memory that responses may use (`memory`)"
            )
        }
    };
    ApiError::unavailable("busy", message)
}

/// Each error of the gateway has a status and a word for programs.
fn api_error(error: gateway::Error) -> ApiError {
    use gateway::Error;
    let (status, code) = match &error {
        Error::NotFound { .. }
        | Error::UnknownTemplate { .. }
        | Error::UnknownTool { .. }
        | Error::UnknownPrompt { .. }
        | Error::UnknownSkill { .. }
        | Error::NoDirectory { .. } => (StatusCode::NOT_FOUND, "not-found"),
        Error::BadCursor
        | Error::FilterMismatch
        | Error::UnknownVariable { .. }
        | Error::InvalidArguments { .. }
        | Error::Replaced { .. }
        | Error::Refused { .. }
        | Error::Invalid { .. } => (StatusCode::BAD_REQUEST, "invalid"),
        Error::Denied { .. } => (StatusCode::FORBIDDEN, "denied"),
        Error::NotModified { .. } => (StatusCode::CONFLICT, "not-modified"),
        Error::Unavailable { .. }
        | Error::NotLoaded { .. }
        | Error::Busy { .. }
        | Error::NoMemory { .. }
        | Error::CircuitOpen { .. } => (StatusCode::SERVICE_UNAVAILABLE, "busy"),
        Error::QuotaExceeded(_) => (StatusCode::SERVICE_UNAVAILABLE, "quota-exceeded"),
        Error::AuditClosed(_) => (StatusCode::SERVICE_UNAVAILABLE, "not-recorded"),
        Error::Failed { .. } | Error::Fault { .. } | Error::ResponseTooLarge { .. } => {
            (StatusCode::BAD_GATEWAY, "failed")
        }
    };
    ApiError::new(status, code, error.to_string())
}

impl Admin {
    fn gateway(&self) -> Result<Gateway, ApiError> {
        let starting = || ApiError::unavailable("starting", STARTING);
        Ok(self.started().ok_or_else(starting)?.gateway)
    }

    /// Charges the memory for the response before it is allocated.
    fn charge(&self, call: &resource::Call, result: &ReadResult) -> Result<MemoryCharge, ApiError> {
        let caller = call.caller.as_ref();
        let memory = self.0.sources.memory.team(&first_team(caller));
        // The base64 text of a blob exists twice: before and after it is copied into the response.
        let bytes = result.wire_size() as u64 * 3;
        let charge = memory.charge(MemoryUse::Responses, caller, bytes);
        charge.map_err(no_memory)
    }
}

fn first_team(caller: Option<&Caller>) -> TeamName {
    let team = caller.and_then(|caller| caller.teams.iter().next());
    team.cloned().unwrap_or_else(TeamName::default_team)
}
