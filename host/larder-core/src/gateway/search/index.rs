//! The results of the full-text indexes. Each team has one.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::timeout;

use super::MAX_RESULTS;
use crate::gateway::Gateway;
use crate::gateway::view::{TeamCatalog, View};
use larder_model::resource::{Details, Entry, RenderCache};
use larder_model::text_index::Match;

/// The matches of each team, in the order of the view. `None` if its index did not answer in time.
pub(super) type TeamMatches = Vec<Option<Vec<Match>>>;

impl Gateway {
    /// Searches in the indexes of all teams at the same time. A search takes at most the time that it may wait for
    /// providers.
    pub(super) async fn search_indexes(
        &self,
        view: &View,
        text: &str,
        time: Duration,
    ) -> TeamMatches {
        let searches = view
            .teams()
            .iter()
            .map(|team| timeout(time, self.search_index(team, text)));
        join_all(searches)
            .await
            .into_iter()
            .map(|found| found.ok().flatten())
            .collect()
    }

    /// Searches in the index of one team, in a turn of the team. If the team waits for too long, its turn ends although
    /// the search may still run.
    async fn search_index(&self, team: &TeamCatalog, text: &str) -> Option<Vec<Match>> {
        let Some(index) = team.state.index.index() else {
            return Some(Vec::new());
        };
        let turn = self.search_turn(team.state.reader.team()).await?;
        let matches = index.search(text, MAX_RESULTS as usize, turn.charge());
        Some(matches.await)
    }
}

/// Returns an entry for a match that no list contains.
pub(super) fn unlisted_entry(found: &Match) -> Arc<Entry> {
    Arc::new(Entry {
        uri: found.uri.clone(),
        name: found.title.clone(),
        title: None,
        description: None,
        mime_type: None,
        size: None,
        version: None,
        details: Details::default(),
        rendered: RenderCache::default(),
    })
}
