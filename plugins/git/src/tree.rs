//! Trees: their entries, and the object at a path.

use gix_hash::ObjectId;
use gix_object::tree::EntryKind;
use gix_object::{Kind, TreeRefIter};
use larder_provider::{Error, Result};
use provider_support::uri;

use crate::inflate::corrupt;
use crate::objects::Objects;
use crate::revision::HASH;

/// The maximum depth of a path.
const MAX_DEPTH: usize = 256;

/// The type of an entry of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Type {
    File,
    Folder,
    /// A symbolic link; its content is its target.
    Link,
    /// A commit of another repository.
    Submodule,
}

/// An entry of a tree. Entries are sorted by URI segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) name: String,
    /// The URI segment, with a trailing slash for a folder.
    pub(crate) segment: String,
    pub(crate) kind: Type,
    pub(crate) id: ObjectId,
}

/// A tree.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Tree {
    pub(crate) items: Vec<Item>,
    /// The number of entries whose name is not UTF-8 or not allowed in a URI, such as `..`.
    pub(crate) unnamed: usize,
}

/// Reads a tree.
pub(crate) fn read(objects: &Objects, id: &ObjectId) -> Result<Tree> {
    let data = objects.read_kind(id, Kind::Tree)?;
    let mut tree = Tree::default();
    for entry in TreeRefIter::from_bytes(&data, HASH) {
        let entry = entry.map_err(|_| corrupt("a tree that is not valid"))?;
        let name = std::str::from_utf8(entry.filename)
            .ok()
            .filter(|name| is_allowed(name));
        let Some(name) = name else {
            tree.unnamed += 1;
            continue;
        };
        let kind = match entry.mode.kind() {
            EntryKind::Tree => Type::Folder,
            EntryKind::Blob | EntryKind::BlobExecutable => Type::File,
            EntryKind::Link => Type::Link,
            EntryKind::Commit => Type::Submodule,
        };
        let segment = uri::segment(name).into_owned() + if kind == Type::Folder { "/" } else { "" };
        tree.items.push(Item {
            name: name.to_owned(),
            segment,
            kind,
            id: entry.oid.to_owned(),
        });
    }
    tree.items
        .sort_unstable_by(|a, b| a.segment.cmp(&b.segment));
    Ok(tree)
}

fn is_allowed(name: &str) -> bool {
    !name.is_empty() && uri::names(&uri::segment(name)).is_ok()
}

/// The object at a path below a tree.
pub(crate) fn find(objects: &Objects, root: ObjectId, path: &[String]) -> Result<(Type, ObjectId)> {
    if path.len() > MAX_DEPTH {
        return Err(Error::NotFound);
    }
    let mut found = (Type::Folder, root);
    for name in path {
        if found.0 != Type::Folder {
            return Err(Error::NotFound);
        }
        let tree = read(objects, &found.1)?;
        let item = tree
            .items
            .into_iter()
            .find(|item| item.name == *name)
            .ok_or(Error::NotFound)?;
        found = (item.kind, item.id);
    }
    Ok(found)
}
