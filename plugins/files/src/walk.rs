//! Iterates over all files below the granted folders, sorted by URI. Folders outside the requested range are
//! not opened, so a later page does not walk over the earlier ones again.

use std::iter::Peekable;
use std::time::{Duration, UNIX_EPOCH};

use larder_provider::{Details, Entry, cancelled};

use crate::disk::Stat;
use crate::folder::{Child, Folder};
use crate::mime;
use crate::settings::Settings;

/// The requested part of the list.
#[derive(Debug, Clone, Default)]
pub(crate) struct Range {
    /// Only URIs after this one.
    pub(crate) after: Option<String>,
    /// Only URIs with this prefix.
    pub(crate) prefix: Option<String>,
}

/// Merges the walks of all folders.
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

/// An open folder and its remaining children in reverse order.
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
        if walk.range.may_contain(&folder.prefix) {
            walk.enter(folder.prefix.clone(), Vec::new());
        }
        walk
    }

    /// Opens a folder. A folder that cannot be opened is skipped, so that the others are still listed.
    fn enter(&mut self, uri: String, names: Vec<String>) {
        let Ok(mut rest) = self.folder.children(&names, self.settings) else { return };
        rest.retain(|child| {
            let uri = format!("{uri}{}", child.segment);
            if child.is_folder { self.range.may_contain(&uri) } else { self.range.contains(&uri) }
        });
        rest.reverse();
        self.levels.push(Level { uri, names, rest });
    }

    /// Whether this folder is also granted separately. Then the separate grant is listed.
    fn is_separate_grant(&self, uri: &str) -> bool {
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
                match self.folder.stat(&names, self.settings) {
                    Ok(stat) if stat.is_file => return Some(entry(uri, &names, &stat)),
                    _ => continue,
                }
            }
            if cancelled() {
                return None;
            }
            if depth <= self.settings.depth && !self.is_separate_grant(&uri) {
                self.enter(uri, names);
            }
        }
    }
}

impl Range {
    /// Whether the range can contain URIs below this folder.
    fn may_contain(&self, folder: &str) -> bool {
        let after = self.after.as_deref().is_none_or(|after| folder > after || after.starts_with(folder));
        let overlaps = |prefix: &str| folder.starts_with(prefix) || prefix.starts_with(folder);
        after && self.prefix.as_deref().is_none_or(overlaps)
    }

    fn contains(&self, uri: &str) -> bool {
        self.after.as_deref().is_none_or(|after| uri > after)
            && self.prefix.as_deref().is_none_or(|prefix| uri.starts_with(prefix))
    }
}

fn entry(uri: String, path: &[String], stat: &Stat) -> Entry {
    let name = path.last().map(String::as_str).unwrap_or_default();
    let mut details = Details::kind("file");
    details.last_modified = rfc3339(stat.modified);
    let mut entry = Entry::new(uri, name).size(stat.size).version(stat.version()).details(details);
    entry.title = (path.len() > 1).then(|| path.join("/"));
    entry.mime_type = mime::from_name(name).map(str::to_owned);
    entry
}

/// Returns `None` for times after the year 9999, which RFC 3339 cannot express but a file may have.
fn rfc3339(since_1970: Duration) -> Option<String> {
    const YEAR_10000: Duration = Duration::from_secs(253_402_300_800);
    let is_valid = !since_1970.is_zero() && since_1970 < YEAR_10000;
    is_valid.then(|| humantime::format_rfc3339_seconds(UNIX_EPOCH + since_1970).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_times_within_the_range_of_rfc_3339() {
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
