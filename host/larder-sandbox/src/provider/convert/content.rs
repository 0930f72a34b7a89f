//! Converts the content of tool results and prompt messages.

use super::metadata::{metadata, metadata_size};
use super::names::quoted;
use super::pace::Pace;
use super::parts::{audience, clamp_priority};
use super::resources::{body, body_size, entry, entry_size};
use super::texts::{self, last_modified};
use super::{MAX_ITEM_BYTES, check_result_count, too_large};
use crate::bindings::larder::provider::{interaction_types as wit, provider_types as types};
use crate::provider::omissions::Omissions;
use larder_model::format::is_media_type;
use larder_model::message::{Annotations, Block, BlockValue, EmbeddedResource, Media};
use larder_model::resource::Entry;
use larder_provider::CallError;

/// Maximum number of blocks in one result.
pub(super) const MAX_BLOCKS: usize = 1_000;

/// Converts the blocks of a result. An invalid block makes the whole result unusable, because a model would not detect
/// that a block is missing.
pub(super) async fn blocks(
    items: Vec<wit::Block>,
    omissions: &mut Omissions<'_>,
) -> Result<Vec<Block>, CallError> {
    check_result_count(items.len(), MAX_BLOCKS, "blocks of content")?;
    let mut blocks = Vec::with_capacity(items.len());
    let mut pace = Pace::default();
    for (at, item) in items.into_iter().enumerate() {
        pace.item(converted_bytes(&item)).await;
        let block = block(item, omissions)
            .map_err(|why| CallError::Failed(format!("block {} of its result: {why}", at + 1)))?;
        blocks.push(block);
    }
    Ok(blocks)
}

/// Bytes of a block that its conversion checks: all parts except its text or data.
pub(super) fn converted_bytes(block: &wit::Block) -> usize {
    let value = match &block.value {
        wit::BlockValue::Link(link) => entry_size(link),
        wit::BlockValue::Embedded(resource) => {
            resource.uri.len() + metadata_size(&resource.metadata)
        }
        _ => 0,
    };
    value + metadata_size(&block.metadata)
}

/// Bytes of a block.
pub(super) fn block_size(block: &wit::Block) -> usize {
    let value = match &block.value {
        wit::BlockValue::Text(text) => text.len(),
        wit::BlockValue::Image(media) | wit::BlockValue::Audio(media) => media.data.len(),
        wit::BlockValue::Embedded(resource) => body_size(&resource.body),
        wit::BlockValue::Link(_) => 0,
    };
    size_of::<wit::Block>() + value + converted_bytes(block)
}

/// Converts a block, or returns why it cannot be used.
pub(super) fn block(item: wit::Block, omissions: &mut Omissions<'_>) -> Result<Block, String> {
    let value = match item.value {
        wit::BlockValue::Text(text) => BlockValue::Text(text),
        wit::BlockValue::Image(image) => BlockValue::Image(media(image, "image/", omissions)?),
        wit::BlockValue::Audio(audio) => BlockValue::Audio(media(audio, "audio/", omissions)?),
        wit::BlockValue::Link(link) => BlockValue::Link(Box::new(self::link(link, omissions)?)),
        wit::BlockValue::Embedded(resource) => BlockValue::Embedded(embedded(resource, omissions)?),
    };
    let is_link = matches!(value, BlockValue::Link(_));
    Ok(Block {
        annotations: item
            .annotations
            .filter(|_| !is_link)
            .map(|it| annotations(it, omissions)),
        metadata: metadata(item.metadata, omissions),
        value,
    })
}

fn link(link: types::Entry, omissions: &mut Omissions<'_>) -> Result<Entry, String> {
    if entry_size(&link) > MAX_ITEM_BYTES {
        return Err(too_large("a link", MAX_ITEM_BYTES));
    }
    entry(link, omissions)
}

fn media(media: wit::Media, kind: &str, omissions: &Omissions<'_>) -> Result<Media, String> {
    let wit::Media { mime_type, data } = media;
    if is_media_type(&mime_type) && mime_type.starts_with(kind) {
        Ok(Media { mime_type, data })
    } else {
        Err(format!(
            "{} is not a media type that begins with `{kind}`",
            quoted(&mime_type, omissions)
        ))
    }
}

fn embedded(
    resource: wit::EmbeddedResource,
    omissions: &mut Omissions<'_>,
) -> Result<EmbeddedResource, String> {
    let uri = texts::uri(&resource.uri, omissions)?;
    if let Some(mime_type) = resource
        .mime_type
        .as_ref()
        .filter(|mime_type| !is_media_type(mime_type))
    {
        return Err(format!(
            "{} is not a media type",
            quoted(mime_type, omissions)
        ));
    }
    let metadata = metadata(resource.metadata, omissions);
    Ok(EmbeddedResource {
        uri,
        mime_type: resource.mime_type,
        body: body(resource.body),
        metadata,
    })
}

fn annotations(item: wit::Annotations, omissions: &mut Omissions<'_>) -> Annotations {
    Annotations {
        audience: audience(item.audience),
        priority: item
            .priority
            .and_then(|priority| clamp_priority(priority, omissions)),
        last_modified: last_modified(item.last_modified, omissions),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bindings::larder::provider::provider_types::Role;

    #[test]
    fn an_image_has_the_type_of_an_image() {
        let media = |mime_type: &str| wit::Media {
            mime_type: mime_type.into(),
            data: vec![],
        };
        let omissions = Omissions::default();
        assert!(super::media(media("image/png"), "image/", &omissions).is_ok());
        assert_eq!(
            super::media(media("text/html"), "image/", &omissions).unwrap_err(),
            "\"text/html\" is not a media type that begins with `image/`"
        );
    }

    #[test]
    fn annotations_are_bounded() {
        let mut omissions = Omissions::default();
        let item = wit::Annotations {
            audience: vec![Role::User; 1_000],
            priority: Some(7.0),
            last_modified: Some("today".into()),
        };
        let annotations = annotations(item, &mut omissions);
        assert_eq!(
            (annotations.audience.len(), annotations.priority),
            (1, Some(1.0))
        );
        assert_eq!(annotations.last_modified, None);
        assert_eq!(omissions.summary().len(), 2);
    }
}
