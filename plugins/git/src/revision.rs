//! Finds the commit that a revision means: a branch, a tag, `HEAD` or an id, followed by any number of `~N` and `^N`.

use gix_hash::ObjectId;
use gix_object::{CommitRefIter, Kind, TagRefIter};
use larder_provider::{Error, Result};

use crate::inflate::corrupt;
use crate::objects::Objects;
use crate::refs::Refs;

/// How many commits `~N` may go back.
const MAX_STEPS: usize = 1000;
/// How many tags may refer to another tag.
const MAX_TAGS: usize = 10;
pub(crate) const HASH: gix_hash::Kind = gix_hash::Kind::Sha1;

/// The folders of references in the order in which a name is looked up, as in `git`.
const FOLDERS: [&str; 4] = ["refs/", "refs/tags/", "refs/heads/", "refs/remotes/"];

/// The commit of a revision. A revision that does not exist is reported as not found.
pub(crate) fn resolve(objects: &Objects, refs: &Refs<'_>, text: &str) -> Result<ObjectId> {
    let (name, steps) = text.split_at(text.find(['~', '^']).unwrap_or(text.len()));
    let start = find(objects, refs, name)?.ok_or(Error::NotFound)?;
    walk(objects, peel(objects, start)?, steps)
}

/// Whether a revision always means the same commit.
pub(crate) fn is_fixed(text: &str) -> bool {
    let name = text.split(['~', '^']).next().unwrap_or_default();
    ObjectId::from_hex(name.as_bytes()).is_ok()
}

fn find(objects: &Objects, refs: &Refs<'_>, name: &str) -> Result<Option<ObjectId>> {
    if name == "HEAD" {
        return refs.find(name);
    }
    if let Ok(id) = ObjectId::from_hex(name.as_bytes()) {
        return Ok(objects.find(&id)?.map(|_| id));
    }
    for folder in FOLDERS {
        if let Some(id) = refs.find(&format!("{folder}{name}"))? {
            return Ok(Some(id));
        }
    }
    let is_short_id = (4..40).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    if !is_short_id {
        return Ok(None);
    }
    match objects.with_prefix(name)?.as_slice() {
        [] => Ok(None),
        [id] => Ok(Some(*id)),
        _ => Err(Error::Invalid(format!(
            "several objects have an id that begins with {name}"
        ))),
    }
}

/// The commit that a tag refers to.
pub(crate) fn peel(objects: &Objects, mut id: ObjectId) -> Result<ObjectId> {
    for _ in 0..MAX_TAGS {
        let object = objects.read(&id)?;
        match object.kind {
            Kind::Commit => return Ok(id),
            Kind::Tag => {
                let target = TagRefIter::from_bytes(&object.data, HASH).target_id();
                id = target.map_err(|_| corrupt("a tag that is not valid"))?;
            }
            Kind::Tree | Kind::Blob => return Err(Error::Invalid(format!("{id} is not a commit"))),
        }
    }
    Err(corrupt("too many tags of tags"))
}

/// Goes to ancestors: `~N` takes the first parent N times, `^N` takes the Nth parent.
fn walk(objects: &Objects, mut id: ObjectId, steps: &str) -> Result<ObjectId> {
    let (mut rest, mut count) = (steps, 0);
    while let Some(after) = rest.strip_prefix(['~', '^']) {
        let digits = after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let number = match &after[..digits] {
            "" => 1,
            number => number.parse::<usize>().map_err(Error::invalid)?,
        };
        let parents = match rest.starts_with('~') {
            true => vec![1; number.min(MAX_STEPS + 1)],
            false if number == 0 => Vec::new(),
            false => vec![number],
        };
        count += parents.len();
        if count > MAX_STEPS {
            return Err(Error::Invalid(format!(
                "a revision may go back {MAX_STEPS} commits"
            )));
        }
        for parent in parents {
            id = parents_of(objects, &id)?
                .into_iter()
                .nth(parent - 1)
                .ok_or(Error::NotFound)?;
        }
        rest = &after[digits..];
    }
    if rest.is_empty() {
        Ok(id)
    } else {
        Err(Error::NotFound)
    }
}

/// The parents of a commit that are in the repository.
pub(crate) fn parents_of(objects: &Objects, id: &ObjectId) -> Result<Vec<ObjectId>> {
    if objects.is_shallow(id)? {
        return Ok(Vec::new());
    }
    let data = objects.read_kind(id, Kind::Commit)?;
    Ok(CommitRefIter::from_bytes(&data, HASH)
        .parent_ids()
        .collect())
}

/// The tree of a commit.
pub(crate) fn tree_of(objects: &Objects, id: &ObjectId) -> Result<ObjectId> {
    let data = objects.read_kind(id, Kind::Commit)?;
    CommitRefIter::from_bytes(&data, HASH)
        .tree_id()
        .map_err(|_| corrupt("a commit that is not valid"))
}
