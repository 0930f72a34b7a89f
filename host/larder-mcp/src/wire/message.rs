//! Reads JSON-RPC messages. The values borrow from the bytes, and ambiguous messages are rejected.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::fields::{BadFields, Fields};
use super::raw_json::RawJson;
use super::rpc_error::{INVALID_REQUEST, PARSE_ERROR, RpcError};

/// Maximum number of messages in a batch.
pub(crate) const MAX_BATCH: usize = 64;
/// Bytes of the longest id.
const MAX_ID: usize = 1024;

/// The id of a request, exactly as the client wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Id(Arc<str>);

impl Id {
    /// Reads an id, which is a string or an integer.
    pub(crate) fn read(json: RawJson<'_>) -> Option<Self> {
        let text = json.get();
        let digits = text.strip_prefix('-').unwrap_or(text);
        let fits = digits.bytes().all(|byte| byte.is_ascii_digit()) || json.string().is_some();
        (fits && text.len() <= MAX_ID).then(|| Self(text.into()))
    }

    /// Returns the id as a shared string.
    pub(crate) fn shared(&self) -> Arc<str> {
        self.0.clone()
    }

    /// Returns the id as JSON.
    pub(crate) fn json(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A JSON-RPC message.
#[derive(Debug)]
pub(crate) enum Message<'a> {
    Request(Request<'a>),
    Notification(Notification<'a>),
    /// A response to a request of the server.
    Response(Response<'a>),
    Malformed {
        id: Option<Id>,
        rpc_error: RpcError,
    },
}

#[derive(Debug)]
pub(crate) struct Request<'a> {
    pub(crate) id: Id,
    pub(crate) method: Cow<'a, str>,
    pub(crate) params: Params<'a>,
}

#[derive(Debug)]
pub(crate) struct Notification<'a> {
    pub(crate) method: Cow<'a, str>,
    pub(crate) params: Params<'a>,
}

/// A response of a legacy client.
#[derive(Debug)]
pub(crate) struct Response<'a> {
    pub(crate) id: Option<Id>,
    /// The result or the error, as JSON.
    pub(crate) outcome: Result<RawJson<'a>, RawJson<'a>>,
}

/// The parameters of a request or notification.
#[derive(Debug, Default)]
pub(crate) struct Params<'a> {
    pub(crate) fields: Fields<'a>,
    pub(crate) meta: Fields<'a>,
    /// Why the parameters are invalid. If it is set, the other fields are empty.
    pub(crate) error: Option<BadFields>,
}

/// The content of one HTTP body or one line of stdio.
#[derive(Debug)]
pub(crate) enum IncomingMessages<'a> {
    One(Message<'a>),
    Batch(Vec<Message<'a>>),
}

/// Reads an HTTP body or a line.
pub(crate) fn read(bytes: &[u8]) -> Result<IncomingMessages<'_>, RpcError> {
    let text = std::str::from_utf8(bytes).map_err(|_| not_json("it is not UTF-8"))?;
    if !text.trim_start().starts_with('[') {
        return Ok(IncomingMessages::One(read_message(text)?));
    }
    let items = RawJson::items(text, MAX_BATCH).map_err(|fault| not_json(&fault.to_string()))?;
    match items.len() {
        0 => Err(RpcError::bad_request(INVALID_REQUEST, "the batch is empty")),
        1..=MAX_BATCH => Ok(IncomingMessages::Batch(
            items
                .iter()
                .map(|item| read_message(item.get()))
                .collect::<Result<_, _>>()?,
        )),
        _ => Err(RpcError::bad_request(
            INVALID_REQUEST,
            format!("the batch has more than {MAX_BATCH} messages"),
        )),
    }
}

fn read_message(text: &str) -> Result<Message<'_>, RpcError> {
    match read_valid_request(text) {
        Some(request) => Ok(Message::Request(request)),
        None => read_any_message(text),
    }
}

fn read_any_message(text: &str) -> Result<Message<'_>, RpcError> {
    let is_not_object = || RawJson::read(text).is_ok_and(|json| !json.get().starts_with('{'));
    let envelope = match Fields::parse(text) {
        Ok(envelope) => envelope,
        Err(_) if is_not_object() => return Ok(malformed(None, "a message is a JSON object")),
        Err(fault) => return Err(not_json(&fault.to_string())),
    };
    let id = envelope.raw("id").map(Id::read);
    match (envelope.error(), &id) {
        (Some(BadFields::Duplicate(key)), _) if key == "id" => {
            return Ok(malformed(None, "the key `id` appears twice"));
        }
        (Some(fault), _) => return Ok(malformed(id.flatten(), fault.to_string())),
        (None, Some(None)) => return Ok(malformed(None, "the id must be a string or an integer")),
        (None, _) => {}
    }
    Ok(envelope_to_message(&envelope, id.flatten()))
}

/// Reads a request without errors in one pass, because most requests have none. Returns `None` for any other message.
fn read_valid_request(text: &str) -> Option<Request<'_>> {
    let [envelope, fields, meta] = Fields::nested(text, "params", "_meta")?;
    if envelope.raw("jsonrpc").and_then(RawJson::string)? != "2.0" {
        return None;
    }
    let id = Id::read(envelope.raw("id")?)?;
    let method = envelope.raw("method")?.string()?;
    Some(Request {
        id,
        method,
        params: Params {
            fields,
            meta,
            error: None,
        },
    })
}

fn envelope_to_message<'a>(envelope: &Fields<'a>, id: Option<Id>) -> Message<'a> {
    if envelope.raw("jsonrpc").and_then(RawJson::string).as_deref() != Some("2.0") {
        return malformed(id, "`jsonrpc` must be \"2.0\"");
    }
    let Some(method) = envelope.raw("method") else {
        let outcome = envelope
            .raw("result")
            .map(Ok)
            .or_else(|| envelope.raw("error").map(Err));
        return match outcome {
            Some(outcome) => Message::Response(Response { id, outcome }),
            None => malformed(id, "`method` is missing"),
        };
    };
    let Some(method) = method.string() else {
        return malformed(id, "`method` must be a string");
    };
    let params = Params::read(envelope.raw("params"));
    match id {
        Some(id) => Message::Request(Request { id, method, params }),
        None => Message::Notification(Notification { method, params }),
    }
}

impl<'a> Params<'a> {
    fn read(json: Option<RawJson<'a>>) -> Self {
        Self::try_read(json).unwrap_or_else(|error| Self {
            error: Some(error),
            ..Self::default()
        })
    }

    fn try_read(json: Option<RawJson<'a>>) -> Result<Self, BadFields> {
        let fields =
            json.map_or_else(|| Ok(Fields::default()), |json| Fields::of(json, "params"))?;
        let meta = fields.raw("_meta");
        let meta = meta.map_or_else(|| Ok(Fields::default()), |json| Fields::of(json, "_meta"))?;
        Ok(Self {
            fields,
            meta,
            error: None,
        })
    }
}

fn malformed<'a>(id: Option<Id>, why: impl Into<Cow<'static, str>>) -> Message<'a> {
    Message::Malformed {
        id,
        rpc_error: RpcError::bad_request(INVALID_REQUEST, why),
    }
}

fn not_json(why: &str) -> RpcError {
    RpcError::bad_request(PARSE_ERROR, format!("the message is not JSON: {why}"))
}

#[cfg(test)]
mod tests;
