//! Reads the text of a resource without a caller.

use std::sync::Arc;

use crate::catalog::{Catalog, Offer};
use crate::host_reads;
use larder_model::resource::{Body, Entry, ReadResult};
use larder_model::uri::Uri;
use larder_provider::CallError;

/// The result of a read without a caller.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// The text of all parts.
    Text(String),
    /// The content has no text.
    Binary,
    /// The content can only be read with a caller.
    NeedsCaller,
    /// The content has the known version.
    Unchanged,
}

/// Whether the content of an entry may be text, according to the entry.
pub(super) fn may_be_text(entry: &Entry) -> bool {
    let Some(mime_type) = &entry.mime_type else {
        return true;
    };
    let kind = mime_type
        .split(['/', ';'])
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    let is_binary = matches!(kind.as_str(), "image" | "audio" | "video" | "font");
    !is_binary || mime_type.contains("xml") || mime_type.contains("svg")
}

/// Reads a listed resource. Returns its content, and the version that the provider returned with it.
pub(super) async fn read(
    catalog: &Arc<Catalog>,
    offer: &Offer,
    uri: &Uri,
    known_version: Option<String>,
    max_bytes: usize,
) -> Result<(Content, Option<String>), CallError> {
    match host_reads::read(catalog, offer, uri, known_version).await {
        Ok(result) => Ok((content(&result, max_bytes), result.version.clone())),
        Err(CallError::NotModified) => Ok((Content::Unchanged, None)),
        Err(
            CallError::NotFound
            | CallError::Denied(_)
            | CallError::Invalid(_)
            | CallError::Refused(_),
        ) => Ok((Content::NeedsCaller, None)),
        Err(error) => Err(error),
    }
}

fn content(result: &ReadResult, max_bytes: usize) -> Content {
    if host_reads::belongs_to_caller(result) {
        return Content::NeedsCaller;
    }
    let mut text: Option<String> = None;
    for part in result.contents.iter() {
        let Body::Text(part) = &part.body else {
            continue;
        };
        let text = text.get_or_insert_default();
        if !text.is_empty() {
            text.push('\n');
        }
        let room = max_bytes.saturating_sub(text.len());
        text.push_str(&part[..part.floor_char_boundary(room)]);
    }
    text.map_or(Content::Binary, Content::Text)
}
