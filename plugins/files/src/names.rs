//! The paths of all files, for a search. The metadata of files is not read, because it takes most of the time of a
//! list. Folders are read in turn, so that a large folder does not use up the time of the others.

use std::collections::VecDeque;
use std::time::Instant;

use larder_provider::{Entry, Result, cancelled, warn};
use provider_support::disk::DirEntry;
use provider_support::ranking::Item;
use provider_support::uri;

use crate::Files;
use crate::folder::Folder;
use crate::scope::Scope;
use crate::walk::{self, Range};

/// The maximum number of paths, which are all in memory.
const MAX_PATHS: usize = 200_000;
/// The number of names that are read in one turn of a folder.
const TURN: usize = 256;

/// The paths of files and folders that are listed.
pub(crate) struct Names<'a> {
    files: &'a Files,
    range: Range,
    /// Paths below a granted folder, with a trailing slash for folders.
    pub(crate) items: Vec<Item>,
    /// The granted folder of each group of items.
    folders: Vec<&'a Folder>,
    queue: VecDeque<Place<'a>>,
    /// Whether these are all paths.
    pub(crate) is_complete: bool,
}

/// A folder whose names were not all read.
struct Place<'a> {
    folder: &'a Folder,
    uri: String,
    path: Vec<String>,
    group: usize,
    /// The rules in this folder. Before it is opened, the rules in the parent folder.
    scope: Scope,
    /// The remaining names. None before the folder is opened.
    rest: Option<Box<dyn Iterator<Item = Option<DirEntry>>>>,
    /// The number of names that were read.
    seen: usize,
}

impl<'a> Names<'a> {
    /// Reads the paths whose URIs begin with a prefix, as far as there is time.
    pub(crate) fn read(files: &'a Files, prefix: Option<&str>, end: Instant) -> Self {
        let mut names = Self {
            files,
            range: Range::with_prefix(prefix),
            items: Vec::new(),
            folders: Vec::new(),
            queue: VecDeque::new(),
            is_complete: true,
        };
        for folder in &files.folders {
            if names.range.may_contain(&folder.prefix) {
                names.add_place(folder, folder.prefix.clone(), Vec::new(), Scope::default());
            }
        }
        while let Some(mut place) = names.queue.pop_front() {
            if names.items.len() >= MAX_PATHS || cancelled() || Instant::now() >= end {
                names.is_complete = false;
                break;
            }
            match names.take_turn(&mut place) {
                Ok(true) => names.queue.push_back(place),
                Ok(false) => {}
                Err(error) => warn!("{} is not searched: {error}", place.uri),
            }
        }
        names
    }

    fn add_place(&mut self, folder: &'a Folder, uri: String, path: Vec<String>, scope: Scope) {
        let group = self.folders.len();
        self.folders.push(folder);
        self.queue.push_back(Place {
            folder,
            uri,
            path,
            group,
            scope,
            rest: None,
            seen: 0,
        });
    }

    /// Reads the next names of a folder. Returns whether there are more.
    fn take_turn(&mut self, place: &mut Place<'a>) -> Result<bool> {
        let settings = &self.files.settings;
        let mut rest = match place.rest.take() {
            Some(rest) => rest,
            None => Box::new(place.folder.entries(&place.path)?),
        };
        let names: Vec<_> = rest.by_ref().take(TURN).collect();
        let has_more = names.len() == TURN;
        let is_ignore_file = |entry: &DirEntry| settings.ignore_files.contains(&entry.name);
        // Most folders have no ignore file, and to look for one would take a third of the time.
        if place.seen == 0 && (has_more || names.iter().flatten().any(is_ignore_file)) {
            place.scope = place.folder.enter(&place.scope, &place.path, settings)?;
        }
        place.seen += names.len();
        // Names that are not UTF-8 have no URI.
        for entry in names.into_iter().flatten() {
            self.add(place, entry);
        }
        if has_more && place.seen >= settings.max_names {
            self.is_complete = false;
            return Ok(false);
        }
        place.rest = Some(rest);
        Ok(has_more)
    }

    fn add(
        &mut self,
        place: &Place<'a>,
        DirEntry {
            name, is_folder, ..
        }: DirEntry,
    ) {
        let settings = &self.files.settings;
        let slash = if is_folder { "/" } else { "" };
        let uri = format!("{}{}{slash}", place.uri, uri::segment(&name));
        let path: Vec<String> = place.path.iter().cloned().chain([name]).collect();
        if !place.scope.is_visible(&path, is_folder, settings) {
            return;
        }
        if self.range.contains(&uri) && (!is_folder || settings.folders) {
            self.items.push(Item {
                name: path.join("/") + slash,
                group: place.group,
            });
        }
        let is_separate_grant = self.files.folders.iter().any(|other| other.prefix == uri);
        if is_folder
            && path.len() <= settings.depth
            && !is_separate_grant
            && self.range.may_contain(&uri)
        {
            self.add_place(place.folder, uri, path, place.scope.clone());
        }
    }

    /// The granted folder of an item, and its path there.
    pub(crate) fn place(&self, number: usize) -> (&'a Folder, Vec<String>) {
        let Item { name, group } = &self.items[number];
        (
            self.folders[*group],
            name.trim_end_matches('/')
                .split('/')
                .map(str::to_owned)
                .collect(),
        )
    }

    /// The entry of an item. `None` if the item does not exist any more, or is a link that leads out of the granted
    /// folder.
    pub(crate) fn entry(&self, number: usize) -> Option<Entry> {
        let (folder, path) = self.place(number);
        let uri = self.uri(number);
        if uri.ends_with('/') {
            return Some(walk::folder(uri, &path));
        }
        let stat = folder
            .stat_visible(&path)
            .ok()
            .filter(|stat| stat.is_file)?;
        Some(walk::file(folder, uri, &path, &stat))
    }

    /// The URI of an item.
    pub(crate) fn uri(&self, number: usize) -> String {
        let Item { name, group } = &self.items[number];
        let segments: Vec<_> = name.split('/').map(uri::segment).collect();
        self.folders[*group].prefix.clone() + &segments.join("/")
    }
}
