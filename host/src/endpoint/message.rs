//! The reader of JSON-RPC messages: borrowed from the bytes, and strict where a message could mean two things.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::fields::{BadFields, Fields};
use super::refusal::{PARSE, REQUEST, Refusal};
use super::scan::Json;

/// The most messages of a batch.
const LARGEST_BATCH: usize = 64;
/// The longest id.
const LONGEST_ID: usize = 1024;

/// The id of a request, byte for byte as the client wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Id(Arc<str>);

impl Id {
    /// An id is a string or an integer.
    pub(super) fn read(json: Json<'_>) -> Option<Self> {
        let text = json.get();
        let digits = text.strip_prefix('-').unwrap_or(text);
        let fits = digits.bytes().all(|byte| byte.is_ascii_digit()) || json.string().is_some();
        (fits && text.len() <= LONGEST_ID).then(|| Self(text.into()))
    }

    /// The same, to be kept.
    pub(super) fn shared(&self) -> Arc<str> {
        self.0.clone()
    }

    /// The id as JSON.
    pub(super) fn json(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One message.
#[derive(Debug)]
pub(super) enum Message<'a> {
    Request(Request<'a>),
    Notification(Notification<'a>),
    /// An answer to a question that was never asked.
    Response,
    Malformed {
        id: Option<Id>,
        refusal: Refusal,
    },
}

#[derive(Debug)]
pub(super) struct Request<'a> {
    pub(super) id: Id,
    pub(super) method: Cow<'a, str>,
    pub(super) params: Params<'a>,
}

#[derive(Debug)]
pub(super) struct Notification<'a> {
    pub(super) method: Cow<'a, str>,
    pub(super) params: Params<'a>,
}

/// The parameters of a request.
#[derive(Debug, Default)]
pub(super) struct Params<'a> {
    pub(super) fields: Fields<'a>,
    pub(super) meta: Fields<'a>,
    /// What is wrong with them; then the others are empty.
    pub(super) fault: Option<BadFields>,
}

/// What came in one body or on one line.
#[derive(Debug)]
pub(super) enum Incoming<'a> {
    One(Message<'a>),
    Batch(Vec<Message<'a>>),
}

/// Reads a body or a line.
pub(super) fn read(bytes: &[u8]) -> Result<Incoming<'_>, Refusal> {
    let text = std::str::from_utf8(bytes).map_err(|_| not_json("it is not UTF-8"))?;
    if !text.trim_start().starts_with('[') {
        return Ok(Incoming::One(message(text)?));
    }
    let items = Json::items(text, LARGEST_BATCH).map_err(|fault| not_json(&fault.of(text)))?;
    match items.len() {
        0 => Err(Refusal::early(REQUEST, "the batch is empty")),
        1..=LARGEST_BATCH => {
            Ok(Incoming::Batch(items.iter().map(|item| message(item.get())).collect::<Result<_, _>>()?))
        }
        _ => Err(Refusal::early(REQUEST, format!("the batch has more than {LARGEST_BATCH} messages"))),
    }
}

fn message(text: &str) -> Result<Message<'_>, Refusal> {
    match plain_request(text) {
        Some(request) => Ok(Message::Request(request)),
        None => any_message(text),
    }
}

fn any_message(text: &str) -> Result<Message<'_>, Refusal> {
    let is_other = || Json::read(text).is_ok_and(|json| !json.get().starts_with('{'));
    let envelope = match Fields::parse(text) {
        Ok(envelope) => envelope,
        Err(_) if is_other() => return Ok(malformed(None, "a message is a JSON object")),
        Err(fault) => return Err(not_json(&fault.of(text))),
    };
    let id = envelope.raw("id").map(Id::read);
    match (envelope.fault(), &id) {
        (Some(BadFields::Repeated(key)), _) if key == "id" => {
            return Ok(malformed(None, "the key `id` appears twice"));
        }
        (Some(fault), _) => return Ok(malformed(id.flatten(), fault.to_string())),
        (None, Some(None)) => return Ok(malformed(None, "the id must be a string or an integer")),
        (None, _) => {}
    }
    Ok(envelope_to_message(&envelope, id.flatten()))
}

/// A request with nothing wrong about it, as most are: read in one go.
fn plain_request(text: &str) -> Option<Request<'_>> {
    let [envelope, fields, meta] = Fields::nested(text, "params", "_meta")?;
    if envelope.raw("jsonrpc").and_then(Json::string)? != "2.0" {
        return None;
    }
    let id = Id::read(envelope.raw("id")?)?;
    let method = envelope.raw("method")?.string()?;
    Some(Request { id, method, params: Params { fields, meta, fault: None } })
}

fn envelope_to_message<'a>(envelope: &Fields<'a>, id: Option<Id>) -> Message<'a> {
    if envelope.raw("jsonrpc").and_then(Json::string).as_deref() != Some("2.0") {
        return malformed(id, "`jsonrpc` must be \"2.0\"");
    }
    let Some(method) = envelope.raw("method") else {
        let response = envelope.raw("result").is_some() || envelope.raw("error").is_some();
        return if response { Message::Response } else { malformed(id, "`method` is missing") };
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
    fn read(json: Option<Json<'a>>) -> Self {
        Self::parts(json).unwrap_or_else(|fault| Self { fault: Some(fault), ..Self::default() })
    }

    fn parts(json: Option<Json<'a>>) -> Result<Self, BadFields> {
        let fields = json.map_or_else(|| Ok(Fields::default()), |json| Fields::of(json, "params"))?;
        let meta = fields.raw("_meta");
        let meta = meta.map_or_else(|| Ok(Fields::default()), |json| Fields::of(json, "_meta"))?;
        Ok(Self { fields, meta, fault: None })
    }
}

fn malformed<'a>(id: Option<Id>, why: impl Into<Cow<'static, str>>) -> Message<'a> {
    Message::Malformed { id, refusal: Refusal::early(REQUEST, why) }
}

fn not_json(why: &str) -> Refusal {
    Refusal::early(PARSE, format!("the message is not JSON: {why}"))
}

#[cfg(test)]
mod tests;
