//! Ranked search in the names and contents of the files of `HEAD`. It is limited in files and time, because the host waits
//! only a short time for all providers.

use std::time::Duration;

use larder_provider::{Entry, Hit, Hits, Query, Result, SearchQuery, cancelled, info, time_left};
use provider_support::mime;
use provider_support::ranking::Ranking;

use crate::Git;
use crate::address::Address;
use crate::list::Merge;

/// The part of one file that is searched.
const MAX_TEXT: usize = 256 << 10;
/// The maximum number of files whose contents are searched.
const MAX_FILES: usize = 2_000;
/// The maximum number of names that are searched.
const MAX_NAMES: usize = 50_000;

/// What a search may still read.
struct Budget {
    files: usize,
    /// No content is read when no more time than this is left.
    reserve: Duration,
    /// Whether something was left out.
    is_exhausted: bool,
}

impl Budget {
    fn new() -> Self {
        Self { files: MAX_FILES, reserve: time_left() / 2, is_exhausted: false }
    }

    /// Whether there is time for another name, which takes less than a content.
    fn has_time_for_names(&self) -> bool {
        !cancelled() && time_left() > self.reserve / 4
    }

    /// The beginning of a text file. Without the budget for it, only its name is searched.
    fn text(&mut self, git: &Git, entry: &Entry) -> Option<String> {
        if entry.mime_type.as_deref().is_some_and(mime::is_binary) {
            return None;
        }
        if self.files == 0 || cancelled() || time_left() <= self.reserve {
            self.is_exhausted = true;
            return None;
        }
        self.files -= 1;
        // An object that is too large or not a file is searched by its name only.
        let address = Address::parse(&entry.uri).ok()?;
        let mut bytes = git.repository(&address.repository).ok()?.bytes(entry.version.as_deref()?).ok()?;
        bytes.truncate(MAX_TEXT);
        (!bytes.contains(&0)).then(|| String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// The files of `HEAD` that contain words of a text, the best first; also branches and tags with such names.
pub(crate) fn hits(git: &Git, query: &SearchQuery) -> Result<Hits> {
    let mut ranking = Ranking::new(&query.text);
    if ranking.is_empty() {
        return Ok(Hits::default());
    }
    let (mut budget, mut found) = (Budget::new(), Vec::new());
    for (number, entry) in Merge::new(&git.repositories, &Query::new(0), true)?.enumerate() {
        if number >= MAX_NAMES || !budget.has_time_for_names() {
            budget.is_exhausted = true;
            break;
        }
        if !query.wants(&entry) {
            continue;
        }
        let text = budget.text(git, &entry).unwrap_or_default();
        if ranking.add(found.len(), name(&entry), &text) {
            found.push(entry);
        }
    }
    if budget.is_exhausted {
        info!("the search has left out contents: it is limited in files and time; see `index = true`");
    }
    let mut excerpts = Budget::new();
    let best = ranking.best().into_iter().filter_map(|number| {
        let entry = found.get(number)?.clone();
        let text = excerpts.text(git, &entry);
        Some(Hit { excerpt: text.and_then(|text| ranking.excerpt(&text)), ..Hit::new(entry) })
    });
    Ok(query.take(best))
}

/// The path of a file, or the name of a branch or tag.
fn name(entry: &Entry) -> &str {
    entry.title.as_deref().unwrap_or(&entry.name)
}
