//! The methods, and what each asks: parameters become owned values here, so that a question can outlive its request.

use std::sync::Arc;

use http::{HeaderMap, HeaderName};

use super::fields::Fields;
use super::filter;
use super::message::{Id, Params, Request};
use super::progress::Reports;
use super::refusal::{PARAMS, Refusal, clip};
use super::show::VERSION_KEY;
use crate::gateway::Filter;
use crate::resource::{Call, Caller, Completing, Pairs};
use crate::trace::Trace;

/// The most bytes of metadata that go down with a request.
const MOST_METADATA: usize = 64 << 10;

/// The most URIs of one subscription.
const MOST_URIS: usize = 1024;

/// Metadata that says how a request is made and not what it asks. What else there is may decide about the answer:
/// `baggage`, too, which carries whatever an application puts there.
const PLAIN: [&str; 8] = [
    "io.modelcontextprotocol/protocolVersion",
    "io.modelcontextprotocol/clientInfo",
    "io.modelcontextprotocol/clientCapabilities",
    "io.modelcontextprotocol/logLevel",
    "progressToken",
    "traceparent",
    "tracestate",
    VERSION_KEY,
];

/// Named ahead: a name that is given as text is parsed anew for each request.
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

/// What can be asked with one answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    Discover,
    Ping,
    List,
    Templates,
    Read,
    Complete,
    Subscribe,
    Unsubscribe,
    /// Of the dialect, as the next two are.
    Get,
    SubscribeAll,
    UnsubscribeAll,
}

impl Method {
    pub(super) fn modern(name: &str) -> Option<Self> {
        match name {
            "server/discover" => Some(Self::Discover),
            _ => Self::shared(name),
        }
    }

    pub(super) fn legacy(name: &str) -> Option<Self> {
        match name {
            "ping" => Some(Self::Ping),
            "resources/subscribe" => Some(Self::Subscribe),
            "resources/unsubscribe" => Some(Self::Unsubscribe),
            _ => Self::shared(name),
        }
    }

    fn shared(name: &str) -> Option<Self> {
        match name {
            "resources/list" => Some(Self::List),
            "resources/templates/list" => Some(Self::Templates),
            "resources/read" => Some(Self::Read),
            "completion/complete" => Some(Self::Complete),
            "resources/get" => Some(Self::Get),
            _ => None,
        }
    }
}

/// A question, with its parameters.
#[derive(Debug)]
pub(super) enum Ask {
    Discover,
    Ping,
    List {
        cursor: Option<String>,
        filter: Filter,
    },
    Templates {
        cursor: Option<String>,
        filter: Filter,
    },
    Read {
        uri: String,
        /// The version that the client has already.
        held: Option<String>,
    },
    /// None for what this server has none of: prompts.
    Complete(Option<Completing>),
    Subscribe {
        uri: String,
    },
    Unsubscribe {
        uri: String,
    },
    Get {
        uri: String,
        held: Option<String>,
    },
    SubscribeAll {
        uris: Vec<String>,
    },
    UnsubscribeAll {
        uris: Vec<String>,
    },
}

/// A request on its way down.
#[derive(Debug)]
pub(super) struct Asking {
    pub(super) id: Id,
    pub(super) ask: Ask,
    pub(super) call: Arc<Call>,
    pub(super) reports: Reports,
}

impl Asking {
    pub(super) fn read(request: &Request<'_>, method: Method, caller: Caller) -> Result<Self, Refusal> {
        let ask = Ask::read(method, &request.params)?;
        let (reports, progress) = Reports::wanted(&request.params.meta)?;
        let mut call = call(&request.params, caller)?;
        call.progress = progress;
        call.request = Some(request.id.shared());
        Ok(Self { id: request.id.clone(), ask, call: Arc::new(call), reports })
    }
}

impl Asking {
    /// Where the request does not say by itself where in a trace it belongs, its headers may.
    pub(super) fn traced_by(mut self, headers: &HeaderMap) -> Self {
        // Nobody else has the call yet.
        Arc::get_mut(&mut self.call).into_iter().for_each(|call| trace(call, headers));
        self
    }
}

/// Where the metadata does not say by itself where in a trace the request belongs, these headers may.
pub(super) fn trace(call: &mut Call, headers: &HeaderMap) {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let trace = || Trace::parse(text(TRACEPARENT)?, text(TRACESTATE));
    if let Some(trace) = call.trace.is_none().then(trace).flatten() {
        call.put_into(trace);
    }
}

/// The caller, and what came with the request.
pub(super) fn call(params: &Params<'_>, caller: Caller) -> Result<Call, Refusal> {
    let size: usize = params.meta.iter().map(|(key, json)| key.len() + json.get().len()).sum();
    if size > MOST_METADATA {
        return Err(Refusal::new(PARAMS, format!("`_meta` has more than {MOST_METADATA} bytes")));
    }
    let mut call = Call::by(caller);
    // What is no text there is nobody's place in a trace, and no reason to answer nothing.
    let text = |key| params.meta.text(key).ok().flatten();
    call.trace = text("traceparent").and_then(|parent| Trace::parse(&parent, text("tracestate").as_deref()));
    call.plain = params.meta.iter().all(|(key, _)| PLAIN.contains(&key));
    call.metadata = Pairs::gather(params.meta.iter().map(|(key, json)| (key, json.get())));
    Ok(call)
}

impl Ask {
    /// The word under which it is counted.
    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::Discover => "discover",
            Self::Ping => "ping",
            Self::List { .. } => "list",
            Self::Templates { .. } => "templates",
            Self::Read { .. } | Self::Get { .. } => "read",
            Self::Complete(_) => "complete",
            Self::Subscribe { .. } | Self::SubscribeAll { .. } => "subscribe",
            Self::Unsubscribe { .. } | Self::UnsubscribeAll { .. } => "unsubscribe",
        }
    }

    /// What the protocol calls it.
    pub(super) fn method(&self) -> &'static str {
        match self {
            Self::Discover => "server/discover",
            Self::Ping => "ping",
            Self::List { .. } => "resources/list",
            Self::Templates { .. } => "resources/templates/list",
            Self::Read { .. } => "resources/read",
            Self::Complete(_) => "completion/complete",
            Self::Get { .. } => "resources/get",
            Self::Subscribe { .. } | Self::SubscribeAll { .. } => "resources/subscribe",
            Self::Unsubscribe { .. } | Self::UnsubscribeAll { .. } => "resources/unsubscribe",
        }
    }

    fn read(method: Method, params: &Params<'_>) -> Result<Self, Refusal> {
        if let Some(fault) = &params.fault {
            return Err(fault.clone().into());
        }
        let fields = &params.fields;
        let cursor = || Ok::<_, Refusal>(fields.text("cursor")?.map(Into::into));
        let filter = || filter::read(&params.meta);
        let uri = || Ok::<_, Refusal>(fields.needed_text("uri")?.into_owned());
        let uris = || match fields.texts("uris", MOST_URIS)? {
            uris if uris.len() <= MOST_URIS => Ok(uris),
            _ => Err(Refusal::new(PARAMS, format!("`uris` has more than {MOST_URIS} URIs"))),
        };
        Ok(match method {
            Method::Discover => Self::Discover,
            Method::Ping => Self::Ping,
            Method::List => Self::List { cursor: cursor()?, filter: filter()? },
            Method::Templates => Self::Templates { cursor: cursor()?, filter: filter()? },
            Method::Read => Self::Read { uri: uri()?, held: params.meta.text(VERSION_KEY)?.map(Into::into) },
            Method::Complete => Self::Complete(completing(fields)?),
            Method::Subscribe => Self::Subscribe { uri: uri()? },
            Method::Unsubscribe => Self::Unsubscribe { uri: uri()? },
            Method::Get => Self::Get { uri: uri()?, held: fields.text("version")?.map(Into::into) },
            Method::SubscribeAll => Self::SubscribeAll { uris: uris()? },
            Method::UnsubscribeAll => Self::UnsubscribeAll { uris: uris()? },
        })
    }
}

fn completing(fields: &Fields<'_>) -> Result<Option<Completing>, Refusal> {
    let reference = fields.needed_object("ref")?;
    let argument = fields.needed_object("argument")?;
    let (variable, prefix) = (argument.needed_text("name")?, argument.needed_text("value")?);
    let filled = filled(fields)?;
    match &*reference.needed_text("type")? {
        "ref/prompt" => reference.needed_text("name").map(|_| None).map_err(Into::into),
        "ref/resource" => Ok(Some(Completing {
            template: reference.needed_text("uri")?.into_owned(),
            variable: variable.into_owned(),
            prefix: prefix.into_owned(),
            filled,
        })),
        other => {
            let other = clip(other, 80);
            Err(Refusal::new(
                PARAMS,
                format!("`ref.type` is `{other}`: use \"ref/resource\" or \"ref/prompt\""),
            ))
        }
    }
}

fn filled(fields: &Fields<'_>) -> Result<Vec<(String, String)>, Refusal> {
    let context = fields.object("context")?.unwrap_or_default();
    let arguments = context.object("arguments")?.unwrap_or_default();
    let pairs = arguments
        .iter()
        .map(|(name, value)| value.string().map(|value| (name.to_owned(), value.into_owned())));
    let pairs: Option<Vec<_>> = pairs.collect();
    pairs.ok_or_else(|| Refusal::new(PARAMS, "every value of `context.arguments` must be a string"))
}

#[cfg(test)]
mod tests;
