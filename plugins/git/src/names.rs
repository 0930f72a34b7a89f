//! The paths of `HEAD` and the names of branches and tags, for a search. Folders of all repositories are read in turn,
//! so that a large folder does not use up the time of the others.

use std::collections::VecDeque;
use std::time::Instant;

use gix_hash::ObjectId;
use larder_provider::{Entry, Result, cancelled, warn};
use provider_support::ranking::Item;
use provider_support::uri;

use crate::address;
use crate::list::{self, MAX_DEPTH};
use crate::repository::{HEADS, Repository, TAGS};
use crate::revision::tree_of;
use crate::tree::{self, Type};

/// The maximum number of paths, which are all in memory.
const MAX_PATHS: usize = 200_000;

/// Names, and what they identify.
pub(crate) struct Names<'a> {
    pub(crate) items: Vec<Item>,
    /// For each item.
    places: Vec<Place<'a>>,
    /// Whether these are all names.
    pub(crate) is_complete: bool,
}

struct Place<'a> {
    repository: &'a Repository,
    kind: Kind,
}

enum Kind {
    /// A file, with the id of its content.
    File(ObjectId),
    /// A branch, a tag, `HEAD` or the repository itself.
    Reference(&'static str, Option<ObjectId>),
}

/// A folder that was not read.
struct Folder<'a> {
    repository: &'a Repository,
    path: String,
    depth: usize,
    id: ObjectId,
}

impl<'a> Names<'a> {
    /// Reads all names until the time is over. Only files are read whose URIs can begin with the prefix.
    pub(crate) fn read(repositories: &'a [Repository], prefix: &str, end: Instant) -> Self {
        let mut names = Self {
            items: Vec::new(),
            places: Vec::new(),
            is_complete: true,
        };
        names.add_files(repositories, prefix, end);
        for (group, repository) in repositories.iter().enumerate() {
            if let Err(error) = names.add_references(repository, group) {
                warn!(
                    "the branches and tags of {} are not searched: {error}",
                    repository.name
                );
            }
        }
        names
    }

    fn add_files(&mut self, repositories: &'a [Repository], prefix: &str, end: Instant) {
        let root = |repository: &'a Repository| {
            let head = repository
                .resolve("HEAD")
                .and_then(|head| tree_of(&repository.objects, &head));
            // A new repository has no commit yet.
            Some(Folder {
                repository,
                path: String::new(),
                depth: 0,
                id: head.ok()?,
            })
        };
        let mut queue: VecDeque<Folder<'_>> = repositories.iter().filter_map(root).collect();
        // The first groups are the groups of references.
        for group in repositories.len().. {
            let Some(folder) = queue.pop_front() else {
                break;
            };
            let uri = file_uri(folder.repository, &folder.path);
            if !uri.starts_with(prefix) && !prefix.starts_with(&uri) {
                continue;
            }
            if self.items.len() >= MAX_PATHS || cancelled() || Instant::now() >= end {
                self.is_complete = false;
                break;
            }
            match self.add_folder(&folder, group) {
                Ok(folders) => queue.extend(folders),
                Err(error) => warn!("{uri} is not searched: {error}"),
            }
        }
    }

    /// Adds the files of a folder. Returns its subfolders.
    fn add_folder(&mut self, folder: &Folder<'a>, group: usize) -> Result<Vec<Folder<'a>>> {
        let Folder {
            repository, depth, ..
        } = *folder;
        let mut folders = Vec::new();
        for item in tree::read(&repository.objects, &folder.id)?.items {
            let path = format!("{}{}", folder.path, item.name);
            match item.kind {
                Type::File => self.add(
                    path,
                    group,
                    Place {
                        repository,
                        kind: Kind::File(item.id),
                    },
                ),
                Type::Folder if depth < MAX_DEPTH => {
                    folders.push(Folder {
                        repository,
                        path: path + "/",
                        depth: depth + 1,
                        id: item.id,
                    });
                }
                _ => {}
            }
        }
        Ok(folders)
    }

    fn add_references(&mut self, repository: &'a Repository, group: usize) -> Result<()> {
        let refs = repository.refs();
        let mut add = |name: String, kind, id| {
            self.add(
                name,
                group,
                Place {
                    repository,
                    kind: Kind::Reference(kind, id),
                },
            );
        };
        add(repository.name.clone(), "repository", None);
        if let Some(id) = refs.find("HEAD")? {
            add("HEAD".to_owned(), "commit", Some(id));
        }
        let tags = refs.all(TAGS)?;
        for (name, id) in refs.all(HEADS)? {
            // If a branch has the name of a tag, the name means the tag.
            if !tags.contains_key(&name) {
                add(name, "branch", Some(id));
            }
        }
        tags.into_iter()
            .for_each(|(name, id)| add(name, "tag", Some(id)));
        Ok(())
    }

    fn add(&mut self, name: String, group: usize, place: Place<'a>) {
        self.items.push(Item { name, group });
        self.places.push(place);
    }

    /// Returns the beginning of a file. `None` if the file is not text, or too large.
    pub(crate) fn text(&self, number: usize, max: usize) -> Option<String> {
        let Place {
            repository,
            kind: Kind::File(id),
        } = &self.places[number]
        else {
            return None;
        };
        let name = self.items[number].name.rsplit('/').next()?;
        repository.text(name, id, max)
    }

    pub(crate) fn entry(&self, number: usize) -> Entry {
        let (name, uri) = (self.items[number].name.clone(), self.uri(number));
        let Place { repository, kind } = &self.places[number];
        match kind {
            Kind::File(id) => list::file(uri, name, id),
            Kind::Reference(kind, id) => list::reference(repository, uri, kind, name, *id),
        }
    }

    pub(crate) fn uri(&self, number: usize) -> String {
        let name = &self.items[number].name;
        let Place { repository, kind } = &self.places[number];
        match kind {
            Kind::File(_) => file_uri(repository, name),
            Kind::Reference(_, None) => address::repository(&repository.name),
            Kind::Reference(..) => address::commit(&repository.name, name),
        }
    }
}

/// The URI of a file or folder of `HEAD`.
fn file_uri(repository: &Repository, path: &str) -> String {
    let segments: Vec<_> = path.split('/').map(uri::segment).collect();
    address::commit(&repository.name, "HEAD") + "/" + &segments.join("/")
}
