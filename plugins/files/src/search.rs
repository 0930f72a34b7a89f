//! Ranked search in the names and contents of files. It is limited in files, bytes and time, because the host waits only a
//! short time for all providers.

use std::time::Duration;

use larder_provider::{Entry, Hit, Hits, Query, Result, SearchQuery, cancelled, info, time_left};
use provider_support::mime;
use provider_support::ranking::Ranking;

use crate::Files;
use crate::settings::Settings;
use crate::walk::Walk;

/// The part of one file that is searched.
const MAX_TEXT: u64 = 256 << 10;
/// The maximum number of files whose names are searched.
const MAX_NAMES: usize = 50_000;
/// The number of names between two looks at the time.
const NAMES_PER_LOOK: usize = 64;

/// What a search may still read.
struct Budget {
    files: usize,
    bytes: u64,
    /// The search ends when no more time than this is left.
    reserve: Duration,
    /// Whether something was left out.
    is_exhausted: bool,
}

impl Budget {
    fn new(files: &Files) -> Self {
        let Settings { search_files, search_bytes, .. } = files.settings;
        Self { files: search_files, bytes: search_bytes, reserve: time_left() / 2, is_exhausted: false }
    }

    /// Reads the beginning of a text file. Without the budget for it, only its name is searched.
    fn text(&mut self, files: &Files, entry: &Entry) -> Option<String> {
        let is_text = entry.mime_type.as_deref().is_some_and(|mime| !mime::is_binary(mime));
        let size = entry.size?.min(MAX_TEXT);
        if !is_text || size == 0 {
            return None;
        }
        if self.files == 0 || self.bytes < size || time_left() <= self.reserve {
            self.is_exhausted = true;
            return None;
        }
        (self.files, self.bytes) = (self.files - 1, self.bytes - size);
        match files.head(&entry.uri, size) {
            Ok(bytes) if bytes.contains(&0) => None,
            Ok(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
            // The file may be gone since it was listed.
            Err(_) => None,
        }
    }
}

/// The files that contain words of a text, the best first.
pub(crate) fn hits(files: &Files, query: &SearchQuery) -> Result<Hits> {
    let mut ranking = Ranking::new(&query.text);
    if ranking.is_empty() {
        return Ok(Hits::default());
    }
    let (mut budget, mut found) = (Budget::new(files), Vec::new());
    let range = Query { uri_prefix: query.uri_prefix.clone(), ..Query::new(0) };
    for (number, entry) in Walk::new(&files.folders, &files.settings, &range).enumerate() {
        let is_late = number % NAMES_PER_LOOK == 0 && (cancelled() || time_left() <= budget.reserve);
        if number >= MAX_NAMES || is_late {
            budget.is_exhausted = true;
            break;
        }
        if !query.wants(&entry) {
            continue;
        }
        let text = budget.text(files, &entry).unwrap_or_default();
        if ranking.add(found.len(), path(&entry), &text) {
            found.push(entry);
        }
    }
    if budget.is_exhausted {
        info!(
            "the search has left out contents: see `search_files` and `search_bytes`, or set `index = true`"
        );
    }
    let mut excerpts = Budget::new(files);
    let best = ranking.best().into_iter().filter_map(|number| {
        let entry = found.get(number)?.clone();
        let text = excerpts.text(files, &entry);
        Some(Hit { excerpt: text.and_then(|text| ranking.excerpt(&text)), ..Hit::new(entry) })
    });
    Ok(query.take(best))
}

/// The path below the granted folder.
fn path(entry: &Entry) -> &str {
    entry.title.as_deref().unwrap_or(&entry.name)
}
