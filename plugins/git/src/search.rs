//! Ranked search in the names and contents of the files of `HEAD`, and in the messages of the newest commits. The host
//! waits only a short time for all providers, so names are searched first, because this takes the least time. When the
//! time is over, the hits so far are returned.

use std::time::Instant;

use larder_provider::{Details, Entry, Hit, Hits, Result, SearchQuery, cancelled, time_left, warn};
use provider_support::ranking::{Ranking, Text};

use crate::Git;
use crate::address;
use crate::log::{Commit, History};
use crate::names::Names;
use crate::repository::Repository;

/// The part of one file that is searched.
const MAX_TEXT: usize = 256 << 10;
/// The maximum number of commits of a repository whose messages are searched.
const MAX_COMMITS: usize = 1_000;

/// The files of `HEAD` that contain words of a text, best first, with branches and tags that have such names. Then the
/// commits.
pub(crate) fn hits(git: &Git, query: &SearchQuery) -> Result<Hits> {
    let mut ranking = Ranking::new(&query.text);
    if ranking.is_empty() {
        return Ok(Hits::default());
    }
    let names_end = Instant::now() + time_left() * 5 / 8;
    let end = query.end();
    let prefix = query.uri_prefix.as_deref().unwrap_or_default();
    let names = Names::read(&git.repositories, prefix, names_end);
    let is_over = || cancelled() || Instant::now() >= end;
    let all_texts = ranking.add_all(&names.items, |number| match is_over() {
        true => Text::Over,
        false => names.text(number, MAX_TEXT).map_or(Text::None, Text::Some),
    });
    let (commits, all_commits) = commits(git, query, is_over);
    let excerpts_end = Instant::now() + time_left() / 4;
    let best = ranking
        .best_by(|number| names.uri(number))
        .into_iter()
        .map(|number| {
            let mut hit = Hit::new(names.entry(number));
            if Instant::now() < excerpts_end {
                hit.excerpt = names
                    .text(number, MAX_TEXT)
                    .and_then(|text| ranking.excerpt(&text));
            }
            hit
        });
    let hits = query.take(best.chain(commits));
    match names.is_complete && all_texts && all_commits {
        true => Ok(hits.freshness(git.freshness(false))),
        false => hits.incomplete("the time was over before all files and commits were read"),
    }
}

/// The newest commits whose messages contain words of a text, the best first, and whether there was time for all. The
/// repositories take turns.
fn commits(git: &Git, query: &SearchQuery, is_over: impl Fn() -> bool) -> (Vec<Hit>, bool) {
    let mut histories: Vec<_> = git.repositories.iter().filter_map(history).collect();
    let (mut ranking, mut found, mut is_complete) = (Ranking::new(&query.text), Vec::new(), true);
    for _ in 0..MAX_COMMITS {
        histories.retain_mut(|(repository, history)| {
            if is_over() {
                is_complete = false;
                return false;
            }
            let next = history
                .next()
                .inspect_err(|error| warn!("a commit is not searched: {error}"));
            let Ok(Some(commit)) = next else { return false };
            if ranking.add(found.len(), "", &commit.message) {
                found.push((*repository, commit));
            }
            true
        });
    }
    let hit = |number: usize| {
        let (repository, commit) = &found[number];
        let excerpt = ranking.excerpt(&commit.message);
        Hit {
            excerpt,
            ..Hit::new(entry(repository, commit))
        }
    };
    (ranking.best().into_iter().map(hit).collect(), is_complete)
}

/// The history of `HEAD`. A new repository has none.
fn history(repository: &Repository) -> Option<(&Repository, History<'_>)> {
    let head = repository.resolve("HEAD").ok()?;
    Some((repository, History::new(&repository.objects, &head).ok()?))
}

fn entry(repository: &Repository, commit: &Commit) -> Entry {
    let hex = commit.hex();
    let entry = Entry::new(address::commit(&repository.name, &hex), commit.subject());
    entry
        .mime("text/plain")
        .version(hex)
        .details(Details::kind("commit"))
}
