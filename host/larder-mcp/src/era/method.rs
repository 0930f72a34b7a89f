//! The methods and their parameters. Parameters become owned values here, because an operation can outlive
//! the bytes of its request.

mod parameters;

use std::sync::Arc;

use http::{HeaderMap, HeaderName};
use serde_json::Value;

pub(crate) use self::parameters::{Answers, InvalidUri, ResourceToolCall, RetryableRequest};
use super::filter;
use super::peer::Peer;
use crate::client_side::call_stream::CallMessages;
use crate::client_side::{modern_interaction, parse_level};
use crate::render::VERSION_KEY;
use crate::wire::fields::Fields;
use crate::wire::message::{Id, Params, Request};
use crate::wire::rpc_error::{INVALID_PARAMS, RpcError};
use larder_core::gateway::Filter;
use larder_model::interaction::Severity;
use larder_model::prompt::ArgumentQuery;
use larder_model::resource::{Call, Caller, CompletionRequest, PackedPairs};
use larder_model::search::SearchQuery;
use larder_model::size;
use larder_model::trace::TraceContext;
use larder_model::uri::Uri;

/// Maximum size of the metadata that is passed on with a request, in bytes.
const MAX_METADATA: usize = 64 << 10;

/// Maximum number of URIs in one subscription.
const MAX_URIS: usize = 1024;

/// Metadata keys that cannot influence a result. Any other key may influence it. This includes `baggage`, because the
/// application defines its content.
const NEUTRAL_KEYS: [&str; 8] = [
    "io.modelcontextprotocol/protocolVersion",
    "io.modelcontextprotocol/clientInfo",
    "io.modelcontextprotocol/clientCapabilities",
    "io.modelcontextprotocol/logLevel",
    "progressToken",
    "traceparent",
    "tracestate",
    VERSION_KEY,
];

/// These names are constants, because a name that is given as text is parsed for each request.
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

/// The methods that have one response each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    Discover,
    Ping,
    List,
    Templates,
    Read,
    Complete,
    Tools,
    CallTool,
    Prompts,
    GetPrompt,
    SetLogLevel,
    Subscribe,
    Unsubscribe,
    /// From the skills extension, like the next two.
    Skills,
    GetSkill,
    Directory,
    /// A search, which is a method of this server and not of the protocol.
    Search,
    /// From the `resources-get` extension, like the next two.
    Get,
    SubscribeAll,
    UnsubscribeAll,
}

/// The eras that have a method.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Eras {
    Both,
    Modern,
    Legacy,
    /// The method replaces another method because of its parameters.
    None,
}

/// A method, its name in the protocol, and the value of the metric's `method` label.
struct MethodNames(Method, &'static str, &'static str, Eras);

/// In the order of [`Method`].
const METHODS: [MethodNames; 20] = {
    use Method::*;
    [
        MethodNames(Discover, "server/discover", "discover", Eras::Modern),
        MethodNames(Ping, "ping", "ping", Eras::Legacy),
        MethodNames(List, "resources/list", "list", Eras::Both),
        MethodNames(
            Templates,
            "resources/templates/list",
            "templates",
            Eras::Both,
        ),
        MethodNames(Read, "resources/read", "read", Eras::Both),
        MethodNames(Complete, "completion/complete", "complete", Eras::Both),
        MethodNames(Tools, "tools/list", "tools", Eras::Both),
        MethodNames(CallTool, "tools/call", "tool", Eras::Both),
        MethodNames(Prompts, "prompts/list", "prompts", Eras::Both),
        MethodNames(GetPrompt, "prompts/get", "prompt", Eras::Both),
        MethodNames(SetLogLevel, "logging/setLevel", "log-level", Eras::Legacy),
        MethodNames(Subscribe, "resources/subscribe", "subscribe", Eras::Legacy),
        MethodNames(
            Unsubscribe,
            "resources/unsubscribe",
            "unsubscribe",
            Eras::Legacy,
        ),
        MethodNames(Skills, "skills/list", "skills", Eras::Both),
        MethodNames(GetSkill, "skills/get", "skill", Eras::Both),
        MethodNames(
            Directory,
            "resources/directory/read",
            "directory",
            Eras::Both,
        ),
        MethodNames(Search, "dev.larder/search", "search", Eras::Both),
        MethodNames(Get, "resources/get", "read", Eras::Both),
        MethodNames(SubscribeAll, "resources/subscribe", "subscribe", Eras::None),
        MethodNames(
            UnsubscribeAll,
            "resources/unsubscribe",
            "unsubscribe",
            Eras::None,
        ),
    ]
};

impl Method {
    pub(crate) fn modern(name: &str) -> Option<Self> {
        Self::of_era(Eras::Modern, name)
    }

    pub(crate) fn legacy(name: &str) -> Option<Self> {
        Self::of_era(Eras::Legacy, name)
    }

    fn of_era(era: Eras, name: &str) -> Option<Self> {
        let mut methods = METHODS.iter();
        let found = methods.find(|MethodNames(_, own_name, _, eras)| {
            *own_name == name && (*eras == era || *eras == Eras::Both)
        });
        found.map(|MethodNames(method, ..)| *method)
    }

    /// Whether the response is immediate, because no provider is called for it.
    pub(crate) fn is_immediate(self) -> bool {
        matches!(self, Self::Ping | Self::Discover | Self::SetLogLevel)
    }

    /// Whether the client can take part in the call: it receives log messages and answers requests.
    fn is_interactive(self) -> bool {
        matches!(self, Self::CallTool | Self::GetPrompt)
    }

    /// Returns the value of the metric's `method` label.
    pub(crate) fn metric_label(self) -> &'static str {
        METHODS[self as usize].2
    }

    /// Returns the name of the method in the protocol.
    pub(crate) fn name(self) -> &'static str {
        METHODS[self as usize].1
    }
}

/// A method with its parameters.
#[derive(Debug)]
pub(crate) enum Operation {
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
        uri: Uri,
        /// The version that the client already has.
        known_version: Option<String>,
    },
    /// `None` after the operation began.
    Complete(Option<CompletionRequest>),
    CompleteArgument(Box<ArgumentQuery>),
    Tools {
        cursor: Option<String>,
        /// Whether the client shows the pages of apps.
        for_apps: bool,
    },
    CallTool(Box<RetryableRequest<Arc<Value>>>),
    /// A call of one of the server's own tools.
    CallResourceTool(Box<ResourceToolCall>),
    Prompts {
        cursor: Option<String>,
    },
    GetPrompt(Box<RetryableRequest<Vec<(String, String)>>>),
    /// From the legacy era.
    SetLogLevel(Severity),
    Skills {
        cursor: Option<String>,
    },
    GetSkill {
        uri: Uri,
    },
    /// A list of the children of a folder.
    Directory {
        uri: Uri,
        cursor: Option<String>,
    },
    Search {
        query: Box<SearchQuery>,
        cursor: Option<String>,
    },
    Subscribe {
        uris: Vec<Uri>,
        /// Whether the notifications contain the resource, as the extension requires.
        with_content: bool,
    },
    /// The texts are not parsed: removing a subscription that does not exist always succeeds.
    Unsubscribe {
        uris: Vec<String>,
    },
    Get {
        uri: Uri,
        known_version: Option<String>,
    },
    /// A method whose `uri` is a string, but not a URI. The method fails. It is counted and traced, and if it would
    /// have read a resource, it is also audited.
    InvalidUri {
        is_read: bool,
        invalid: InvalidUri,
    },
}

/// A request whose parameters were read.
#[derive(Debug)]
pub(crate) struct ParsedRequest {
    pub(crate) id: Id,
    method: Method,
    pub(crate) operation: Operation,
    pub(crate) call: Arc<Call>,
    pub(crate) messages: CallMessages,
}

impl ParsedRequest {
    pub(crate) fn read(
        request: &Request<'_>,
        method: Method,
        mut call: Call,
    ) -> Result<Self, RpcError> {
        let operation = Operation::read(method, &request.params)?;
        let (messages, sender) = CallMessages::new(&request.params.meta)?;
        call.progress = sender;
        call.request_id = Some(request.id.shared());
        Ok(Self {
            id: request.id.clone(),
            method,
            operation,
            call: Arc::new(call),
            messages,
        })
    }
}

impl ParsedRequest {
    /// Adds the client's side of a call of a tool or a prompt.
    pub(crate) fn with_client(
        mut self,
        peer: &mut Peer,
        meta: &Fields<'_>,
    ) -> Result<Self, RpcError> {
        if let Operation::Tools { for_apps, .. } = &mut self.operation {
            *for_apps = peer.shows_apps(meta);
        }
        let interaction = match peer {
            _ if !self.method.is_interactive() => return Ok(self),
            Peer::Modern => {
                let (interaction, log) = modern_interaction(meta)?;
                self.messages.set_log(log);
                interaction
            }
            Peer::Legacy(client) => {
                let (interaction, log) = client.side.interaction();
                self.messages.set_log(Some(log));
                client.stream = Some(self.messages.add_requests());
                interaction
            }
            Peer::Uninitialized => return Ok(self),
        };
        // The `Arc` has not been cloned yet, so this succeeds.
        if let Some(call) = Arc::get_mut(&mut self.call) {
            call.interaction = Some(interaction.clone());
        }
        Ok(self)
    }

    /// Takes the trace context from the headers if the request's metadata has none.
    pub(crate) fn with_trace_headers(mut self, headers: &HeaderMap) -> Self {
        // The `Arc` has not been cloned yet, so this succeeds.
        if let Some(call) = Arc::get_mut(&mut self.call) {
            add_trace_headers(call, headers);
        }
        self
    }
}

/// Takes the trace context from the headers if the request's metadata has none.
pub(crate) fn add_trace_headers(call: &mut Call, headers: &HeaderMap) {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let trace = || TraceContext::parse(text(TRACEPARENT)?, text(TRACESTATE));
    if let Some(trace) = call.trace.is_none().then(trace).flatten() {
        call.set_trace(trace);
    }
}

/// Creates the call of a request: the caller, the metadata and the trace context.
pub(crate) fn new_call(params: &Params<'_>, caller: Caller) -> Result<Call, RpcError> {
    if metadata_size(&params.meta) > MAX_METADATA {
        return Err(RpcError::new(
            INVALID_PARAMS,
            format!("`_meta` has more than {}", size::show(MAX_METADATA as u64)),
        ));
    }
    let mut call = Call::from_caller(caller);
    call.trace = trace_context(&params.meta);
    call.only_protocol_metadata = params
        .meta
        .iter()
        .all(|(key, _)| NEUTRAL_KEYS.contains(&key));
    call.metadata =
        PackedPairs::from_pairs(params.meta.iter().map(|(key, json)| (key, json.get())));
    Ok(call)
}

fn metadata_size(meta: &Fields<'_>) -> usize {
    let sizes = meta.iter().map(|(key, json)| key.len() + json.get().len());
    sizes.sum()
}

/// An invalid trace context is ignored. It does not fail the request.
fn trace_context(meta: &Fields<'_>) -> Option<TraceContext> {
    let text = |key| meta.text(key).ok().flatten();
    TraceContext::parse(&text("traceparent")?, text("tracestate").as_deref())
}

impl Operation {
    /// Returns the URI of the operation; none if the operation does not have exactly one URI.
    pub(crate) fn uri(&self) -> Option<&str> {
        match self {
            Self::Read { uri, .. }
            | Self::Get { uri, .. }
            | Self::GetSkill { uri }
            | Self::Directory { uri, .. } => Some(uri.as_str()),
            Self::Subscribe { uris, .. } => only(uris).map(Uri::as_str),
            Self::Unsubscribe { uris } => only(uris).map(String::as_str),
            Self::InvalidUri { invalid, .. } => Some(&invalid.text),
            _ => None,
        }
    }

    /// The list of tools for a client that shows no apps.
    fn tools(cursor: Option<String>) -> Self {
        Self::Tools {
            cursor,
            for_apps: false,
        }
    }

    fn read(method: Method, params: &Params<'_>) -> Result<Self, RpcError> {
        if let Some(error) = &params.error {
            return Err(error.clone().into());
        }
        let fields = &params.fields;
        let cursor = || Ok::<_, RpcError>(fields.text("cursor")?.map(Into::into));
        let filter = || filter::read(&params.meta);
        let uri_text = || Ok::<_, RpcError>(fields.required_text("uri")?);
        let uri = || uri_text().map(InvalidUri::parse);
        Ok(match method {
            Method::Discover => Self::Discover,
            Method::Ping => Self::Ping,
            Method::List => Self::List {
                cursor: cursor()?,
                filter: filter()?,
            },
            Method::Templates => Self::Templates {
                cursor: cursor()?,
                filter: filter()?,
            },
            Method::Read => {
                let uri = uri()?;
                let known_version = params.meta.text(VERSION_KEY)?.map(Into::into);
                Self::with_uri(uri, true, |uri| Self::Read { uri, known_version })
            }
            Method::Complete => parameters::completion(fields)?,
            Method::Tools => Self::tools(cursor()?),
            Method::CallTool => Self::CallTool(Box::new(parameters::tool_call(fields)?)),
            Method::Prompts => Self::Prompts { cursor: cursor()? },
            Method::GetPrompt => Self::GetPrompt(Box::new(parameters::prompt_call(fields)?)),
            Method::SetLogLevel => Self::SetLogLevel(parse_level(&fields.required_text("level")?)?),
            Method::Skills => Self::Skills { cursor: cursor()? },
            Method::GetSkill => Self::with_uri(uri()?, false, |uri| Self::GetSkill { uri }),
            Method::Directory => {
                let cursor = cursor()?;
                Self::with_uri(uri()?, false, |uri| Self::Directory { uri, cursor })
            }
            Method::Search => Self::Search {
                query: Box::new(parameters::search(fields)?),
                cursor: cursor()?,
            },
            Method::Subscribe => Self::subscribe(uri()?.map(|uri| vec![uri]), false),
            Method::Unsubscribe => Self::Unsubscribe {
                uris: vec![uri_text()?.into_owned()],
            },
            Method::Get => {
                let uri = uri()?;
                let known_version = fields.text("version")?.map(Into::into);
                Self::with_uri(uri, true, |uri| Self::Get { uri, known_version })
            }
            Method::SubscribeAll => {
                let uris = uris(fields)?.into_iter();
                let uris = uris.map(|text| InvalidUri::parse(text.into())).collect();
                Self::subscribe(uris, true)
            }
            Method::UnsubscribeAll => Self::Unsubscribe {
                uris: uris(fields)?,
            },
        })
    }

    fn with_uri<T>(uri: Result<T, InvalidUri>, is_read: bool, of: impl FnOnce(T) -> Self) -> Self {
        uri.map_or_else(|invalid| Self::InvalidUri { is_read, invalid }, of)
    }

    fn subscribe(uris: Result<Vec<Uri>, InvalidUri>, with_content: bool) -> Self {
        Self::with_uri(uris, false, |uris| Self::Subscribe { uris, with_content })
    }
}

fn only<T>(items: &[T]) -> Option<&T> {
    match items {
        [item] => Some(item),
        _ => None,
    }
}

fn uris(fields: &Fields<'_>) -> Result<Vec<String>, RpcError> {
    let uris = fields.texts("uris", MAX_URIS)?;
    if uris.len() > MAX_URIS {
        let message = format!("`uris` has more than {MAX_URIS} URIs");
        return Err(RpcError::new(INVALID_PARAMS, message));
    }
    Ok(uris)
}

#[cfg(test)]
mod tests;
