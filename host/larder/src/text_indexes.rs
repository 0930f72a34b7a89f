//! The full-text indexes of the teams. Without the feature `search`, there are no indexes.

use std::path::Path;
use std::sync::Arc;

use larder_model::name::TeamName;
use larder_model::state_key::StateKey;
use larder_model::text_index::{Limits, TextIndex};

/// The parts that the indexes of all teams share.
#[derive(Debug, Clone)]
pub(crate) struct TextIndexes {
    #[cfg(feature = "search")]
    thread: larder_search::IndexThread,
    #[cfg(feature = "search")]
    limits: Limits,
}

impl TextIndexes {
    /// Creates the shared parts. Each index has these limits.
    #[cfg(feature = "search")]
    pub(crate) fn new(limits: Limits) -> Self {
        let thread = larder_search::IndexThread::default();
        Self { thread, limits }
    }

    #[cfg(not(feature = "search"))]
    pub(crate) fn new(_limits: Limits) -> Self {
        Self {}
    }

    /// Returns the index of a team, in the state folder. Blocks the calling thread.
    #[cfg(feature = "search")]
    pub(crate) fn of_team(
        &self,
        state: &Path,
        key: &StateKey,
        team: &TeamName,
    ) -> Option<Arc<dyn TextIndex>> {
        let folder = larder_search::folder_of(state, key, team);
        let thread = self.thread.clone();
        let index = larder_search::TantivyIndex::new(folder, self.limits, thread);
        Some(Arc::new(index))
    }

    #[cfg(not(feature = "search"))]
    pub(crate) fn of_team(
        &self,
        _state: &Path,
        _key: &StateKey,
        _team: &TeamName,
    ) -> Option<Arc<dyn TextIndex>> {
        None
    }
}

/// Moves the index of a team to another key. If this fails, the index is built again. Blocks the calling thread.
#[cfg(feature = "search")]
pub(crate) fn move_index(state: &Path, team: &TeamName, from: &StateKey, to: &StateKey) {
    let from = larder_search::folder_of(state, from, team);
    let moved = rename_folder(&from, &larder_search::folder_of(state, to, team));
    if let Err(error) = moved
        && error.kind() != std::io::ErrorKind::NotFound
    {
        tracing::warn!(%error, "the full-text index in {} cannot be moved", from.display());
    }
}

#[cfg(not(feature = "search"))]
pub(crate) fn move_index(_state: &Path, _team: &TeamName, _from: &StateKey, _to: &StateKey) {}

/// Renames a folder. Only this user has access to the folder above it.
#[cfg(feature = "search")]
fn rename_folder(from: &Path, to: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    if let Some(folder) = to.parent() {
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
    }
    std::fs::rename(from, to)
}
