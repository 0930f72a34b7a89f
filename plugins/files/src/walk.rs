//! Every file below the granted folders, one by one in the order of their URIs. Folders in which
//! nothing is wanted are not opened, so the next page costs no second walk over the ones before.

use std::iter::Peekable;

use larder_provider::{Details, Entry, cancelled};

use crate::folder::{Child, Folder, Found};
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
                match self.folder.look_at(&names) {
                    Ok(found) if found.is_file() => return Some(entry(uri, &names, &found)),
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

fn entry(uri: String, names: &[String], found: &Found) -> Entry {
    let name = names.last().map(String::as_str).unwrap_or_default();
    let modified = humantime::format_rfc3339_seconds(found.modified()).to_string();
    let details = Details::kind("file").last_modified(modified);
    let entry = Entry::new(uri, name).size(found.size()).version(found.version()).details(details);
    let entry = if names.len() > 1 { entry.title(names.join("/")) } else { entry };
    match mime::of(name) {
        Some(mime) => entry.mime(mime),
        None => entry,
    }
}
