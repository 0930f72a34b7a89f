//! The list: each repository, its branches and tags, and the files of `HEAD`, sorted by URI.

use std::iter::Peekable;

use gix_hash::ObjectId;
use larder_provider::{Details, Entry, Query, Result, cancelled, warn};
use provider_support::mime;

use crate::address;
use crate::repository::{HEADS, Repository, TAGS};
use crate::revision::{peel, tree_of};
use crate::tree::{self, Item, Type};

/// Merges sorted lists.
pub(crate) struct Merge<'a> {
    lists: Vec<Peekable<Box<dyn Iterator<Item = Entry> + 'a>>>,
}

impl<'a> Merge<'a> {
    /// All entries after the cursor of a query.
    pub(crate) fn new(repositories: &'a [Repository], query: &Query, list_files: bool) -> Self {
        let after = query.cursor.clone().unwrap_or_default();
        let mut lists: Vec<Peekable<Box<dyn Iterator<Item = Entry> + 'a>>> = Vec::new();
        for repository in repositories {
            match references(repository, &after) {
                Ok(references) => {
                    let references: Box<dyn Iterator<Item = Entry> + 'a> = Box::new(references);
                    lists.push(references.peekable());
                }
                Err(error) => warn!(
                    "{} has no list of branches and tags: {error}",
                    repository.name
                ),
            }
            let head = repository
                .resolve("HEAD")
                .and_then(|head| tree_of(&repository.objects, &head));
            // A new repository has no commit yet.
            if let Some(root) = head.ok().filter(|_| list_files) {
                let files: Box<dyn Iterator<Item = Entry> + 'a> =
                    Box::new(Files::new(repository, root, after.clone()));
                lists.push(files.peekable());
            }
        }
        Self { lists }
    }
}

impl Iterator for Merge<'_> {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        let heads = self.lists.iter_mut().enumerate();
        let (_, first) = heads
            .filter_map(|(at, list)| Some((list.peek()?.uri.clone(), at)))
            .min()?;
        self.lists[first].next()
    }
}

/// The repository, `HEAD`, branches and tags. The commit of a tag is looked up only when the entry is needed.
fn references<'a>(
    repository: &'a Repository,
    after: &str,
) -> Result<impl Iterator<Item = Entry> + 'a> {
    let refs = repository.refs();
    let mut all = vec![(
        address::repository(&repository.name),
        "repository",
        repository.name.clone(),
        None,
    )];
    if let Some(id) = refs.find("HEAD")? {
        all.push((
            address::commit(&repository.name, "HEAD"),
            "commit",
            "HEAD".to_owned(),
            Some(id),
        ));
    }
    for (kind, folder) in [("tag", TAGS), ("branch", HEADS)] {
        for (name, id) in refs.all(folder)? {
            all.push((
                address::commit(&repository.name, &name),
                kind,
                name,
                Some(id),
            ));
        }
    }
    all.retain(|(uri, ..)| uri.as_str() > after);
    // If a branch has the name of a tag, the name means the tag.
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all.dedup_by(|a, b| a.0 == b.0);
    Ok(all
        .into_iter()
        .map(|(uri, kind, name, id)| reference(repository, uri, kind, name, id)))
}

/// The entry of a reference, or of the repository itself if there is no id.
pub(crate) fn reference(
    repository: &Repository,
    uri: String,
    kind: &str,
    name: String,
    id: Option<ObjectId>,
) -> Entry {
    let mime = if id.is_some() {
        "text/plain"
    } else {
        "text/markdown"
    };
    let mut entry = Entry::new(uri, name)
        .mime(mime)
        .details(Details::kind(kind));
    entry.version = id
        .and_then(|id| peel(&repository.objects, id).ok())
        .map(|id| id.to_string());
    entry
}

/// The files of a tree. Folders before the cursor are not read.
struct Files<'a> {
    repository: &'a Repository,
    after: String,
    levels: Vec<Level>,
}

struct Level {
    uri: String,
    path: String,
    /// In reverse order.
    rest: Vec<Item>,
}

impl<'a> Files<'a> {
    fn new(repository: &'a Repository, root: ObjectId, after: String) -> Self {
        let mut files = Self {
            repository,
            after,
            levels: Vec::new(),
        };
        files.enter(
            address::commit(&repository.name, "HEAD") + "/",
            String::new(),
            &root,
        );
        files
    }

    fn enter(&mut self, uri: String, path: String, id: &ObjectId) {
        match tree::read(&self.repository.objects, id) {
            Ok(mut tree) => {
                tree.items.reverse();
                self.levels.push(Level {
                    uri,
                    path,
                    rest: tree.items,
                });
            }
            Err(error) => warn!("{uri} is not listed: {error}"),
        }
    }
}

/// The maximum depth of folders in a list.
pub(crate) const MAX_DEPTH: usize = 64;

impl Iterator for Files<'_> {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        loop {
            let depth = self.levels.len();
            let level = self.levels.last_mut()?;
            let Some(item) = level.rest.pop() else {
                self.levels.pop();
                continue;
            };
            let (uri, path) = (
                format!("{}{}", level.uri, item.segment),
                format!("{}{}", level.path, item.name),
            );
            match item.kind {
                Type::File if uri > self.after => return Some(file(uri, path, &item.id)),
                Type::Folder
                    if depth <= MAX_DEPTH && (uri > self.after || self.after.starts_with(&uri)) =>
                {
                    if cancelled() {
                        return None;
                    }
                    self.enter(uri, path + "/", &item.id);
                }
                _ => {}
            }
        }
    }
}

/// The entry of a file of `HEAD`.
pub(crate) fn file(uri: String, path: String, id: &ObjectId) -> Entry {
    let name = path.rsplit('/').next().unwrap_or_default();
    let mut entry = Entry::new(uri, name)
        .version(id.to_string())
        .details(Details::kind("file"));
    entry.mime_type = mime::from_name(name).map(str::to_owned);
    entry.title = (path != name).then_some(path);
    entry
}
