//! What a read gives: contents, the version of all of them, and how long that may be reused.

use std::time::Duration;

pub use crate::bindings::exports::larder::provider::resource_provider::Reading;
pub use crate::bindings::provider_types::{Body, Content, Freshness, Scope};

impl Content {
    /// Text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(Body::Text(text.into()))
    }

    /// Anything else.
    pub fn blob(bytes: impl Into<Vec<u8>>) -> Self {
        Self::new(Body::Blob(bytes.into()))
    }

    fn new(body: Body) -> Self {
        Self { uri: None, mime_type: None, body, metadata: Vec::new() }
    }

    /// Its media type.
    pub fn mime(mut self, mime: impl Into<String>) -> Self {
        self.mime_type = Some(mime.into());
        self
    }

    /// Its URI, where it is not the one that was asked for.
    pub fn uri(mut self, uri: impl Into<String>) -> Self {
        self.uri = Some(uri.into());
        self
    }

    /// Adds a key and the JSON text that belongs to it.
    pub fn metadata(mut self, key: impl Into<String>, json: impl Into<String>) -> Self {
        self.metadata.push((key.into(), json.into()));
        self
    }
}

impl Reading {
    /// The version of these contents.
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

    /// How long this may be reused, and by whom. Unless said, not at all.
    pub fn freshness(mut self, freshness: Freshness) -> Self {
        self.freshness = Some(freshness);
        self
    }
}

impl From<Vec<Content>> for Reading {
    fn from(contents: Vec<Content>) -> Self {
        Self { contents, version: None, freshness: None }
    }
}

impl From<Content> for Reading {
    fn from(content: Content) -> Self {
        vec![content].into()
    }
}

impl Freshness {
    /// The same answer for anyone who may see this provider.
    pub fn everyone(ttl: Duration) -> Self {
        Self { ttl_ms: in_ms(ttl), scope: Scope::Everyone }
    }

    /// An answer that only this caller gets.
    pub fn caller(ttl: Duration) -> Self {
        Self { ttl_ms: in_ms(ttl), scope: Scope::Caller }
    }
}

fn in_ms(ttl: Duration) -> u64 {
    u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX)
}
