//! A granted folder: its URIs, its contents and path completion.

use std::collections::BinaryHeap;
use std::fmt::Write as _;

use larder_provider::{Completion, Content, Error, Result, warn};
use provider_support::disk::{self, DirEntry, Disk, Stat};
use provider_support::{mime, uri};

use crate::scope::Scope;
use crate::settings::Settings;

/// Maximum number of names in the content of a folder. The content contains the URI of the next names.
const MAX_LISTING: usize = 1000;

/// A granted folder.
#[derive(Debug)]
pub(crate) struct Folder {
    /// The URI of the folder with a trailing slash.
    pub(crate) prefix: String,
    disk: Disk,
}

/// A file or folder in a folder.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Child {
    /// The URI segment, with a trailing slash for a folder. Sorting by this segment also sorts the URIs of all files
    /// and folders below.
    pub(crate) segment: String,
    pub(crate) name: String,
    pub(crate) is_folder: bool,
}

/// The first children of a folder after a position, sorted by URI.
#[derive(Default)]
pub(crate) struct Children {
    pub(crate) sorted: Vec<Child>,
    /// The number of further files and folders.
    pub(crate) more: usize,
    /// The number of names that are not UTF-8.
    unreadable: usize,
}

/// The folders that were granted to this guest.
pub(crate) fn granted() -> Vec<Folder> {
    disk::granted()
        .into_iter()
        .map(|(path, disk)| Folder::new(&path, disk))
        .collect()
}

impl Folder {
    /// Creates a folder that was granted with this guest path.
    pub(crate) fn new(path: &str, disk: Disk) -> Self {
        Self {
            prefix: prefix(path),
            disk,
        }
    }

    /// The last segment of its path.
    pub(crate) fn name(&self) -> &str {
        self.prefix
            .trim_end_matches('/')
            .rsplit('/')
            .next()
            .filter(|name| *name != "file:")
            .unwrap_or("files")
    }

    pub(crate) fn template(&self) -> String {
        format!("{}{{+path}}", self.prefix)
    }

    /// Whether a URI is the URI of this folder, or of a file or folder below it.
    pub(crate) fn contains(&self, uri: &str) -> bool {
        uri.starts_with(&self.prefix) || self.prefix.strip_suffix('/') == Some(uri)
    }

    /// The metadata of a file or folder. An invisible file or folder is reported as not found.
    pub(crate) fn stat(&self, path: &[String], settings: &Settings) -> Result<Stat> {
        if !path.iter().all(|name| settings.is_visible_name(name)) {
            return Err(Error::NotFound);
        }
        let stat = self.disk.stat(path)?;
        let Some((_, parents)) = path.split_last() else {
            return Ok(stat);
        };
        let scope = self.scope(parents, settings)?;
        if scope.is_visible(path, !stat.is_file, settings) {
            Ok(stat)
        } else {
            Err(Error::NotFound)
        }
    }

    /// The metadata of a file or folder that is known to be visible.
    pub(crate) fn stat_visible(&self, path: &[String]) -> Result<Stat> {
        self.disk.stat(path)
    }

    /// The rules in a folder. The folder and all folders above it must be visible.
    pub(crate) fn scope(&self, path: &[String], settings: &Settings) -> Result<Scope> {
        let mut scope = self.enter(&Scope::default(), &[], settings)?;
        for length in 1..=path.len() {
            if !scope.is_visible(&path[..length], true, settings) {
                return Err(Error::NotFound);
            }
            scope = self.enter(&scope, &path[..length], settings)?;
        }
        Ok(scope)
    }

    /// The rules in a folder, derived from the rules in its parent folder.
    pub(crate) fn enter(
        &self,
        above: &Scope,
        path: &[String],
        settings: &Settings,
    ) -> Result<Scope> {
        above.enter(&self.disk, path, settings)
    }

    /// The content of a file.
    pub(crate) fn content(
        &self,
        path: &[String],
        stat: &Stat,
        settings: &Settings,
    ) -> Result<Content> {
        let bytes = self.disk.read(path, stat, settings.max_bytes)?;
        Ok(mime::content(
            path.last().map(String::as_str).unwrap_or_default(),
            bytes,
        ))
    }

    /// The names in a folder, in no order. Invisible names are included.
    pub(crate) fn entries(
        &self,
        path: &[String],
    ) -> Result<impl Iterator<Item = Option<DirEntry>> + use<>> {
        self.disk.entries(path)
    }

    /// The beginning of a file that is known to be visible.
    pub(crate) fn head(&self, path: &[String], bytes: u64) -> Result<Vec<u8>> {
        self.disk.file(path)?.read_at(0, bytes)
    }

    /// The media type of a file: by its name, or else by its content.
    pub(crate) fn mime(&self, path: &[String]) -> Option<&'static str> {
        let by_name = path.last().and_then(|name| mime::from_name(name));
        by_name.or_else(|| {
            Some(mime::from_content(
                &self
                    .disk
                    .file(path)
                    .ok()?
                    .read_at(0, mime::HEAD as u64)
                    .ok()?,
            ))
        })
    }

    /// The names in a folder after a position: one per line, with a trailing slash for folders.
    pub(crate) fn listing(
        &self,
        path: &[String],
        after: Option<&str>,
        settings: &Settings,
    ) -> Result<String> {
        let scope = self.scope(path, settings)?;
        let children = self.children(path, &scope, after, MAX_LISTING, settings)?;
        let mut listing: String = children
            .sorted
            .iter()
            .map(|child| child.display_name() + "\n")
            .collect();
        if let Some(last) = children.sorted.last().filter(|_| children.more > 0) {
            let more = children.more;
            let below: String = path
                .iter()
                .map(|name| uri::segment(name).into_owned() + "/")
                .collect();
            let segment = &last.segment;
            _ = writeln!(
                listing,
                "… and {more} more: {}{below}?after={segment}",
                self.prefix
            );
        }
        if children.unreadable > 0 {
            let names = children.unreadable;
            _ = writeln!(
                listing,
                "… and {names} whose names are not UTF-8, which cannot be served: rename them"
            );
        }
        Ok(listing)
    }

    /// Completes a path that was typed so far with the names in its last folder.
    pub(crate) fn complete(&self, typed: &str, settings: &Settings) -> Completion {
        let (parent, path): (&str, Vec<String>) = match typed.rsplit_once('/') {
            Some((parent, _)) => (
                &typed[..=parent.len()],
                parent.split('/').map(str::to_owned).collect(),
            ),
            None => ("", Vec::new()),
        };
        let is_valid = |name: &String| {
            !matches!(name.as_str(), "" | "." | "..") && settings.is_visible_name(name)
        };
        if !path.iter().all(is_valid) {
            return Completion::default();
        }
        let scope = self.scope(&path, settings);
        let children = scope
            .and_then(|scope| self.children(&path, &scope, None, settings.max_names, settings));
        let names = children.unwrap_or_default().sorted.into_iter();
        Completion::matching(
            names.map(|child| format!("{parent}{}", child.display_name())),
            typed,
        )
    }

    /// The first visible files and folders directly in a folder, sorted by URI. Only these are kept in memory, for a
    /// folder of any size.
    pub(crate) fn children(
        &self,
        path: &[String],
        scope: &Scope,
        after: Option<&str>,
        limit: usize,
        settings: &Settings,
    ) -> Result<Children> {
        let (mut first, mut found) = (BinaryHeap::new(), Children::default());
        let mut child_path = [path, &[String::new()]].concat();
        for (seen, entry) in self.disk.entries(path)?.enumerate() {
            if seen >= settings.max_names {
                let (folder, names) = (path.join("/"), settings.max_names);
                warn!(
                    "{}{folder}: list truncated to {names} names (setting `max_names`)",
                    self.prefix
                );
                break;
            }
            let Some(entry) = entry else {
                found.unreadable += 1;
                continue;
            };
            child_path[path.len()].clone_from(&entry.name);
            let child = Child::from(entry);
            if after.is_some_and(|after| child.segment.as_str() <= after)
                || !scope.is_visible(&child_path, child.is_folder, settings)
            {
                continue;
            }
            first.push(child);
            if first.len() > limit {
                first.pop();
                found.more += 1;
            }
        }
        found.sorted = first.into_sorted_vec();
        Ok(found)
    }
}

impl From<DirEntry> for Child {
    fn from(
        DirEntry {
            name, is_folder, ..
        }: DirEntry,
    ) -> Self {
        let segment = uri::segment(&name).into_owned() + if is_folder { "/" } else { "" };
        Self {
            segment,
            name,
            is_folder,
        }
    }
}

impl Child {
    fn display_name(&self) -> String {
        format!("{}{}", self.name, if self.is_folder { "/" } else { "" })
    }
}

/// The URI of a granted folder with a trailing slash, from its guest path.
fn prefix(path: &str) -> String {
    let names = path.split('/').filter(|name| !matches!(*name, "" | "."));
    names.fold("file:///".to_owned(), |prefix, name| {
        prefix + &uri::segment(name) + "/"
    })
}

#[cfg(test)]
mod tests {
    use super::prefix;

    #[test]
    fn makes_a_folder_uri_from_the_guest_path() {
        let check = |path: &str, expected: &str| assert_eq!(prefix(path), expected, "{path:?}");
        check("/", "file:///");
        check(".", "file:///");
        check("/docs", "file:///docs/");
        check("/docs/", "file:///docs/");
        check("docs/my notes", "file:///docs/my%20notes/");
    }
}
