//! Every file below the granted folders, one by one in the order of their URIs. Folders in which
//! nothing is wanted are not opened, so the next page costs no second walk over the ones before.

use std::iter::Peekable;
use std::time::{Duration, UNIX_EPOCH};

use larder_provider::{Details, Entry, cancelled};

use crate::disk::Stat;
use crate::folder::{Child, Folder};
use crate::mime;
use crate::settings::Settings;

/// The part of the list that is wanted.
#[derive(Debug, Clone, Default)]
pub(crate) struct Range {
    /// Only what comes after this URI.
    pub(crate) after: Option<String>,
    /// Only what begins like this.
    pub(crate) within: Option<String>,
}

/// The folders' walks, merged.
pub(crate) struct Walk<'a> {
    walks: Vec<Peekable<FolderWalk<'a>>>,
}

struct FolderWalk<'a> {
    folder: &'a Folder,
    others: &'a [Folder],
    settings: &'a Settings,
    range: Range,
    levels: Vec<Level>,
}

/// A folder on the way down, and what of it is still to come, last first.
struct Level {
    uri: String,
    names: Vec<String>,
    rest: Vec<Child>,
}

impl<'a> Walk<'a> {
    pub(crate) fn new(folders: &'a [Folder], settings: &'a Settings, range: Range) -> Self {
        let walk = |folder: &'a Folder| FolderWalk::new(folder, folders, settings, range.clone()).peekable();
        Self { walks: folders.iter().map(walk).collect() }
    }
}

impl Iterator for Walk<'_> {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        let heads = self.walks.iter_mut().enumerate();
        let uris = heads.filter_map(|(at, walk)| Some((walk.peek()?.uri.clone(), at)));
        let (_, first) = uris.min()?;
        self.walks[first].next()
    }
}

impl<'a> FolderWalk<'a> {
    fn new(folder: &'a Folder, others: &'a [Folder], settings: &'a Settings, range: Range) -> Self {
        let mut walk = Self { folder, others, settings, range, levels: Vec::new() };
        if walk.range.reaches(&folder.prefix) {
            walk.enter(folder.prefix.clone(), Vec::new());
        }
        walk
    }

    /// Goes down into a folder. One that cannot be opened is passed over: the list of the others
    /// is worth more than an error.
    fn enter(&mut self, uri: String, names: Vec<String>) {
        let Ok(mut rest) = self.folder.children(&names, self.settings) else { return };
        rest.retain(|child| {
            let uri = format!("{uri}{}", child.segment);
            if child.is_folder { self.range.reaches(&uri) } else { self.range.holds(&uri) }
        });
        rest.reverse();
        self.levels.push(Level { uri, names, rest });
    }

    /// What is granted by itself is listed as itself.
    fn is_granted_itself(&self, uri: &str) -> bool {
        self.others.iter().any(|other| other.prefix == uri)
    }
}

impl Iterator for FolderWalk<'_> {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        loop {
            let depth = self.levels.len();
            let level = self.levels.last_mut()?;
            let Some(child) = level.rest.pop() else {
                self.levels.pop();
                continue;
            };
            let uri = format!("{}{}", level.uri, child.segment);
            let names: Vec<String> = level.names.iter().chain([&child.name]).cloned().collect();
            if !child.is_folder {
                match self.folder.find(&names, self.settings) {
                    Ok(found) if found.is_file => return Some(entry(uri, &names, &found)),
                    _ => continue,
                }
            }
            if cancelled() {
                return None;
            }
            if depth <= self.settings.depth && !self.is_granted_itself(&uri) {
                self.enter(uri, names);
            }
        }
    }
}

impl Range {
    /// Whether anything below this folder can be wanted.
    fn reaches(&self, folder: &str) -> bool {
        let after = self.after.as_deref().is_none_or(|after| folder > after || after.starts_with(folder));
        let within = |within: &str| folder.starts_with(within) || within.starts_with(folder);
        after && self.within.as_deref().is_none_or(within)
    }

    fn holds(&self, uri: &str) -> bool {
        self.after.as_deref().is_none_or(|after| uri > after)
            && self.within.as_deref().is_none_or(|within| uri.starts_with(within))
    }
}

fn entry(uri: String, path: &[String], found: &Stat) -> Entry {
    let name = path.last().map(String::as_str).unwrap_or_default();
    let mut details = Details::kind("file");
    details.last_modified = rfc3339(found.modified);
    let mut entry = Entry::new(uri, name).size(found.size).version(found.version()).details(details);
    entry.title = (path.len() > 1).then(|| path.join("/"));
    entry.mime_type = mime::of(name).map(str::to_owned);
    entry
}

/// None for a time that RFC 3339 has no year for; anyone may give a file such a one.
fn rfc3339(since_1970: Duration) -> Option<String> {
    const YEAR_10000: Duration = Duration::from_secs(253_402_300_800);
    let known = !since_1970.is_zero() && since_1970 < YEAR_10000;
    known.then(|| humantime::format_rfc3339_seconds(UNIX_EPOCH + since_1970).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_written_if_it_can_be() {
        let check = |seconds: u64, expected: Option<&str>| {
            assert_eq!(rfc3339(Duration::from_secs(seconds)).as_deref(), expected, "{seconds}");
        };
        check(0, None);
        check(1_709_210_096, Some("2024-02-29T12:34:56Z"));
        check(253_402_300_799, Some("9999-12-31T23:59:59Z"));
        check(253_402_300_800, None);
        check(u64::MAX, None);
    }
}
