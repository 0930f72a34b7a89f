//! Pieces of content in tool results and prompt messages.

pub use crate::bindings::interaction_types::{
    Annotations, Block, BlockValue, EmbeddedResource, Media,
};
use crate::{Body, Entry, Role};

impl Block {
    /// Creates a text.
    ///
    /// ```
    /// # use larder_provider::{Annotations, Block, Entry, Role};
    /// let summary = Block::text("Three notes match.")
    ///     .annotations(Annotations::default().audience(Role::User).priority(0.9));
    /// let note = Block::link(Entry::new("note:7", "seven"));
    /// # assert!(summary.annotations.is_some() && note.annotations.is_none());
    /// ```
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(BlockValue::Text(text.into()))
    }

    /// Creates an image from its media type and its bytes.
    pub fn image(mime: impl Into<String>, data: impl Into<Vec<u8>>) -> Self {
        Self::new(BlockValue::Image(Media {
            mime_type: mime.into(),
            data: data.into(),
        }))
    }

    /// Creates a sound from its media type and its bytes.
    pub fn audio(mime: impl Into<String>, data: impl Into<Vec<u8>>) -> Self {
        Self::new(BlockValue::Audio(Media {
            mime_type: mime.into(),
            data: data.into(),
        }))
    }

    /// Creates a reference to a resource.
    pub fn link(entry: Entry) -> Self {
        Self::new(BlockValue::Link(entry))
    }

    /// Creates a resource with its content.
    pub fn embedded(resource: EmbeddedResource) -> Self {
        Self::new(BlockValue::Embedded(resource))
    }

    fn new(value: BlockValue) -> Self {
        Self {
            value,
            annotations: None,
            metadata: Vec::new(),
        }
    }

    /// Sets the annotations.
    pub fn annotations(mut self, annotations: Annotations) -> Self {
        self.annotations = Some(annotations);
        self
    }

    /// Adds a metadata key with its value as JSON text.
    pub fn metadata(mut self, key: impl Into<String>, json: impl Into<String>) -> Self {
        self.metadata.push((key.into(), json.into()));
        self
    }
}

impl From<String> for Block {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<&str> for Block {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<EmbeddedResource> for Block {
    fn from(resource: EmbeddedResource) -> Self {
        Self::embedded(resource)
    }
}

impl EmbeddedResource {
    /// Creates a resource with a text.
    ///
    /// ```
    /// # use larder_provider::{Block, EmbeddedResource};
    /// let note: Block = EmbeddedResource::text("note:7", "# Seven").mime("text/markdown").into();
    /// ```
    pub fn text(uri: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            mime_type: None,
            body: Body::Text(text.into()),
            metadata: Vec::new(),
        }
    }

    /// Creates a resource with bytes.
    pub fn blob(uri: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            uri: uri.into(),
            mime_type: None,
            body: Body::Blob(bytes.into()),
            metadata: Vec::new(),
        }
    }

    /// Sets the media type.
    pub fn mime(mut self, mime: impl Into<String>) -> Self {
        self.mime_type = Some(mime.into());
        self
    }

    /// Adds a metadata key with its value as JSON text.
    pub fn metadata(mut self, key: impl Into<String>, json: impl Into<String>) -> Self {
        self.metadata.push((key.into(), json.into()));
        self
    }
}

#[allow(clippy::derivable_impls, reason = "the type is generated")]
impl Default for Annotations {
    fn default() -> Self {
        Self {
            audience: Vec::new(),
            priority: None,
            last_modified: None,
        }
    }
}

impl Annotations {
    /// Adds a role to the intended audience.
    pub fn audience(mut self, role: Role) -> Self {
        self.audience.push(role);
        self
    }

    /// Sets the priority, from 0 (optional) to 1 (required).
    pub fn priority(mut self, priority: f64) -> Self {
        self.priority = Some(priority);
        self
    }

    /// Sets the time of the last modification, in RFC 3339.
    pub fn last_modified(mut self, at: impl Into<String>) -> Self {
        self.last_modified = Some(at.into());
        self
    }
}
