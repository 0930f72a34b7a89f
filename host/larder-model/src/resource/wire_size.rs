//! Approximate sizes of results in a response, before they are rendered.

use super::{Body, Details, Entry, Icon, ReadResult, Template};

/// Approximate number of bytes that JSON adds to an item: its braces, a number, and the names of its fields.
const ITEM_OVERHEAD: usize = 48;
/// Approximate number of bytes that JSON adds to an optional text.
const TEXT_OVERHEAD: usize = 24;

impl Entry {
    /// Approximate size in a response in bytes.
    pub fn wire_size(&self) -> usize {
        let texts = [
            &self.title,
            &self.description,
            &self.mime_type,
            &self.version,
        ];
        ITEM_OVERHEAD
            + self.uri.as_str().len()
            + self.name.len()
            + text_size(texts)
            + self.details.wire_size()
    }
}

impl Template {
    /// Approximate size in a response in bytes.
    pub fn wire_size(&self) -> usize {
        let texts = [&self.title, &self.description, &self.mime_type];
        let uri_template = self.uri_template.as_str().len();
        ITEM_OVERHEAD + uri_template + self.name.len() + text_size(texts) + self.details.wire_size()
    }
}

impl Details {
    fn wire_size(&self) -> usize {
        let metadata = self
            .metadata
            .iter()
            .map(|(key, json)| TEXT_OVERHEAD + key.len() + json.get().len());
        let annotations = !self.audience.is_empty() || self.priority.is_some();
        text_size([&self.kind, &self.last_modified])
            + self.icons.iter().map(icon_size).sum::<usize>()
            + metadata.sum::<usize>()
            + usize::from(annotations) * ITEM_OVERHEAD
    }
}

fn icon_size(icon: &Icon) -> usize {
    let sizes = icon.sizes.iter().map(|size| TEXT_OVERHEAD + size.len());
    ITEM_OVERHEAD + icon.src.len() + text_size([&icon.mime_type]) + sizes.sum::<usize>()
}

impl ReadResult {
    /// Approximate size of the response in bytes.
    pub fn wire_size(&self) -> usize {
        let contents = self.contents.iter().map(|content| {
            let body = match &content.body {
                Body::Text(text) => text.len(),
                Body::Blob(blob) => blob.len().div_ceil(3) * 4,
            };
            let metadata: usize = content
                .metadata
                .iter()
                .map(|(key, json)| key.len() + json.get().len())
                .sum();
            128 + content.uri.as_str().len() + body + metadata
        });
        contents.sum()
    }
}

fn text_size<const N: usize>(texts: [&Option<String>; N]) -> usize {
    texts
        .into_iter()
        .flatten()
        .map(|text| TEXT_OVERHEAD + text.len())
        .sum()
}
