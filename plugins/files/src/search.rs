//! Ranked search in the names and contents of files. The host waits only a short time for all providers, so names are
//! searched first, because this takes the least time. When the time is over, the hits so far are returned.

use std::time::Instant;

use larder_provider::{Hit, Hits, Result, SearchQuery, cancelled, time_left};
use provider_support::mime;
use provider_support::ranking::{Ranking, Text};

use crate::Files;
use crate::folder::Folder;
use crate::names::Names;

/// The part of one file that is searched.
const MAX_TEXT: u64 = 256 << 10;

/// Reads the beginnings of text files, within the limits of the settings and the time.
struct Reader<'a> {
    names: &'a Names<'a>,
    files_left: usize,
    bytes_left: u64,
    end: Instant,
}

/// The files that contain words of a text, the best first.
pub(crate) fn hits(files: &Files, query: &SearchQuery) -> Result<Hits> {
    let mut ranking = Ranking::new(&query.text);
    if ranking.is_empty() {
        return Ok(Hits::default());
    }
    let names_end = Instant::now() + time_left() * 5 / 8;
    let names = Names::read(files, query.uri_prefix.as_deref(), names_end);
    let settings = &files.settings;
    let mut reader = Reader {
        names: &names,
        files_left: settings.search_files,
        bytes_left: settings.search_bytes,
        end: query.end(),
    };
    let is_complete =
        ranking.add_all(&names.items, |number| reader.text(number)) && names.is_complete;
    let excerpts_end = Instant::now() + time_left() / 4;
    let best = ranking
        .best_by(|number| names.uri(number))
        .into_iter()
        .filter_map(|number| {
            let mut hit = Hit::new(names.entry(number)?);
            if Instant::now() < excerpts_end {
                let (folder, path) = names.place(number);
                hit.excerpt = text(folder, &path).and_then(|text| ranking.excerpt(&text));
            }
            Some(hit)
        });
    let hits = query.take(best);
    match is_complete {
        true => Ok(hits.freshness(files.freshness())),
        false => hits.incomplete(
            "not all files were read: it is limited in time, `search_files` and `search_bytes`",
        ),
    }
}

impl Reader<'_> {
    fn text(&mut self, number: usize) -> Text {
        if self.files_left == 0 || cancelled() || Instant::now() >= self.end {
            return Text::Over;
        }
        let (folder, path) = self.names.place(number);
        let Some(size) = text_size(folder, &path) else {
            return Text::None;
        };
        if self.bytes_left < size {
            return Text::Over;
        }
        self.files_left -= 1;
        self.bytes_left -= size;
        head(folder, &path, size).map_or(Text::None, Text::Some)
    }
}

/// Returns the beginning of a file. `None` if the file is not text, or does not exist any more.
fn text(folder: &Folder, path: &[String]) -> Option<String> {
    head(folder, path, text_size(folder, path)?)
}

/// How many bytes of a file are searched. `None` if its name or its metadata show that the file is not text.
fn text_size(folder: &Folder, path: &[String]) -> Option<u64> {
    if mime::from_name(path.last()?).is_some_and(mime::is_binary) {
        return None;
    }
    let stat = folder.stat_visible(path).ok().filter(|stat| stat.is_file)?;
    Some(stat.size.min(MAX_TEXT)).filter(|size| *size > 0)
}

fn head(folder: &Folder, path: &[String], size: u64) -> Option<String> {
    mime::text(path.last()?, &folder.head(path, size).ok()?)
}
