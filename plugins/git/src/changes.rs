//! The differences between two trees.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use gix_hash::ObjectId;
use larder_provider::{Error, Result, cancelled};

use crate::objects::Objects;
use crate::tree::{self, Item, Type};

/// The maximum number of changed paths.
pub(crate) const MAX_CHANGES: usize = 1000;
/// The maximum depth of folders, each of which needs stack.
const MAX_DEPTH: usize = 100;

/// A path whose entries differ. `None` if the path does not exist on that side.
#[derive(Debug, PartialEq)]
pub(crate) struct Change {
    pub(crate) path: String,
    pub(crate) old: Option<(Type, ObjectId)>,
    pub(crate) new: Option<(Type, ObjectId)>,
}

/// The changes between two trees, and whether there are more than the maximum.
#[derive(Default)]
pub(crate) struct Changes {
    pub(crate) changes: Vec<Change>,
    pub(crate) has_more: bool,
}

impl Changes {
    /// Compares two trees, of which only folders that differ are read.
    pub(crate) fn between(
        objects: &Objects,
        old: Option<ObjectId>,
        new: Option<ObjectId>,
    ) -> Result<Self> {
        let mut changes = Self::default();
        changes.compare(objects, "", old, new, MAX_DEPTH)?;
        Ok(changes)
    }

    fn compare(
        &mut self,
        objects: &Objects,
        parent: &str,
        old: Option<ObjectId>,
        new: Option<ObjectId>,
        depth: usize,
    ) -> Result<()> {
        if old == new {
            return Ok(());
        }
        if cancelled() {
            return Err(Error::Unavailable(
                "the comparison was cancelled".to_owned(),
            ));
        }
        if depth == 0 {
            return Err(Error::Invalid(format!(
                "the folders are nested more than {MAX_DEPTH} deep"
            )));
        }
        let (old, new) = (items(objects, old)?, items(objects, new)?);
        let mut names: Vec<&String> = old.keys().chain(new.keys()).collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            if self.has_more {
                return Ok(());
            }
            let path = if parent.is_empty() {
                name.clone()
            } else {
                format!("{parent}/{name}")
            };
            self.compare_items(objects, path, old.get(name), new.get(name), depth)?;
        }
        Ok(())
    }

    fn compare_items(
        &mut self,
        objects: &Objects,
        path: String,
        old: Option<&Item>,
        new: Option<&Item>,
        depth: usize,
    ) -> Result<()> {
        let folder = |item: Option<&Item>| {
            item.filter(|item| item.kind == Type::Folder)
                .map(|item| item.id)
        };
        let file = |item: Option<&Item>| {
            item.filter(|item| item.kind != Type::Folder)
                .map(|item| (item.kind, item.id))
        };
        let (from, to) = (file(old), file(new));
        if from != to {
            if self.changes.len() == MAX_CHANGES {
                self.has_more = true;
                return Ok(());
            }
            self.changes.push(Change {
                path: path.clone(),
                old: from,
                new: to,
            });
        }
        self.compare(objects, &path, folder(old), folder(new), depth - 1)
    }
}

fn items(objects: &Objects, tree: Option<ObjectId>) -> Result<BTreeMap<String, Item>> {
    let Some(id) = tree else {
        return Ok(BTreeMap::new());
    };
    Ok(tree::read(objects, &id)?
        .items
        .into_iter()
        .map(|item| (item.name.clone(), item))
        .collect())
}

impl Change {
    /// `A` for added, `D` for deleted, `M` for modified.
    pub(crate) fn letter(&self) -> char {
        match self.old.is_some().cmp(&self.new.is_some()) {
            Ordering::Less => 'A',
            Ordering::Greater => 'D',
            Ordering::Equal => 'M',
        }
    }
}
