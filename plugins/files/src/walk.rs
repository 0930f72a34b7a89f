//! Iterates over all files below the granted folders, sorted by URI. Folders outside the requested range are not
//! opened, so a later page does not read the earlier folders again. Only some of the names of a large folder are in
//! memory.

use std::iter::Peekable;

use larder_provider::{Details, Entry, Query, cancelled, warn};
use provider_support::disk::Stat;
use provider_support::rfc3339;

use crate::folder::{Child, Folder};
use crate::scope::Scope;
use crate::settings::Settings;

/// The number of names of one folder that are in memory, unless one page has more entries.
const CHUNK: usize = 1024;

/// The requested part of the list.
#[derive(Debug, Clone, Default)]
pub(crate) struct Range {
    /// Only URIs after this one.
    after: Option<String>,
    /// Only URIs with this prefix.
    prefix: Option<String>,
    /// The number of names of a folder that are read at once.
    chunk: usize,
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

/// An open folder.
struct Level {
    uri: String,
    names: Vec<String>,
    scope: Scope,
    /// The next children in reverse order.
    rest: Vec<Child>,
    /// The last child that was read, if there are more children after it.
    continues_after: Option<String>,
}

impl<'a> Walk<'a> {
    pub(crate) fn new(folders: &'a [Folder], settings: &'a Settings, query: &Query) -> Self {
        let chunk = usize::try_from(query.limit)
            .unwrap_or(usize::MAX)
            .saturating_add(1)
            .max(CHUNK);
        let range = Range {
            after: query.cursor.clone(),
            prefix: query.uri_prefix.clone(),
            chunk,
        };
        let walk = |folder: &'a Folder| {
            FolderWalk::new(folder, folders, settings, range.clone()).peekable()
        };
        Self {
            walks: folders.iter().map(walk).collect(),
        }
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
        let mut walk = Self {
            folder,
            others,
            settings,
            range,
            levels: Vec::new(),
        };
        if walk.range.may_contain(&folder.prefix) {
            walk.enter(folder.prefix.clone(), Vec::new());
        }
        walk
    }

    /// Opens a folder. A folder that cannot be opened is skipped, so that the other folders are still listed.
    fn enter(&mut self, uri: String, names: Vec<String>) {
        let above = self
            .levels
            .last()
            .map(|level| level.scope.clone())
            .unwrap_or_default();
        match self.folder.enter(&above, &names, self.settings) {
            Ok(scope) => {
                let continues_after = Some(self.range.start_in(&uri));
                self.levels.push(Level {
                    uri,
                    names,
                    scope,
                    rest: Vec::new(),
                    continues_after,
                });
            }
            Err(error) => warn!("{uri} is not listed: {error}"),
        }
    }

    /// Reads the next children of the current folder. Returns whether there are any.
    fn read_more(&mut self) -> bool {
        let Some(level) = self.levels.last_mut() else {
            return false;
        };
        let Some(after) = level.continues_after.take() else {
            return false;
        };
        let (limit, after) = (
            self.range.chunk,
            Some(after.as_str()).filter(|after| !after.is_empty()),
        );
        match self
            .folder
            .children(&level.names, &level.scope, after, limit, self.settings)
        {
            Ok(children) => {
                let last = children.sorted.last().map(|child| child.segment.clone());
                level.continues_after = last.filter(|_| children.more > 0);
                level.rest = children.sorted;
                level.rest.reverse();
            }
            Err(error) => warn!("{} is not listed: {error}", level.uri),
        }
        !level.rest.is_empty()
    }

    /// Whether this folder is also granted separately. Then the separate grant is listed.
    fn is_separate_grant(&self, uri: &str) -> bool {
        self.others.iter().any(|other| other.prefix == uri)
    }

    /// The next file or folder in the range; `None` at the end.
    fn next_child(&mut self) -> Option<(String, Vec<String>, bool)> {
        loop {
            let level = self.levels.last_mut()?;
            let Some(child) = level.rest.pop() else {
                if !self.read_more() {
                    self.levels.pop();
                }
                continue;
            };
            let uri = format!("{}{}", level.uri, child.segment);
            let in_range = if child.is_folder {
                self.range.may_contain(&uri)
            } else {
                self.range.contains(&uri)
            };
            if in_range {
                let names = level.names.iter().cloned().chain([child.name]).collect();
                return Some((uri, names, child.is_folder));
            }
        }
    }
}

impl Iterator for FolderWalk<'_> {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        loop {
            let depth = self.levels.len();
            let (uri, names, is_folder) = self.next_child()?;
            if !is_folder {
                match self.folder.stat_visible(&names) {
                    Ok(stat) if stat.is_file => return Some(file(self.folder, uri, &names, &stat)),
                    _ => continue,
                }
            }
            if cancelled() {
                return None;
            }
            let is_listed = self.settings.folders && self.range.contains(&uri);
            let listed = is_listed.then(|| folder(uri.clone(), &names));
            if depth <= self.settings.depth && !self.is_separate_grant(&uri) {
                self.enter(uri, names);
            }
            if listed.is_some() {
                return listed;
            }
        }
    }
}

pub(crate) fn file(folder: &Folder, uri: String, path: &[String], stat: &Stat) -> Entry {
    let mut details = Details::kind("file");
    details.last_modified = rfc3339(stat.modified);
    let mut entry = entry(uri, path)
        .size(stat.size)
        .version(stat.version())
        .details(details);
    entry.mime_type = folder.mime(path).map(str::to_owned);
    entry
}

pub(crate) fn folder(uri: String, path: &[String]) -> Entry {
    entry(uri, path)
        .mime("inode/directory")
        .details(Details::kind("folder"))
}

fn entry(uri: String, path: &[String]) -> Entry {
    let name = path.last().map(String::as_str).unwrap_or_default();
    let mut entry = Entry::new(uri, name);
    entry.title = (path.len() > 1).then(|| path.join("/"));
    entry
}

impl Range {
    /// All URIs with this prefix.
    pub(crate) fn with_prefix(prefix: Option<&str>) -> Self {
        Self {
            prefix: prefix.map(str::to_owned),
            ..Self::default()
        }
    }

    /// Whether the range can contain URIs below this folder.
    pub(crate) fn may_contain(&self, folder: &str) -> bool {
        let after = self
            .after
            .as_deref()
            .is_none_or(|after| folder > after || after.starts_with(folder));
        let overlaps = |prefix: &str| folder.starts_with(prefix) || prefix.starts_with(folder);
        after && self.prefix.as_deref().is_none_or(overlaps)
    }

    pub(crate) fn contains(&self, uri: &str) -> bool {
        self.after.as_deref().is_none_or(|after| uri > after)
            && self
                .prefix
                .as_deref()
                .is_none_or(|prefix| uri.starts_with(prefix))
    }

    /// The position in a folder at which the range begins; empty for the beginning of the folder. If the child that
    /// contains the cursor is a folder, it is in the range, so the position is before the slash of the child.
    fn start_in(&self, folder: &str) -> String {
        let below = self
            .after
            .as_deref()
            .and_then(|after| after.strip_prefix(folder))
            .unwrap_or_default();
        below
            .split('/')
            .next()
            .filter(|_| !below.is_empty())
            .unwrap_or_default()
            .to_owned()
    }
}
