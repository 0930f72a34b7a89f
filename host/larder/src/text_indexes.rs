//! The full-text indexes of the teams. There are none without the feature `search`.

use std::path::Path;
use std::sync::Arc;

use larder_model::name::TeamName;
use larder_model::state_key::StateKey;
use larder_model::text_index::TextIndex;

/// What the indexes of all teams share.
#[derive(Debug, Clone, Default)]
pub(crate) struct TextIndexes {
    #[cfg(feature = "search")]
    thread: larder_search::IndexThread,
}

impl TextIndexes {
    /// Returns the index of a team, in the state folder. Blocks the calling thread.
    #[cfg(feature = "search")]
    pub(crate) fn of_team(
        &self,
        state: &Path,
        key: &StateKey,
        team: &TeamName,
    ) -> Option<Arc<dyn TextIndex>> {
        let folder = larder_search::folder_of(state, key, team);
        let limits = larder_model::text_index::Limits::default();
        Some(Arc::new(larder_search::TantivyIndex::new(folder, limits, self.thread.clone())))
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
