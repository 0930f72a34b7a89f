//! Requests and results as plain data: entries, templates, contents, callers. This module contains neither types of MCP
//! nor types of the sandbox engine. Both sides convert to and from these types.

mod connections;
mod contents;
mod credential_uses;
mod packed_pairs;
mod render_cache;
mod wire_size;

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::sync::mpsc;

pub use self::connections::{ConnectionRecord, ConnectionRecords};
pub use self::contents::Contents;
pub use self::credential_uses::{CredentialUse, CredentialUses};
pub use self::packed_pairs::PackedPairs;
pub use self::render_cache::RenderCache;
use crate::interaction::Interaction;
use crate::name::{ProviderName, Teams};
use crate::trace::TraceContext;
use crate::uri::Uri;
use larder_uri_template::UriTemplate;
pub use larder_uri_template::Variable;

/// Keys with JSON values. The values have been parsed and serialized again.
pub type Metadata = Vec<(String, Box<RawValue>)>;

/// A resource, as a list contains it.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The URI of the resource.
    pub uri: Uri,
    /// The short name of the resource.
    pub name: String,
    /// The name of the resource for people.
    pub title: Option<String>,
    /// The description of the resource.
    pub description: Option<String>,
    /// Its media type.
    pub mime_type: Option<String>,
    /// The size of the resource's content in bytes.
    pub size: Option<u64>,
    /// Differs whenever the content differs.
    pub version: Option<String>,
    /// Attributes that few entries have.
    pub details: Details,
    /// The JSON of the entry, shared by all responses that contain it.
    pub rendered: RenderCache,
}

/// A family of resources.
#[derive(Debug, Clone)]
pub struct Template {
    /// The RFC 6570 template, parsed.
    pub uri_template: UriTemplate,
    /// The short name of the template.
    pub name: String,
    /// The name of the template for people.
    pub title: Option<String>,
    /// The description of the template.
    pub description: Option<String>,
    /// The media type of all resources of the family.
    pub mime_type: Option<String>,
    /// Attributes that few templates have.
    pub details: Details,
    /// The JSON of the template, shared by all responses that contain it.
    pub rendered: RenderCache,
}

/// Attributes that few entries and templates have.
#[derive(Debug, Clone, Default)]
pub struct Details {
    /// A category, such as "file".
    pub kind: Option<String>,
    /// The intended audience.
    pub audience: Vec<Role>,
    /// From 0 (optional) to 1 (required).
    pub priority: Option<f64>,
    /// In the format of RFC 3339.
    pub last_modified: Option<String>,
    /// Icons to show.
    pub icons: Vec<Icon>,
    /// Metadata from the provider.
    pub metadata: Metadata,
}

/// The intended audience of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The person.
    User,
    /// The model.
    Assistant,
}

/// An icon.
#[derive(Debug, Clone)]
pub struct Icon {
    /// The URI of the icon, which may be a `data:` URI.
    pub src: String,
    /// Its media type.
    pub mime_type: Option<String>,
    /// Sizes such as `48x48` or `any`.
    pub sizes: Vec<String>,
    /// The background for which the icon is designed; none if both are suitable.
    pub theme: Option<Theme>,
}

/// The background for which an icon is designed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Theme {
    /// A light background.
    Light,
    /// A dark background.
    Dark,
}

/// A part of the result of a read.
#[derive(Debug, Clone)]
pub struct Content {
    /// The requested URI, or a URI below it.
    pub uri: Uri,
    /// Its media type.
    pub mime_type: Option<String>,
    /// The content itself.
    pub body: Body,
    /// Metadata from the provider.
    pub metadata: Metadata,
}

/// The body of a content.
#[derive(Debug, Clone)]
pub enum Body {
    /// Text.
    Text(String),
    /// Binary data.
    Blob(Vec<u8>),
}

/// How long a result may be cached, and for whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Freshness {
    /// The time to live.
    pub ttl: Duration,
    /// The callers that may use the result.
    pub scope: Scope,
}

/// The callers that may use a cached result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Every caller that may call its provider.
    Everyone,
    /// Only the caller that received the result.
    Caller,
}

impl Freshness {
    /// The freshness of a result for which the provider specifies none.
    pub const UNKNOWN: Self = Self {
        ttl: Duration::ZERO,
        scope: Scope::Caller,
    };

    /// Returns the stricter time to live and the stricter scope of the two.
    pub fn merge(self, other: Self) -> Self {
        let scope = if self.scope == Scope::Caller {
            self.scope
        } else {
            other.scope
        };
        Self {
            ttl: self.ttl.min(other.ttl),
            scope,
        }
    }
}

/// The result of a read.
#[derive(Debug, Clone)]
pub struct ReadResult {
    /// At least one content. Reference-counted, so that many responses can share it.
    pub contents: Arc<Contents>,
    /// The version of the contents as a whole.
    pub version: Option<String>,
    /// How long the result may be cached.
    pub freshness: Freshness,
    /// Whether other responses contain the same contents. Then their JSON is kept.
    pub shared: bool,
}

/// A page of a list.
#[derive(Debug, Clone)]
pub struct Page<T> {
    /// The items of this page.
    pub items: Vec<T>,
    /// The cursor of the next page; none at the end.
    pub next: Option<String>,
    /// How long this page may be cached.
    pub freshness: Freshness,
    /// The providers whose entries are missing, because they failed or did not respond in time.
    pub incomplete: Vec<String>,
}

/// The template that a URI matched, and the decoded values of its variables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    /// The text of the template.
    pub template: String,
    /// The variables, in the order of the template.
    pub variables: Vec<Variable>,
}

/// A request to complete a variable of a template.
#[derive(Debug, Clone)]
pub struct CompletionRequest {
    /// The text of the template.
    pub template: String,
    /// The variable to complete.
    pub variable: String,
    /// The text that the user typed so far.
    pub prefix: String,
    /// Variables that already have values.
    pub filled: Vec<(String, String)>,
}

/// Proposed values for a variable.
#[derive(Debug, Clone, Default)]
pub struct Completion {
    /// At most 100 values, best first.
    pub values: Vec<String>,
    /// The number of possible values.
    pub total: Option<u64>,
    /// Whether there are more values than these.
    pub has_more: bool,
}

/// The authenticated caller.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Caller {
    /// The subject of the credential; none if the credential has no subject.
    pub subject: Option<String>,
    /// The issuer of the credential. None if this server issued the credential, or if there is no credential.
    pub issuer: Option<Arc<str>>,
    /// The teams whose providers the caller may call.
    pub teams: Teams,
    /// The scopes of the credential.
    pub scopes: Vec<String>,
}

impl Caller {
    /// Whether both callers have the same subject, issuer and teams. The credentials may differ.
    pub fn is_same_principal(&self, other: &Self) -> bool {
        (&self.subject, &self.issuer, &self.teams) == (&other.subject, &other.issuer, &other.teams)
    }
}

/// Progress of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// Grows with every notification.
    pub done: f64,
    /// The value of `done` at the end.
    pub total: Option<f64>,
    /// A message for people.
    pub message: Option<String>,
}

/// The origin of a request. It is only recorded: no response depends on it.
#[derive(Debug, Clone, Default)]
pub struct Origin {
    /// The address of the client; none if the client is not connected over TCP.
    pub peer: Option<IpAddr>,
    /// The name of a token in the configuration, or the id (`jti`) of a JWT.
    pub token: Option<Arc<str>>,
    /// The operator that makes the request on behalf of the caller, through the admin address.
    pub operator: Option<Arc<str>>,
    /// Receives the data for the request log; none if requests are not logged.
    pub request_details: Option<Arc<RequestDetails>>,
}

/// Data for the request log that only the innermost parts of the server have.
#[derive(Debug, Default)]
pub struct RequestDetails {
    /// The method in the protocol.
    pub method: OnceLock<String>,
    /// The provider that was called first.
    pub provider: OnceLock<ProviderName>,
}

/// A request in progress: its caller and its context.
#[derive(Debug, Default)]
pub struct Call {
    /// None for the server's own calls.
    pub caller: Option<Caller>,
    /// Where the request came from; for the audit log.
    pub origin: Origin,
    /// The metadata of the request: keys and JSON text.
    pub metadata: PackedPairs,
    /// Whether the metadata contains only keys that the protocol defines. If there is another key, the result may
    /// depend on it, and is not shared.
    pub only_protocol_metadata: bool,
    /// The trace context of the request's own span, or the trace context that the client sent.
    pub trace: Option<TraceContext>,
    /// The id of the request as JSON; for the audit log.
    pub request_id: Option<Arc<str>>,
    /// Receives progress notifications; none if the client requested none.
    pub progress: Option<mpsc::Sender<Progress>>,
    /// The client's side of the call. None if no client takes part in the call: then no capability is supported, and
    /// log messages for the client are dropped.
    pub interaction: Option<Interaction>,
    /// The TCP connections that guests attempted on behalf of the call; for the audit log.
    pub connections: ConnectionRecords,
    /// The requests of guests to which the host added a credential; for the audit log.
    pub credential_uses: CredentialUses,
    cancelled: AtomicBool,
}

impl Call {
    /// Creates the context of a call of the server itself.
    pub fn from_host() -> Arc<Self> {
        Arc::new(Self::default())
    }

    /// Creates the context of a caller's request.
    pub fn from_caller(caller: Caller) -> Self {
        Self {
            caller: Some(caller),
            ..Self::default()
        }
    }

    /// Whether the result depends only on the URI and the caller.
    pub fn is_cacheable(&self) -> bool {
        self.only_protocol_metadata || self.metadata.is_empty()
    }

    /// Sets the trace context, also in the metadata.
    pub fn set_trace(&mut self, trace: TraceContext) {
        let keys = ["traceparent", "tracestate"];
        let own: Vec<_> = trace.metadata().collect();
        let others = self.metadata.iter().filter(|(key, _)| !keys.contains(key));
        let own = own.iter().map(|(key, json)| (key.as_str(), json.as_str()));
        self.metadata = PackedPairs::from_pairs(others.chain(own));
        self.trace = Some(trace);
    }

    /// Marks the request as cancelled. Running guests can check this and stop early.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether the request was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merges_to_the_stricter_freshness() {
        let long = Freshness {
            ttl: Duration::from_secs(60),
            scope: Scope::Everyone,
        };
        let mine = Freshness {
            ttl: Duration::from_secs(90),
            scope: Scope::Caller,
        };
        let both = Freshness {
            ttl: Duration::from_secs(60),
            scope: Scope::Caller,
        };
        assert_eq!(long.merge(mine), both);
        assert_eq!(mine.merge(long), both);
        assert_eq!(long.merge(long), long);
    }
}
