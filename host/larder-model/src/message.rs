//! The content of tool results and prompt messages.

use crate::resource::{Body, Entry, Metadata, Role};
use crate::uri::Uri;

/// One piece of content.
#[derive(Debug, Clone)]
pub struct Block {
    /// The content itself.
    pub value: BlockValue,
    /// None for a link, because its annotations are in the details of its entry.
    pub annotations: Option<Annotations>,
    /// Metadata from the provider.
    pub metadata: Metadata,
}

impl Block {
    /// The approximate number of bytes of its content.
    pub fn size(&self) -> usize {
        let body = |body: &Body| match body {
            Body::Text(text) => text.len(),
            Body::Blob(data) => data.len(),
        };
        match &self.value {
            BlockValue::Text(text) => text.len(),
            BlockValue::Image(media) | BlockValue::Audio(media) => media.data.len(),
            BlockValue::Link(entry) => entry.uri.as_str().len() + entry.name.len(),
            BlockValue::Embedded(resource) => body(&resource.body),
        }
    }
}

/// The kinds of content.
#[derive(Debug, Clone)]
pub enum BlockValue {
    /// Text.
    Text(String),
    /// An image. Its media type begins with `image/`.
    Image(Media),
    /// A sound. Its media type begins with `audio/`.
    Audio(Media),
    /// A reference to a resource.
    Link(Box<Entry>),
    /// A resource with its content.
    Embedded(EmbeddedResource),
}

/// Binary data with its media type.
#[derive(Debug, Clone)]
pub struct Media {
    /// The media type.
    pub mime_type: String,
    /// The data.
    pub data: Vec<u8>,
}

/// A resource with its content.
#[derive(Debug, Clone)]
pub struct EmbeddedResource {
    /// Its URI.
    pub uri: Uri,
    /// Its media type.
    pub mime_type: Option<String>,
    /// The content of the resource.
    pub body: Body,
    /// Metadata from the provider.
    pub metadata: Metadata,
}

/// The audience of a block, and its importance.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Annotations {
    /// The intended audience, without duplicates.
    pub audience: Vec<Role>,
    /// From 0 (optional) to 1 (required).
    pub priority: Option<f64>,
    /// In the format of RFC 3339.
    pub last_modified: Option<String>,
}
