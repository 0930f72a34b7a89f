//! Ranks the matches of full-text indexes and the entries of lists, which takes long where there are many. So it is done
//! in turns of the teams and on threads of lower priority: a team with long lists delays no other team.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::timeout_at;

use super::MAX_RESULTS;
use super::calls::Answers;
use super::candidate::Candidate;
use super::index::{TeamMatches, unlisted_entry};
use super::merge;
use super::weight::{Weight, Words};
use crate::catalog::Offer;
use crate::gateway::Gateway;
use crate::gateway::filter::CompiledFilter;
use crate::gateway::view::{TeamCatalog, View};
use larder_model::resource::Entry;
use larder_model::text_index::Match;
use larder_runtime::low_priority_threads;

/// Bytes of text that are compared before other work of the thread is done: about 5 ms.
const STEP_BYTES: usize = 1 << 20;
/// Bytes of text that are compared between two pauses of the thread.
const PAUSE_BYTES: usize = 64 << 10;

/// What was found so far.
pub(super) struct Ranking {
    view: Arc<View>,
    filter: CompiledFilter,
    answers: Answers,
    words: Words,
    /// The results of each full-text index, best first.
    of_indexes: Vec<Vec<Candidate>>,
    of_lists: BestEntries,
    next: Position,
}

/// The results of all sources.
pub(super) struct MergedRanking {
    /// What was found, best first.
    pub(super) candidates: Vec<Candidate>,
    /// The sources whose results may be missing.
    pub(super) incomplete: Vec<String>,
}

/// The entry that is compared next.
#[derive(Default)]
struct Position {
    team: usize,
    offer: usize,
    entry: usize,
}

/// The best entries so far.
#[derive(Default)]
struct BestEntries(Vec<(Weight, Candidate)>);

impl Gateway {
    /// Ranks everything that a search found. Time is bounded: the providers that follow when it is over are noted as
    /// missing.
    pub(super) async fn rank(
        &self,
        mut ranking: Ranking,
        matches: TeamMatches,
        time: Duration,
    ) -> Ranking {
        let until = tokio::time::Instant::now() + time;
        let view = ranking.view.clone();
        for (at, (team, matches)) in view.teams().iter().zip(matches).enumerate() {
            let name = team.state.reader.team();
            let matches = matches.unwrap_or_else(|| {
                ranking.answers.omit_index(name);
                Vec::new()
            });
            ranking.answers.omit_incomplete_indexes(team);
            ranking.begin_team(at);
            if matches.is_empty() && !ranking.has_entries_left() {
                continue;
            }
            if let Ok(Some(turn)) = timeout_at(until, self.search_turn(name)).await {
                ranking = turn.run(move || ranking.with_matches(matches)).await;
                while ranking.has_entries_left() && Instant::now() < until.into_std() {
                    ranking = turn.run(move || ranking.with_next_entries()).await;
                }
            } else if !matches.is_empty() {
                ranking.answers.omit_index(name);
            }
            ranking.omit_entries_left();
        }
        ranking
    }
}

impl Ranking {
    pub(super) fn new(
        view: Arc<View>,
        text: &str,
        filter: CompiledFilter,
        answers: Answers,
    ) -> Self {
        Self {
            view,
            filter,
            answers,
            words: Words::new(text),
            of_indexes: Vec::new(),
            of_lists: BestEntries::default(),
            next: Position::default(),
        }
    }

    /// Merges the rankings of all sources.
    pub(super) fn merge(self) -> MergedRanking {
        let mut answers = self.answers;
        let rankings = std::mem::take(&mut answers.hits)
            .into_iter()
            .chain(self.of_indexes)
            .chain([self.of_lists.finish()]);
        let mut candidates = merge::by_reciprocal_rank(rankings);
        for candidate in &mut candidates {
            if let Some(of_skill) = self.view.skill_entry(&candidate.entry.uri) {
                candidate.entry = of_skill.clone();
            }
        }
        MergedRanking {
            candidates,
            incomplete: answers.into_incomplete(),
        }
    }

    fn begin_team(&mut self, team: usize) {
        self.next = Position {
            team,
            ..Position::default()
        };
        self.skip_offers_without_entries();
    }

    /// The provider of the next entry; none at the end of the team.
    fn next_offer(&self) -> Option<&Arc<Offer>> {
        let team = &self.view.teams()[self.next.team];
        team.offers().get(self.next.offer)
    }

    fn has_entries_left(&self) -> bool {
        self.next_offer().is_some()
    }

    fn skip_offers_without_entries(&mut self) {
        while let Some(offer) = self.next_offer()
            && self.next.entry >= self.answers.entries_to_rank(offer).len()
        {
            self.next.offer += 1;
            self.next.entry = 0;
        }
    }

    /// Notes the providers of this team whose entries were not compared.
    fn omit_entries_left(&mut self) {
        while let Some(offer) = self.next_offer().cloned() {
            self.answers.omit(&offer);
            self.next.offer += 1;
            self.next.entry = 0;
            self.skip_offers_without_entries();
        }
    }

    /// Adds the matches of the full-text index of this team that the caller may read.
    fn with_matches(mut self, matches: Vec<Match>) -> Self {
        let team = &self.view.teams()[self.next.team];
        let candidates = matches
            .into_iter()
            .take(MAX_RESULTS as usize)
            .filter_map(|found| self.match_candidate(team, found))
            .collect();
        self.of_indexes.push(candidates);
        self
    }

    fn match_candidate(&self, team: &TeamCatalog, found: Match) -> Option<Candidate> {
        low_priority_threads::pause();
        let offers = team.offers();
        let at = offers
            .binary_search_by(|offer| offer.name().cmp(&found.provider))
            .ok()?;
        let offer = &offers[at];
        let entry = self.readable_entry(offer, &found)?;
        let is_shown = self.filter.matches(&entry) && self.view.owns(offer, &found.uri, &mut 0);
        is_shown.then(|| Candidate {
            entry,
            excerpt: Some(found.excerpt),
            offer: offer.clone(),
        })
    }

    /// Returns the entry of a match. If the list of its provider depends on the caller, the list of this caller must
    /// contain it.
    fn readable_entry(&self, offer: &Offer, found: &Match) -> Option<Arc<Entry>> {
        match self.answers.listed_entry(offer, &found.uri) {
            Some(entry) => Some(entry.clone()),
            None if offer.is_personal() => None,
            None => Some(unlisted_entry(found)),
        }
    }

    /// Compares some more entries of this team.
    fn with_next_entries(mut self) -> Self {
        let mut compared = 0;
        let mut paused = 0;
        while compared < STEP_BYTES && self.has_entries_left() {
            compared += self.compare_next_entry();
            self.next.entry += 1;
            self.skip_offers_without_entries();
            if compared - paused > PAUSE_BYTES {
                paused = compared;
                low_priority_threads::pause();
            }
        }
        self
    }

    /// Returns how many bytes were compared.
    fn compare_next_entry(&mut self) -> usize {
        let team = &self.view.teams()[self.next.team];
        let offer = &team.offers()[self.next.offer];
        let listed = &self.answers.entries_to_rank(offer)[self.next.entry];
        let entry = self.view.skill_entry(&listed.uri).unwrap_or(listed);
        let mut compared = entry.wire_size();
        if self.filter.matches(entry)
            && let Some(weight) = self.words.weight(entry)
            && self.view.owns(offer, &entry.uri, &mut compared)
        {
            self.of_lists.add(weight, entry, offer);
        }
        compared
    }
}

impl BestEntries {
    fn add(&mut self, weight: Weight, entry: &Arc<Entry>, offer: &Arc<Offer>) {
        let candidate = Candidate {
            entry: entry.clone(),
            excerpt: None,
            offer: offer.clone(),
        };
        self.0.push((weight, candidate));
        // Entries that cannot be among the results are removed from time to time.
        if self.0.len() >= 16 * MAX_RESULTS as usize {
            self.cut();
        }
    }

    fn cut(&mut self) {
        // The sort is stable.
        self.0.sort_by(|(a, _), (b, _)| b.cmp(a));
        self.0.truncate(MAX_RESULTS as usize);
    }

    fn finish(mut self) -> Vec<Candidate> {
        self.cut();
        self.0.into_iter().map(|(_, candidate)| candidate).collect()
    }
}
