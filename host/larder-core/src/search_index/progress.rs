//! What operators see of the index of a team.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use larder_model::name::ProviderName;
use larder_model::text_index::{Change, IndexError, TextIndex, Usage};

/// The progress of the index of one team. Clones share the same progress.
#[derive(Debug, Clone)]
pub struct IndexProgress {
    /// `None` if the server has no full-text index.
    index: Option<Arc<dyn TextIndex>>,
    running: Arc<Mutex<BTreeMap<ProviderName, ProviderRun>>>,
}

/// The progress of one provider.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProviderProgress {
    /// Resources whose text can be found.
    pub documents: u64,
    /// Bytes of the text of these resources.
    pub bytes: u64,
    /// The limit of the bytes of all providers of the team.
    pub max_bytes: u64,
    /// Resources that have to be read, because they are new or may have changed.
    pub pending: u64,
    /// Why the index is not complete.
    pub error: Option<String>,
}

#[derive(Debug, Clone, Default)]
struct ProviderRun {
    pending: u64,
    error: Option<String>,
}

impl IndexProgress {
    /// Creates the progress of an index that nothing updates yet.
    pub fn new(index: Option<Arc<dyn TextIndex>>) -> Self {
        Self {
            index,
            running: Arc::default(),
        }
    }

    /// Returns the index.
    pub fn index(&self) -> Option<&Arc<dyn TextIndex>> {
        self.index.as_ref()
    }

    /// Returns the progress of each provider whose text is indexed.
    pub fn providers(&self) -> BTreeMap<ProviderName, ProviderProgress> {
        let usage = self
            .index
            .as_ref()
            .map(|index| index.usage())
            .unwrap_or_default();
        let limits = self.index.as_ref().map(|index| index.limits());
        let max_bytes = limits.map_or(0, |limits| limits.bytes);
        let of = |(name, running): (&ProviderName, &ProviderRun)| {
            let used = usage.get(name).copied().unwrap_or_default();
            let ProviderRun { pending, error } = running.clone();
            let progress = ProviderProgress {
                documents: used.documents,
                bytes: used.bytes,
                max_bytes,
                pending,
                error,
            };
            (name.clone(), progress)
        };
        self.lock().iter().map(of).collect()
    }

    /// Whether all text of a provider that can be indexed is in the index.
    pub fn is_complete(&self, provider: &ProviderName) -> bool {
        let running = self.lock();
        let run = running.get(provider);
        run.is_some_and(|run| run.pending == 0 && run.error.is_none())
    }

    /// Returns what is stored of a provider, also if the index is not updated. `None` if nothing is stored.
    pub async fn stored(&self, provider: &ProviderName) -> Result<Option<Usage>, IndexError> {
        match self.existing().await? {
            Some(index) => Ok(index.usage().get(provider).copied()),
            None => Ok(None),
        }
    }

    /// Deletes what is stored of a provider, and returns how much was deleted. If the provider is still indexed, it is
    /// read again later.
    pub async fn forget(&self, provider: &ProviderName) -> Result<Usage, IndexError> {
        let Some(index) = self.existing().await? else {
            return Ok(Usage::default());
        };
        let Some(usage) = index.usage().get(provider).copied() else {
            return Ok(Usage::default());
        };
        index
            .apply(vec![Change::RemoveProvider(provider.clone())])
            .await?;
        Ok(usage)
    }

    /// Deletes everything that is stored.
    pub async fn forget_all(&self) -> Result<(), IndexError> {
        let Some(index) = self.existing().await? else {
            return Ok(());
        };
        let all: Vec<_> = index
            .usage()
            .into_keys()
            .map(Change::RemoveProvider)
            .collect();
        if all.is_empty() {
            Ok(())
        } else {
            index.apply(all).await
        }
    }

    /// Opens the index, if there is one and it contains documents.
    async fn existing(&self) -> Result<Option<&Arc<dyn TextIndex>>, IndexError> {
        let Some(index) = &self.index else {
            return Ok(None);
        };
        Ok(index.open_existing().await?.then_some(index))
    }

    pub(crate) fn set_pending(&self, provider: &ProviderName, pending: usize) {
        self.lock().entry(provider.clone()).or_default().pending = pending as u64;
    }

    pub(crate) fn set_error(&self, provider: &ProviderName, error: Option<String>) {
        self.lock().entry(provider.clone()).or_default().error = error;
    }

    pub(super) fn retain(&self, is_indexed: impl Fn(&ProviderName) -> bool) {
        self.lock().retain(|name, _| is_indexed(name));
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ProviderName, ProviderRun>> {
        self.running.lock()
    }
}
