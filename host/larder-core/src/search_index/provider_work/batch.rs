//! Documents that are stored together: each change of the index is written to the disk as a whole.

use std::time::{Duration, Instant};

use crate::search_index::content::Content;
use crate::search_index::plan::PlannedRead;
use larder_model::name::ProviderName;
use larder_model::text_index::{Change, Document, IndexError, TextIndex};

/// Maximum number of documents and of bytes of text that wait, and the maximum time that they wait.
const MAX_DOCUMENTS: usize = 100;
const MAX_BYTES: usize = 2 << 20;
const MAX_TIME: Duration = Duration::from_secs(2);

/// Documents that were read and are not stored yet.
#[derive(Debug, Default)]
pub(super) struct Batch {
    changes: Vec<Change>,
    bytes: usize,
    since: Option<Instant>,
}

impl Batch {
    /// Adds a document that was read.
    pub(super) fn add(
        &mut self,
        provider: &ProviderName,
        read: &PlannedRead,
        content: Content,
        version: Option<String>,
    ) {
        self.since.get_or_insert_with(Instant::now);
        let needs_caller = content == Content::NeedsCaller;
        let text = match content {
            Content::Unchanged => return,
            Content::Text(text) => Some(text),
            Content::Binary | Content::NeedsCaller => None,
        };
        self.bytes += text.as_ref().map_or(0, String::len);
        self.changes.push(Change::Put(Document {
            provider: provider.clone(),
            uri: read.uri.clone(),
            title: read.title.clone(),
            text,
            state: read.stored_state(version.as_deref(), needs_caller),
        }));
    }

    /// Whether the batch should be stored now.
    pub(super) fn is_complete(&self) -> bool {
        let is_late = self.since.is_some_and(|since| since.elapsed() > MAX_TIME);
        self.changes.len() >= MAX_DOCUMENTS || self.bytes >= MAX_BYTES || is_late
    }

    /// Stores the batch.
    pub(super) async fn store(self, index: &dyn TextIndex) -> Result<(), IndexError> {
        if self.changes.is_empty() {
            Ok(())
        } else {
            index.apply(self.changes).await
        }
    }
}
