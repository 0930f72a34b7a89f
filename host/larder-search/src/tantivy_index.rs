//! The index of one team.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::damage::Failure;
use crate::folder;
use crate::stored_index::StoredIndex;
use crate::writer::{OpenOutcome, Writer};
use larder_model::name::ProviderName;
use larder_model::text_index::{
    Change, ChargeTime, IndexError, KnownDocument, Limits, Match, TextIndex, Usage,
};
use larder_model::uri::Uri;
use larder_runtime::blocking_threads::BlockingThreads;
use larder_runtime::metrics::process::thread_cpu_time;

/// Maximum number of concurrent searches of one index. A disk that does not respond blocks only these searches.
const MAX_SEARCHES: usize = 4;

/// The thread that changes indexes. All teams share it, so that at most one of them uses memory for it.
#[derive(Debug, Clone)]
pub struct IndexThread(Arc<BlockingThreads>);

impl Default for IndexThread {
    fn default() -> Self {
        Self(Arc::new(BlockingThreads::new(1)))
    }
}

/// The index of one team. Clones share the same index. No file is created before the first change.
#[derive(Debug, Clone)]
pub struct TantivyIndex(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    folder: PathBuf,
    limits: Limits,
    thread: IndexThread,
    search_threads: BlockingThreads,
    stored: StoredIndex,
    writer: Mutex<Writer>,
    usage: Mutex<BTreeMap<ProviderName, Usage>>,
    /// Whether a search found damage that is not repaired yet.
    is_damaged: AtomicBool,
    damage: Notify,
}

impl TantivyIndex {
    /// Creates an index in this folder. This process must not have another index with the same folder.
    pub fn new(folder: PathBuf, limits: Limits, thread: IndexThread) -> Self {
        Self(Arc::new(Inner {
            search_threads: BlockingThreads::new(MAX_SEARCHES),
            stored: StoredIndex::new(folder.clone()),
            writer: Mutex::new(Writer::new(folder.clone(), limits)),
            usage: Mutex::default(),
            is_damaged: AtomicBool::new(false),
            damage: Notify::new(),
            folder,
            limits,
            thread,
        }))
    }

    /// Runs work on the thread for changes, with the right to change the index.
    async fn change<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Inner, &mut Writer) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, IndexError> {
        let inner = self.0.clone();
        let done = self.0.thread.0.run(move || inner.open_and(work)).await;
        match done.map_err(panicked).flatten() {
            Ok(done) => Ok(done),
            Err(failure) => Err(self.recover(failure).await),
        }
    }

    /// Deletes a damaged index. Returns the error to report.
    async fn recover(&self, failure: Failure) -> IndexError {
        let Failure::Damaged(reason) = failure else {
            return self.0.error(failure);
        };
        tracing::warn!(folder = %self.0.folder.display(), reason, "the full-text index is damaged and is built again");
        let inner = self.0.clone();
        let deleted = self.0.thread.0.run(move || inner.recreate()).await;
        match deleted.map_err(panicked).flatten() {
            Ok(()) => IndexError::Damaged(reason),
            Err(failure) => self.0.error(failure),
        }
    }
}

#[async_trait]
impl TextIndex for TantivyIndex {
    async fn search(&self, text: &str, limit: usize, charge: ChargeTime) -> Vec<Match> {
        let inner = self.0.clone();
        let text = text.to_owned();
        let search = move || {
            let start = thread_cpu_time();
            let found = inner.stored.search(&text, limit);
            charge(thread_cpu_time().saturating_sub(start));
            found
        };
        let found = self.0.search_threads.compute(search).await;
        match found.map_err(panicked).flatten() {
            Ok(matches) => matches,
            Err(failure) => {
                tracing::warn!(folder = %self.0.folder.display(), %failure, "cannot search in the full-text index");
                if matches!(failure, Failure::Damaged(_)) {
                    self.0.is_damaged.store(true, Ordering::Release);
                    self.0.damage.notify_one();
                }
                Vec::new()
            }
        }
    }

    async fn damaged(&self) {
        self.0.damage.notified().await;
    }

    async fn apply(&self, changes: Vec<Change>) -> Result<(), IndexError> {
        let all_fit = self
            .change(move |inner, writer| {
                let all_fit = writer.apply(&inner.stored, &inner.usage(), changes)?;
                inner.update_usage()?;
                Ok(all_fit)
            })
            .await?;
        if all_fit {
            Ok(())
        } else {
            Err(IndexError::Full {
                used: Usage::total(self.usage().values()),
                limits: self.0.limits,
            })
        }
    }

    async fn known(
        &self,
        provider: &ProviderName,
    ) -> Result<HashMap<Uri, KnownDocument>, IndexError> {
        let provider = provider.clone();
        self.change(move |inner, _| inner.stored.known(&provider))
            .await
    }

    async fn open_existing(&self) -> Result<bool, IndexError> {
        let inner = self.0.clone();
        let found = self
            .0
            .thread
            .0
            .run(move || folder::exists(&inner.folder))
            .await;
        let exists = found.unwrap_or_default();
        if exists {
            self.change(|inner, _| inner.update_usage()).await?;
        }
        Ok(exists)
    }

    fn usage(&self) -> BTreeMap<ProviderName, Usage> {
        self.0.usage()
    }

    fn limits(&self) -> Limits {
        self.0.limits
    }

    async fn release(&self, unused_for: Duration) {
        let inner = self.0.clone();
        // This fails only if the runtime is stopping.
        _ = self
            .0
            .search_threads
            .run(move || inner.stored.release(unused_for))
            .await;
    }
}

impl Inner {
    fn open_and<T>(
        &self,
        work: impl FnOnce(&Self, &mut Writer) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let mut writer = self.writer.lock();
        if self.is_damaged.load(Ordering::Acquire) {
            return Err(Failure::Damaged("a search in it failed".into()));
        }
        match writer.open()? {
            OpenOutcome::Open => {}
            OpenOutcome::Same => self.update_usage()?,
            OpenOutcome::Outdated => {
                let folder = self.folder.display();
                tracing::info!(%folder, "the full-text index is of another version and is built again");
            }
        }
        work(self, &mut writer)
    }

    fn recreate(&self) -> Result<(), Failure> {
        self.writer.lock().recreate()?;
        self.usage.lock().clear();
        self.is_damaged.store(false, Ordering::Release);
        Ok(())
    }

    fn error(&self, failure: Failure) -> IndexError {
        let folder = self.folder.display().to_string();
        match failure {
            Failure::InUse => IndexError::InUse(folder),
            Failure::Unusable(reason) | Failure::Damaged(reason) => {
                IndexError::Folder { folder, reason }
            }
        }
    }

    fn usage(&self) -> BTreeMap<ProviderName, Usage> {
        self.usage.lock().clone()
    }

    fn update_usage(&self) -> Result<(), Failure> {
        *self.usage.lock() = self.stored.usage()?;
        Ok(())
    }
}

/// Damaged files can make tantivy panic.
fn panicked(error: std::io::Error) -> Failure {
    Failure::Damaged(format!("reading it failed: {error}"))
}

#[cfg(test)]
mod tests;
