//! Results of a read: contents, their version, and how long they may be cached.

use std::time::Duration;

pub use crate::bindings::exports::larder::provider::resource_provider::Reading;
pub use crate::bindings::provider_types::{Body, Content, Freshness, Scope};

impl Content {
    /// Creates a text content.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(Body::Text(text.into()))
    }

    /// Creates a binary content.
    pub fn blob(bytes: impl Into<Vec<u8>>) -> Self {
        Self::new(Body::Blob(bytes.into()))
    }

    fn new(body: Body) -> Self {
        Self {
            uri: None,
            mime_type: None,
            body,
            metadata: Vec::new(),
        }
    }

    /// Sets the media type.
    pub fn mime(mut self, mime: impl Into<String>) -> Self {
        self.mime_type = Some(mime.into());
        self
    }

    /// Sets the URI, if it differs from the requested one.
    pub fn uri(mut self, uri: impl Into<String>) -> Self {
        self.uri = Some(uri.into());
        self
    }

    /// Adds a metadata key with its value as JSON text.
    pub fn metadata(mut self, key: impl Into<String>, json: impl Into<String>) -> Self {
        self.metadata.push((key.into(), json.into()));
        self
    }
}

impl Reading {
    /// Sets the version of these contents.
    ///
    /// ```
    /// # use larder_provider::{Content, Freshness, Reading};
    /// # use std::time::Duration;
    /// let reading = Reading::from(Content::text("# Seven").mime("text/markdown"))
    ///     .version("3")
    ///     .freshness(Freshness::everyone(Duration::from_secs(60)));
    /// assert_eq!(reading.version.as_deref(), Some("3"));
    /// ```
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = Some(version.into());
        self
    }

    /// Sets how long the reading may be cached, and for which callers. Without this, the reading is not cached.
    pub fn freshness(mut self, freshness: Freshness) -> Self {
        self.freshness = Some(freshness);
        self
    }
}

impl From<Vec<Content>> for Reading {
    fn from(contents: Vec<Content>) -> Self {
        Self {
            contents,
            version: None,
            freshness: None,
        }
    }
}

impl From<Content> for Reading {
    fn from(content: Content) -> Self {
        vec![content].into()
    }
}

impl Freshness {
    /// The response may be shared by all callers that have access to this provider.
    pub fn everyone(ttl: Duration) -> Self {
        Self {
            ttl_ms: milliseconds(ttl),
            scope: Scope::Everyone,
        }
    }

    /// The response may be reused only for the same caller.
    pub fn caller(ttl: Duration) -> Self {
        Self {
            ttl_ms: milliseconds(ttl),
            scope: Scope::Caller,
        }
    }
}

/// The whole milliseconds of a duration, at most `u64::MAX`.
pub(crate) fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
