//! The texts for commits, folders and diffs.

use std::fmt::Write as _;
use std::time::Duration;

use gix_hash::ObjectId;
use gix_object::{CommitRefIter, Kind};
use imara_diff::{Algorithm, BasicLineDiffPrinter, Diff, InternedInput, UnifiedDiffConfig};
use larder_provider::{Error, Result};
use provider_support::rfc3339;

use crate::changes::{Change, Changes, MAX_CHANGES};
use crate::objects::Objects;
use crate::revision::{HASH, parents_of, tree_of};
use crate::tree::{self, Type};

/// The maximum size of a file that is compared line by line.
const MAX_COMPARED: usize = 1 << 20;

/// A commit like `git show --name-status`.
pub(crate) fn commit(objects: &Objects, id: &ObjectId) -> Result<String> {
    let data = objects.read_kind(id, Kind::Commit)?;
    let read = || CommitRefIter::from_bytes(&data, HASH);
    let mut page = format!("commit {id}\n");
    let parents = parents_of(objects, id)?;
    for parent in &parents {
        _ = writeln!(page, "Parent: {parent}");
    }
    for (role, who) in [
        ("Author", read().author()),
        ("Committer", read().committer()),
    ] {
        let Ok(who) = who else { continue };
        _ = writeln!(
            page,
            "{role}: {} <{}>, {}",
            who.name,
            who.email,
            time(who.seconds())
        );
    }
    page.push('\n');
    for line in
        String::from_utf8_lossy(read().message().map(|text| &**text).unwrap_or_default()).lines()
    {
        _ = writeln!(page, "    {line}");
    }
    if objects.is_shallow(id)? {
        page.push_str(
            "\nThe parents and changed paths are not in this repository, which is a shallow clone.\n",
        );
        return Ok(page);
    }
    let before = parents
        .first()
        .map(|parent| tree_of(objects, parent))
        .transpose()?;
    let changes = Changes::between(objects, before, Some(tree_of(objects, id)?))?;
    page.push('\n');
    for change in &changes.changes {
        _ = writeln!(page, "{}  {}", change.letter(), change.path);
    }
    if changes.has_more {
        _ = writeln!(page, "… more than {MAX_CHANGES} paths");
    }
    Ok(page)
}

/// The names in a folder, with a slash for folders and an `@` for submodules.
pub(crate) fn folder(objects: &Objects, id: &ObjectId) -> Result<String> {
    let tree = tree::read(objects, id)?;
    let mut page = String::new();
    for item in &tree.items {
        let mark = match item.kind {
            Type::Folder => "/",
            Type::Submodule => "@",
            Type::File | Type::Link => "",
        };
        _ = writeln!(page, "{}{mark}", item.name);
    }
    if tree.unnamed > 0 {
        _ = writeln!(
            page,
            "… and {} whose names are not UTF-8 or not allowed, which cannot be served",
            tree.unnamed
        );
    }
    Ok(page)
}

pub(crate) fn time(seconds: i64) -> String {
    let since_1970 = Duration::from_secs(u64::try_from(seconds).unwrap_or_default());
    rfc3339(since_1970).unwrap_or_else(|| "at an unknown time".to_owned())
}

/// The differences between two commits, below a path, as a unified diff.
pub(crate) fn diff(
    objects: &Objects,
    from: &ObjectId,
    to: &ObjectId,
    path: &[String],
    max: usize,
) -> Result<String> {
    let (old, new) = (root(objects, from, path)?, root(objects, to, path)?);
    if old.is_none() && new.is_none() {
        return Err(Error::NotFound);
    }
    let changes = match (old, new) {
        (Some((Type::Folder, _)) | None, Some((Type::Folder, _)) | None) => {
            Changes::between(objects, old.map(|(_, id)| id), new.map(|(_, id)| id))?
        }
        _ => Changes {
            changes: vec![Change {
                path: String::new(),
                old,
                new,
            }],
            has_more: false,
        },
    };
    let mut page = String::new();
    for change in &changes.changes {
        let names = path
            .iter()
            .map(String::as_str)
            .chain([change.path.as_str()])
            .filter(|name| !name.is_empty());
        page.push_str(&file_diff(
            objects,
            &names.collect::<Vec<_>>().join("/"),
            change,
        )?);
        if page.len() > max {
            return Err(Error::too_large(
                "the diff",
                max as u64,
                "setting `max_bytes`; or name a `path`",
            ));
        }
    }
    if changes.has_more {
        _ = writeln!(page, "… more than {MAX_CHANGES} paths");
    }
    Ok(page)
}

/// What is at a path of a commit; `None` if the path does not exist.
fn root(objects: &Objects, commit: &ObjectId, path: &[String]) -> Result<Option<(Type, ObjectId)>> {
    match tree::find(objects, tree_of(objects, commit)?, path) {
        Ok((Type::Folder, id)) => Ok(Some((Type::Folder, id))),
        Ok(found) => Ok(Some(found)),
        Err(Error::NotFound) => Ok(None),
        Err(error) => Err(error),
    }
}

fn file_diff(objects: &Objects, path: &str, change: &Change) -> Result<String> {
    let mut page = format!("diff --git a/{path} b/{path}\n");
    let (old, new) = (text(objects, change.old)?, text(objects, change.new)?);
    let name = |side: char, text: &Side| match text {
        Side::Missing => "/dev/null".to_owned(),
        _ => format!("{side}/{path}"),
    };
    _ = writeln!(page, "--- {}\n+++ {}", name('a', &old), name('b', &new));
    match (old.lines(), new.lines()) {
        (Ok(old), Ok(new)) => page.push_str(&lines_diff(old, new)),
        (Err(reason), _) | (_, Err(reason)) => _ = writeln!(page, "{reason}"),
    }
    Ok(page)
}

fn lines_diff(old: &str, new: &str) -> String {
    let input = InternedInput::new(old, new);
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    diff.unified_diff(
        &BasicLineDiffPrinter(&input.interner),
        UnifiedDiffConfig::default(),
        &input,
    )
    .to_string()
}

/// One side of a change.
enum Side {
    Missing,
    Text(String),
    /// Not compared for this reason.
    Other(&'static str),
}

impl Side {
    fn lines(&self) -> Result<&str, &'static str> {
        match self {
            Self::Missing => Ok(""),
            Self::Text(text) => Ok(text),
            Self::Other(reason) => Err(reason),
        }
    }
}

fn text(objects: &Objects, side: Option<(Type, ObjectId)>) -> Result<Side> {
    let Some((kind, id)) = side else {
        return Ok(Side::Missing);
    };
    match kind {
        Type::Submodule => return Ok(Side::Text(format!("Subproject commit {id}\n"))),
        Type::Folder => return Ok(Side::Missing),
        Type::File | Type::Link => {}
    }
    let data = match objects.read_kind(&id, Kind::Blob) {
        // An object beyond the limit.
        Err(Error::Invalid(_)) => return Ok(Side::Other("The file is too large to be compared")),
        data => data?,
    };
    if data.len() > MAX_COMPARED {
        return Ok(Side::Other("The file is too large to be compared"));
    }
    let is_text = !data.contains(&0);
    let text = String::from_utf8(data).ok().filter(|_| is_text);
    Ok(text.map_or(Side::Other("Binary files differ"), Side::Text))
}
