//! A full-text index of what providers return: the stored documents, and the results of a search.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::time::Duration;

use async_trait::async_trait;

use crate::name::ProviderName;
use crate::uri::Uri;

/// Charges CPU time.
pub type ChargeTime = Box<dyn FnOnce(Duration) + Send>;

/// The full-text index of one team. It does not distinguish callers: the code that uses a match decides which caller
/// may see it.
#[async_trait]
pub trait TextIndex: fmt::Debug + Send + Sync {
    /// Finds at most 200 documents that contain words of a text, best first. Any text is a query, and no character in
    /// it is an operator. The last word may be the beginning of a word. If the index cannot be read, no document is
    /// found, and the reason is logged. `charge` receives the CPU time, also if the result is not awaited any more.
    async fn search(&self, text: &str, limit: usize, charge: ChargeTime) -> Vec<Match>;

    /// Waits until a search finds damage. Then the next call of a function other than [`Self::search`] deletes the
    /// index.
    async fn damaged(&self);

    /// Stores all changes together, in this order: after a crash or an error, none of them is stored. If documents
    /// exceed the limits, only these documents are omitted, and an error is returned. If the index is damaged, it is
    /// deleted, and is empty after the error.
    async fn apply(&self, changes: Vec<Change>) -> Result<(), IndexError>;

    /// Returns what is stored of a provider.
    async fn known(
        &self,
        provider: &ProviderName,
    ) -> Result<HashMap<Uri, KnownDocument>, IndexError>;

    /// Opens the index if the folder contains one, so that [`Self::usage`] is known. Returns whether the folder
    /// contains an index.
    async fn open_existing(&self) -> Result<bool, IndexError>;

    /// Releases memory if there was no search for this time.
    async fn release(&self, unused_for: Duration);

    /// Returns how much is stored, by provider. Empty before the first use.
    fn usage(&self) -> BTreeMap<ProviderName, Usage>;

    /// The limits.
    fn limits(&self) -> Limits;

    /// Whether no further document can be stored.
    fn is_full(&self) -> bool {
        let used = Usage::total(self.usage().values());
        let limits = self.limits();
        used.documents >= limits.documents || used.bytes >= limits.bytes
    }
}

/// A text to store. It replaces the stored text of the same provider and URI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// The provider that returned the text.
    pub provider: ProviderName,
    /// The URI that was read.
    pub uri: Uri,
    /// The name of the document for people.
    pub title: String,
    /// The text. `None` if there is no text to search in: then only the state is stored, so that the resource is not
    /// read again before it changes.
    pub text: Option<String>,
    /// Identifies the content that was read. Equal states mean equal contents.
    pub state: String,
}

/// A change of the stored documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Adds or replaces a document.
    Put(Document),
    /// Removes a document.
    Remove(ProviderName, Uri),
    /// Removes all documents of a provider, and deletes their text on the disk.
    RemoveProvider(ProviderName),
}

/// A document that a search found.
#[derive(Debug, Clone, PartialEq)]
pub struct Match {
    /// The provider that returned the text.
    pub provider: ProviderName,
    /// The URI of the text.
    pub uri: Uri,
    /// The name of the match for people.
    pub title: String,
    /// A passage in one line that contains words of the query, or the beginning of the text.
    pub excerpt: String,
    /// The score. A higher score is better. Scores are comparable only within the result of one search.
    pub score: f32,
}

/// The stored data of a document, without its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownDocument {
    /// Identifies the content that was read.
    pub state: String,
    /// Whether a search can find the document.
    pub is_searchable: bool,
}

/// How much is stored of a provider.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Number of documents that a search can find.
    pub documents: u64,
    /// Bytes of the text of these documents.
    pub bytes: u64,
}

impl Usage {
    /// Returns the sum.
    pub fn total<'a>(usage: impl IntoIterator<Item = &'a Self>) -> Self {
        usage.into_iter().fold(Self::default(), |sum, usage| Self {
            documents: sum.documents + usage.documents,
            bytes: sum.bytes + usage.bytes,
        })
    }

    /// Adds a text of this size.
    pub fn add(&mut self, bytes: u64) {
        self.documents += 1;
        self.bytes += bytes;
    }
}

/// Number of documents of an index that a search can find.
pub const MAX_DOCUMENTS: u64 = 250_000;

/// Limits of one index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Number of documents that a search can find.
    pub documents: u64,
    /// Bytes of the text of these documents.
    pub bytes: u64,
    /// Bytes of the text of one document. The rest of a longer text is not stored.
    pub document_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            documents: MAX_DOCUMENTS,
            bytes: 256 << 20,
            document_bytes: 1 << 20,
        }
    }
}

/// Why a document was not stored, or why the index cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IndexError {
    /// The limits are reached: some documents were not stored.
    #[error(
        "the full-text index is full, so some content cannot be found: it has {} documents and {} bytes of text, the \
         limits are {} and {}", .used.documents, .used.bytes, .limits.documents, .limits.bytes
    )]
    Full {
        /// What is stored.
        used: Usage,
        /// The limits.
        limits: Limits,
    },
    /// The folder cannot be read or written.
    #[error("cannot use the folder {folder} of the full-text index: {reason}")]
    Folder {
        /// The folder.
        folder: String,
        /// The reason, and what to do.
        reason: String,
    },
    /// Another process uses the index.
    #[error("the full-text index in {0} is kept up to date by another larder process")]
    InUse(String),
    /// Files of the index were damaged. The index was deleted, and is empty now.
    #[error("the full-text index was damaged ({0}), and is built again")]
    Damaged(String),
}
