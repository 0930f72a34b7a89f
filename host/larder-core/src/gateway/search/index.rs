//! The results of the full-text indexes. Each team has one.

use std::sync::Arc;

use futures_util::future::join_all;
use tokio::time::timeout;

use super::MAX_RESULTS;
use super::calls::{Answers, SEARCH_TIME};
use super::candidate::{Candidate, is_own};
use crate::catalog::Offer;
use crate::gateway::Gateway;
use crate::gateway::filter::CompiledFilter;
use crate::gateway::view::{TeamCatalog, View};
use larder_model::resource::{Details, Entry, Rendered};
use larder_model::text_index::{ChargeTime, Match};
use larder_runtime::turns::EQUAL_WEIGHT;

/// The matches of each team, in the order of the view. `None` if its index did not answer in time.
pub(super) type TeamMatches = Vec<Option<Vec<Match>>>;

impl Gateway {
    /// Searches in the indexes of all teams at the same time, as long as a search waits for providers.
    pub(super) async fn search_indexes(&self, view: &View, text: &str) -> TeamMatches {
        let searches = view
            .teams()
            .iter()
            .map(|team| timeout(SEARCH_TIME, self.search_index(team, text)));
        join_all(searches)
            .await
            .into_iter()
            .map(|found| found.ok().flatten())
            .collect()
    }

    /// Searches in the index of one team, in a turn of the team. The time is charged as CPU time of the team: if it has
    /// none left, the search waits. If it waits for too long, the turn ends although the search may still run.
    async fn search_index(&self, team: &TeamCatalog, text: &str) -> Option<Vec<Match>> {
        let Some(index) = team.state.text_index.get() else {
            return Some(Vec::new());
        };
        let name = team.state.reader.team();
        let quota_usage = self.state.load().quotas.get(name).cloned();
        while let Some(wait) = quota_usage
            .as_ref()
            .and_then(|quota_usage| quota_usage.cpu_wait())
        {
            tokio::time::sleep(wait).await;
        }
        let weight = quota_usage
            .as_ref()
            .map_or(EQUAL_WEIGHT, |quota_usage| quota_usage.quota().cpu);
        let _turn = self.search_turns.take(name, weight).await?;
        let charge: ChargeTime = Box::new(move |time| {
            if let Some(quota_usage) = quota_usage {
                quota_usage.charge_cpu(time);
            }
        });
        Some(index.search(text, MAX_RESULTS as usize, charge).await)
    }
}

/// Returns one ranking for each index, with what the caller may read.
pub(super) fn rankings<'a>(
    matches: TeamMatches,
    view: &'a View,
    filter: &CompiledFilter,
    answers: &mut Answers<'a>,
) -> Vec<Vec<Candidate<'a>>> {
    let mut rankings = Vec::new();
    for (team, found) in view.teams().iter().zip(matches) {
        match found {
            Some(found) => rankings.push(ranking(found, view, team, filter, answers)),
            None => answers.omit_index(format!("full-text index of {}", team.state.reader.team())),
        }
    }
    rankings
}

fn ranking<'a>(
    matches: Vec<Match>,
    view: &'a View,
    team: &'a TeamCatalog,
    filter: &CompiledFilter,
    answers: &Answers<'a>,
) -> Vec<Candidate<'a>> {
    let offers = team.offers();
    let candidates = matches
        .into_iter()
        .take(MAX_RESULTS as usize)
        .filter_map(|found| {
            let at = offers
                .binary_search_by(|offer| offer.name().cmp(&found.provider))
                .ok()?;
            let offer = &offers[at];
            let entry = readable_entry(offer, &found, answers)?;
            let is_shown = filter.matches(&entry) && is_own(view, team, offer, &found.uri, &mut 0);
            is_shown.then(|| Candidate {
                entry,
                excerpt: Some(found.excerpt),
                offer,
            })
        });
    candidates.collect()
}

/// Returns the entry of a match. If the list of its provider depends on the caller, the list of this caller must
/// contain it.
fn readable_entry(offer: &Offer, found: &Match, answers: &Answers<'_>) -> Option<Arc<Entry>> {
    let listed = answers
        .list_of(offer)
        .iter()
        .find(|entry| entry.uri == found.uri);
    match listed {
        Some(entry) => Some(entry.clone()),
        None if offer.is_personal() => None,
        None => Some(Arc::new(unlisted_entry(found))),
    }
}

fn unlisted_entry(found: &Match) -> Entry {
    Entry {
        uri: found.uri.clone(),
        name: found.title.clone(),
        title: None,
        description: None,
        mime_type: None,
        size: None,
        version: None,
        details: Details::default(),
        rendered: Rendered::default(),
    }
}
