//! What is asked and answered, as plain data: entries, templates, contents, and who asks.
//! No protocol and no engine: both ends convert to and from these.

mod pairs;
mod written;

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::sync::mpsc;

pub use self::pairs::Pairs;
pub use self::written::Written;
use crate::name::Teams;
use crate::template::Pattern;
use crate::trace::Trace;
use crate::uri::Uri;

/// Keys and the JSON that belongs to them, parsed and written anew.
pub type Metadata = Vec<(String, Box<RawValue>)>;

/// One readable thing, as a list shows it.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Where it is.
    pub uri: Uri,
    /// Its short name.
    pub name: String,
    /// A name for people.
    pub title: Option<String>,
    /// What it is.
    pub description: Option<String>,
    /// Its media type.
    pub mime_type: Option<String>,
    /// The size of its content in bytes.
    pub size: Option<u64>,
    /// Differs whenever the content differs.
    pub version: Option<String>,
    /// What few entries have.
    pub details: Details,
    /// For all who are shown it.
    pub written: Written,
}

/// A family of readable things.
#[derive(Debug, Clone)]
pub struct Template {
    /// The RFC 6570 template, parsed.
    pub pattern: Pattern,
    /// Its short name.
    pub name: String,
    /// A name for people.
    pub title: Option<String>,
    /// What its members are.
    pub description: Option<String>,
    /// The media type that all members have.
    pub mime_type: Option<String>,
    /// What few templates have.
    pub details: Details,
    /// For all who are shown it.
    pub written: Written,
}

/// What few entries and templates have.
#[derive(Debug, Clone, Default)]
pub struct Details {
    /// A category, such as "file".
    pub kind: Option<String>,
    /// Whom it is for.
    pub audience: Vec<Role>,
    /// From 0 (optional) to 1 (required).
    pub priority: Option<f64>,
    /// RFC 3339.
    pub last_modified: Option<String>,
    /// Pictures of it.
    pub icons: Vec<Icon>,
    /// What the provider adds.
    pub metadata: Metadata,
}

/// Whom an entry is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The person.
    User,
    /// The model.
    Assistant,
}

/// A picture of an entry.
#[derive(Debug, Clone)]
pub struct Icon {
    /// Where it is: a URI, `data:` included.
    pub src: String,
    /// Its media type.
    pub mime_type: Option<String>,
    /// Such as `48x48` or `any`.
    pub sizes: Vec<String>,
}

/// One piece of what a read gave.
#[derive(Debug, Clone)]
pub struct Content {
    /// The URI asked for, or one below it.
    pub uri: Uri,
    /// Its media type.
    pub mime_type: Option<String>,
    /// What it holds.
    pub body: Body,
    /// What the provider adds.
    pub metadata: Metadata,
}

/// What a content holds.
#[derive(Debug, Clone)]
pub enum Body {
    /// Text.
    Text(String),
    /// Anything else.
    Blob(Vec<u8>),
}

/// How long an answer may be reused, and by whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Freshness {
    /// For how long.
    pub ttl: Duration,
    /// By whom.
    pub scope: Scope,
}

/// Who may reuse an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Anyone who may see its provider.
    Everyone,
    /// Only the caller who got it.
    Caller,
}

impl Freshness {
    /// What holds for an answer about which its provider said nothing.
    pub const UNKNOWN: Self = Self { ttl: Duration::ZERO, scope: Scope::Caller };

    /// The more careful of the two in both respects.
    pub fn merge(self, other: Self) -> Self {
        let scope = if self.scope == Scope::Caller { self.scope } else { other.scope };
        Self { ttl: self.ttl.min(other.ttl), scope }
    }
}

/// What a read gave.
#[derive(Debug, Clone)]
pub struct Reading {
    /// One or several pieces, never none. Shared, so that many can be given one answer.
    pub contents: Arc<Contents>,
    /// The version of all of it.
    pub version: Option<String>,
    /// How long it may be reused.
    pub freshness: Freshness,
    /// Whether others are given the same contents.
    pub kept: bool,
}

/// The pieces that a read gave.
#[derive(Debug, Default)]
pub struct Contents {
    pieces: Box<[Content]>,
    /// For all who are given them.
    pub written: Written,
}

impl FromIterator<Content> for Contents {
    fn from_iter<T: IntoIterator<Item = Content>>(pieces: T) -> Self {
        Self { pieces: pieces.into_iter().collect(), written: Written::default() }
    }
}

impl Deref for Contents {
    type Target = [Content];

    fn deref(&self) -> &[Content] {
        &self.pieces
    }
}

impl Reading {
    /// About as many bytes as it takes to tell it.
    pub fn weight(&self) -> usize {
        let contents = self.contents.iter().map(|content| {
            let body = match &content.body {
                Body::Text(text) => text.len(),
                Body::Blob(blob) => blob.len().div_ceil(3) * 4,
            };
            let metadata: usize =
                content.metadata.iter().map(|(key, json)| key.len() + json.get().len()).sum();
            128 + content.uri.as_str().len() + body + metadata
        });
        contents.sum()
    }
}

/// A part of a list.
#[derive(Debug, Clone)]
pub struct Page<T> {
    /// The items of this page.
    pub items: Vec<T>,
    /// Where the next page begins; none at the end.
    pub next: Option<String>,
    /// How long this page may be reused.
    pub freshness: Freshness,
}

/// The template that a URI was matched with, and the decoded values of its variables.
/// A variable with several values appears once for each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    /// The template's text.
    pub template: String,
    /// Names and values, in the template's order.
    pub values: Vec<(String, String)>,
}

/// A question for the values that a variable may take.
#[derive(Debug, Clone)]
pub struct Completing {
    /// The template's text.
    pub template: String,
    /// The variable that is being filled in.
    pub variable: String,
    /// What has been typed so far.
    pub prefix: String,
    /// Variables that are already filled in.
    pub filled: Vec<(String, String)>,
}

/// The values that a variable may take.
#[derive(Debug, Clone, Default)]
pub struct Completion {
    /// Best first, at most 100.
    pub values: Vec<String>,
    /// How many there are in all.
    pub total: Option<u64>,
    /// Whether there are more than these.
    pub more: bool,
}

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Caller {
    /// The subject of the credential, if there is one.
    pub subject: Option<String>,
    /// Who says so: the issuer of the credential. None where this server gave it out, or where there is none.
    pub issuer: Option<Arc<str>>,
    /// The teams whose providers the caller may ask.
    pub teams: Teams,
    /// What the credential allows.
    pub scopes: Vec<String>,
}

impl Caller {
    /// Whether this is the same one, though perhaps with another credential.
    pub fn is_same(&self, other: &Self) -> bool {
        (&self.subject, &self.issuer, &self.teams) == (&other.subject, &other.issuer, &other.teams)
    }
}

/// How far a call has come.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// Grows with every report.
    pub done: f64,
    /// What `done` will be at the end.
    pub total: Option<f64>,
    /// For people.
    pub message: Option<String>,
}

/// One question on its way down: who asks, and what came with the question.
#[derive(Debug, Default)]
pub struct Call {
    /// None when the host itself asks.
    pub caller: Option<Caller>,
    /// The metadata of the request: key and JSON text.
    pub metadata: Pairs,
    /// Whether the metadata holds nothing but what the protocol itself puts there. Anything else is part of
    /// the question: its answer is not for others.
    pub plain: bool,
    /// Where it belongs in a trace, if who asks says so.
    pub trace: Option<Trace>,
    /// The id of the request, as JSON; for the audit log.
    pub request: Option<Arc<str>>,
    /// Where reports of progress go; none where nobody asked for them.
    pub progress: Option<mpsc::Sender<Progress>>,
    cancelled: AtomicBool,
}

impl Call {
    /// The host asks for itself.
    pub fn by_host() -> Arc<Self> {
        Arc::new(Self::default())
    }

    /// A caller asks.
    pub fn by(caller: Caller) -> Self {
        Self { caller: Some(caller), ..Self::default() }
    }

    /// Whether nothing but the URI and the caller decides about the answer.
    pub fn is_plain(&self) -> bool {
        self.plain || self.metadata.is_empty()
    }

    /// What it causes belongs there; its metadata says so, too.
    pub fn put_into(&mut self, trace: Trace) {
        let keys = ["traceparent", "tracestate"];
        let own: Vec<_> = trace.metadata().collect();
        let others = self.metadata.iter().filter(|(key, _)| !keys.contains(key));
        self.metadata =
            Pairs::gather(others.chain(own.iter().map(|(key, json)| (key.as_str(), json.as_str()))));
        self.trace = Some(trace);
    }

    /// Nobody waits for the answer any more. What is already running may ask and stop early.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether the answer is still waited for.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freshness_merges_to_the_more_careful() {
        let long = Freshness { ttl: Duration::from_secs(60), scope: Scope::Everyone };
        let mine = Freshness { ttl: Duration::from_secs(90), scope: Scope::Caller };
        let both = Freshness { ttl: Duration::from_secs(60), scope: Scope::Caller };
        assert_eq!(long.merge(mine), both);
        assert_eq!(mine.merge(long), both);
        assert_eq!(long.merge(long), long);
    }
}
