//! The methods and their parameters. Parameters become owned values here, because an operation can outlive
//! the bytes of its request.

mod parameters;

use std::sync::Arc;

use http::{HeaderMap, HeaderName};

pub(crate) use self::parameters::{Answers, InvalidUri, ResourceToolCall, RetryableRequest};
use super::filter;
use super::peer::Peer;
use crate::client_side::call_stream::CallMessages;
use crate::client_side::{modern_interaction, parse_level};
use crate::render::VERSION_KEY;
use crate::wire::fields::Fields;
use crate::wire::message::{Id, Params, Request};
use crate::wire::rpc_error::{INVALID_PARAMS, RpcError};
use larder_core::gateway::{Filter, PromptCall, ToolRequest};
use larder_model::interaction::Severity;
use larder_model::prompt::ArgumentQuery;
use larder_model::resource::{Call, Caller, CompletionRequest, PackedPairs};
use larder_model::search::SearchQuery;
use larder_model::size;
use larder_model::trace::TraceContext;
use larder_model::uri::Uri;

/// Maximum size of the metadata that is passed on with a request, in bytes.
const MAX_METADATA: usize = 64 << 10;

/// The method of this server that searches.
const SEARCH_METHOD: &str = "dev.larder/search";

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

impl Method {
    pub(crate) fn modern(name: &str) -> Option<Self> {
        match name {
            "server/discover" => Some(Self::Discover),
            _ => Self::shared(name),
        }
    }

    pub(crate) fn legacy(name: &str) -> Option<Self> {
        match name {
            "ping" => Some(Self::Ping),
            "resources/subscribe" => Some(Self::Subscribe),
            "resources/unsubscribe" => Some(Self::Unsubscribe),
            "logging/setLevel" => Some(Self::SetLogLevel),
            _ => Self::shared(name),
        }
    }

    /// Whether the response is immediate, because no provider is called for it.
    pub(crate) fn is_immediate(self) -> bool {
        matches!(self, Self::Ping | Self::Discover | Self::SetLogLevel)
    }

    /// Whether the client can take part in the call: it receives log messages and answers requests.
    pub(super) fn is_interactive(self) -> bool {
        matches!(self, Self::CallTool | Self::GetPrompt)
    }

    fn shared(name: &str) -> Option<Self> {
        match name {
            "resources/list" => Some(Self::List),
            "resources/templates/list" => Some(Self::Templates),
            "resources/read" => Some(Self::Read),
            "completion/complete" => Some(Self::Complete),
            "tools/list" => Some(Self::Tools),
            "tools/call" => Some(Self::CallTool),
            "prompts/list" => Some(Self::Prompts),
            "prompts/get" => Some(Self::GetPrompt),
            "skills/list" => Some(Self::Skills),
            "skills/get" => Some(Self::GetSkill),
            "resources/directory/read" => Some(Self::Directory),
            "resources/get" => Some(Self::Get),
            SEARCH_METHOD => Some(Self::Search),
            _ => None,
        }
    }

    /// Whether the method reads a resource.
    pub(crate) fn is_read(self) -> bool {
        matches!(self, Self::Read | Self::Get)
    }

    /// Returns the value of the metric's `method` label.
    pub(crate) fn metric_label(self) -> &'static str {
        match self {
            Self::Discover => "discover",
            Self::Ping => "ping",
            Self::List => "list",
            Self::Templates => "templates",
            Self::Read | Self::Get => "read",
            Self::Complete => "complete",
            Self::Tools => "tools",
            Self::CallTool => "tool",
            Self::Prompts => "prompts",
            Self::GetPrompt => "prompt",
            Self::SetLogLevel => "log-level",
            Self::Skills => "skills",
            Self::GetSkill => "skill",
            Self::Directory => "directory",
            Self::Search => "search",
            Self::Subscribe | Self::SubscribeAll => "subscribe",
            Self::Unsubscribe | Self::UnsubscribeAll => "unsubscribe",
        }
    }

    /// Returns the name of the method in the protocol.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Discover => "server/discover",
            Self::Ping => "ping",
            Self::List => "resources/list",
            Self::Templates => "resources/templates/list",
            Self::Read => "resources/read",
            Self::Complete => "completion/complete",
            Self::Tools => "tools/list",
            Self::CallTool => "tools/call",
            Self::Prompts => "prompts/list",
            Self::GetPrompt => "prompts/get",
            Self::SetLogLevel => "logging/setLevel",
            Self::Skills => "skills/list",
            Self::GetSkill => "skills/get",
            Self::Directory => "resources/directory/read",
            Self::Search => SEARCH_METHOD,
            Self::Get => "resources/get",
            Self::Subscribe | Self::SubscribeAll => "resources/subscribe",
            Self::Unsubscribe | Self::UnsubscribeAll => "resources/unsubscribe",
        }
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
    },
    CallTool(Box<RetryableRequest<ToolRequest>>),
    /// A call of one of the server's own tools.
    CallResourceTool(Box<ResourceToolCall>),
    Prompts {
        cursor: Option<String>,
    },
    GetPrompt(Box<RetryableRequest<PromptCall>>),
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
        uri: Uri,
    },
    /// The text is not parsed: removing a subscription that does not exist always succeeds.
    Unsubscribe {
        uri: String,
    },
    Get {
        uri: Uri,
        known_version: Option<String>,
    },
    SubscribeAll {
        uris: Vec<Uri>,
    },
    UnsubscribeAll {
        uris: Vec<String>,
    },
    /// A method whose `uri` is a string, but not a URI. The method fails. It is counted and traced, and if it would
    /// have read a resource, it is also audited.
    InvalidUri {
        method: Method,
        invalid: InvalidUri,
    },
}

/// A request whose parameters were read.
#[derive(Debug)]
pub(crate) struct ParsedRequest {
    pub(crate) id: Id,
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
        let interaction = match peer {
            _ if !self.operation.method().is_interactive() => return Ok(self),
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
    let size: usize = params
        .meta
        .iter()
        .map(|(key, json)| key.len() + json.get().len())
        .sum();
    if size > MAX_METADATA {
        return Err(RpcError::new(
            INVALID_PARAMS,
            format!("`_meta` has more than {}", size::show(MAX_METADATA as u64)),
        ));
    }
    let mut call = Call::from_caller(caller);
    // An invalid trace context is ignored. It does not fail the request.
    let text = |key| params.meta.text(key).ok().flatten();
    call.trace = text("traceparent")
        .and_then(|parent| TraceContext::parse(&parent, text("tracestate").as_deref()));
    call.only_protocol_metadata = params
        .meta
        .iter()
        .all(|(key, _)| NEUTRAL_KEYS.contains(&key));
    call.metadata =
        PackedPairs::from_pairs(params.meta.iter().map(|(key, json)| (key, json.get())));
    Ok(call)
}

impl Operation {
    /// Returns the method.
    pub(crate) fn method(&self) -> Method {
        match self {
            Self::Discover => Method::Discover,
            Self::Ping => Method::Ping,
            Self::List { .. } => Method::List,
            Self::Templates { .. } => Method::Templates,
            Self::Read { .. } => Method::Read,
            Self::Complete(_) | Self::CompleteArgument(_) => Method::Complete,
            Self::Tools { .. } => Method::Tools,
            Self::CallTool(_) | Self::CallResourceTool(_) => Method::CallTool,
            Self::Prompts { .. } => Method::Prompts,
            Self::GetPrompt(_) => Method::GetPrompt,
            Self::SetLogLevel(_) => Method::SetLogLevel,
            Self::Skills { .. } => Method::Skills,
            Self::GetSkill { .. } => Method::GetSkill,
            Self::Directory { .. } => Method::Directory,
            Self::Search { .. } => Method::Search,
            Self::Subscribe { .. } => Method::Subscribe,
            Self::Unsubscribe { .. } => Method::Unsubscribe,
            Self::Get { .. } => Method::Get,
            Self::SubscribeAll { .. } => Method::SubscribeAll,
            Self::UnsubscribeAll { .. } => Method::UnsubscribeAll,
            Self::InvalidUri { method, .. } => *method,
        }
    }

    /// Returns the URI of the operation; none if the operation has no URI.
    pub(crate) fn uri(&self) -> Option<&str> {
        match self {
            Self::Read { uri, .. }
            | Self::Get { uri, .. }
            | Self::GetSkill { uri }
            | Self::Directory { uri, .. }
            | Self::Subscribe { uri } => Some(uri.as_str()),
            Self::Unsubscribe { uri } => Some(uri),
            Self::InvalidUri { invalid, .. } => Some(&invalid.text),
            _ => None,
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
                Self::with_uri(method, uri, |uri| Self::Read { uri, known_version })
            }
            Method::Complete => parameters::completion(fields)?,
            Method::Tools => Self::Tools { cursor: cursor()? },
            Method::CallTool => Self::CallTool(Box::new(parameters::tool_call(fields)?)),
            Method::Prompts => Self::Prompts { cursor: cursor()? },
            Method::GetPrompt => Self::GetPrompt(Box::new(parameters::prompt_call(fields)?)),
            Method::SetLogLevel => Self::SetLogLevel(parse_level(&fields.required_text("level")?)?),
            Method::Skills => Self::Skills { cursor: cursor()? },
            Method::GetSkill => Self::with_uri(method, uri()?, |uri| Self::GetSkill { uri }),
            Method::Directory => {
                let cursor = cursor()?;
                Self::with_uri(method, uri()?, |uri| Self::Directory { uri, cursor })
            }
            Method::Search => Self::Search {
                query: Box::new(parameters::search(fields)?),
                cursor: cursor()?,
            },
            Method::Subscribe => Self::with_uri(method, uri()?, |uri| Self::Subscribe { uri }),
            Method::Unsubscribe => Self::Unsubscribe {
                uri: uri_text()?.into_owned(),
            },
            Method::Get => {
                let uri = uri()?;
                let known_version = fields.text("version")?.map(Into::into);
                Self::with_uri(method, uri, |uri| Self::Get { uri, known_version })
            }
            Method::SubscribeAll => {
                let uris = uris(fields)?.into_iter();
                let uris = uris.map(|text| InvalidUri::parse(text.into())).collect();
                Self::with_uri(method, uris, |uris| Self::SubscribeAll { uris })
            }
            Method::UnsubscribeAll => Self::UnsubscribeAll {
                uris: uris(fields)?,
            },
        })
    }

    fn with_uri<T>(method: Method, uri: Result<T, InvalidUri>, of: impl FnOnce(T) -> Self) -> Self {
        uri.map_or_else(|invalid| Self::InvalidUri { method, invalid }, of)
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
