//! Branches, tags and `HEAD`: loose references, and references in `packed-refs`.

use std::collections::BTreeMap;

use gix_hash::ObjectId;
use larder_provider::{Result, warn};

use crate::git_dir::GitDir;

/// The maximum size of `packed-refs`.
const MAX_PACKED: u64 = 32 << 20;
/// How often a reference may refer to another one.
const MAX_SYMBOLIC: usize = 5;
const MAX_DEPTH: usize = 16;

/// The target of `HEAD`.
#[derive(Debug, PartialEq)]
pub(crate) enum Head {
    Branch(String),
    Detached(ObjectId),
}

/// The references of a repository.
pub(crate) struct Refs<'a> {
    git_dir: &'a GitDir,
    max: usize,
}

impl<'a> Refs<'a> {
    pub(crate) fn new(git_dir: &'a GitDir, max: usize) -> Self {
        Self { git_dir, max }
    }

    /// The target of `HEAD`; `None` if it is not valid.
    pub(crate) fn head(&self) -> Result<Option<Head>> {
        let text = self.git_dir.small(&["HEAD"])?.unwrap_or_default();
        Ok(match text.trim().strip_prefix("ref: refs/heads/") {
            Some(branch) => Some(Head::Branch(branch.to_owned())),
            None => ObjectId::from_hex(text.trim().as_bytes())
                .ok()
                .map(Head::Detached),
        })
    }

    /// The object of a reference with a full name, such as `HEAD` and `refs/heads/main`.
    pub(crate) fn find(&self, name: &str) -> Result<Option<ObjectId>> {
        let mut name = name.to_owned();
        for _ in 0..MAX_SYMBOLIC {
            if !is_valid(&name) {
                return Ok(None);
            }
            let Some(text) = self.git_dir.small(&name.split('/').collect::<Vec<_>>())? else {
                return Ok(self.packed()?.remove(&name));
            };
            match text.trim().strip_prefix("ref: ") {
                Some(other) => name = other.to_owned(),
                None => return Ok(ObjectId::from_hex(text.trim().as_bytes()).ok()),
            }
        }
        Ok(None)
    }

    /// All references whose full names begin with this folder, such as `refs/heads/`. The returned names omit the
    /// folder.
    pub(crate) fn all(&self, folder: &str) -> Result<BTreeMap<String, ObjectId>> {
        let mut all = self.packed()?.split_off(folder);
        all.retain(|name, _| name.starts_with(folder));
        let mut names = Vec::new();
        self.add_loose(folder.trim_end_matches('/'), &mut names, MAX_DEPTH)?;
        for name in names {
            if let Some(id) = self.find(&name)? {
                all.insert(name, id);
            }
        }
        if all.len() > self.max {
            warn!(
                "there are more than {} references in {folder} (setting `max_refs`): the others are missing",
                self.max
            );
        }
        let names = all.into_iter().take(self.max);
        Ok(names
            .map(|(name, id)| (name[folder.len()..].to_owned(), id))
            .collect())
    }

    fn add_loose(&self, folder: &str, found: &mut Vec<String>, depth: usize) -> Result<()> {
        for (name, is_folder) in self.git_dir.names(&folder.split('/').collect::<Vec<_>>())? {
            let name = format!("{folder}/{name}");
            if !is_valid(&name) || found.len() > self.max {
                continue;
            }
            match is_folder {
                false => found.push(name),
                true if depth > 0 => self.add_loose(&name, found, depth - 1)?,
                true => {}
            }
        }
        Ok(())
    }

    fn packed(&self) -> Result<BTreeMap<String, ObjectId>> {
        let bytes = match self.git_dir.read(&["packed-refs"], MAX_PACKED) {
            Err(larder_provider::Error::NotFound) => return Ok(BTreeMap::new()),
            bytes => bytes?,
        };
        let text = String::from_utf8_lossy(&bytes);
        let lines = text.lines().filter(|line| !line.starts_with(['#', '^']));
        let pairs = lines.filter_map(|line| line.split_once(' '));
        let valid = pairs.filter_map(|(id, name)| {
            Some((name.to_owned(), ObjectId::from_hex(id.as_bytes()).ok()?))
        });
        Ok(valid.filter(|(name, _)| is_valid(name)).collect())
    }
}

/// Whether a full name of a reference is valid as the path of a file.
fn is_valid(name: &str) -> bool {
    let is_valid_part = |part: &str| {
        let is_safe = !part.is_empty()
            && !part.starts_with('.')
            && !part.ends_with(".lock")
            && !part.contains("..");
        is_safe
            && !part.contains(|c: char| {
                c.is_control() || matches!(c, ' ' | '~' | '^' | ':' | '?' | '*' | '[' | '\\')
            })
    };
    (name == "HEAD" || name.starts_with("refs/")) && name.split('/').all(is_valid_part)
}

#[cfg(test)]
mod tests {
    use super::is_valid;

    #[test]
    fn names_of_references_are_safe_paths() {
        for name in [
            "HEAD",
            "refs/heads/main",
            "refs/heads/a/b-c.d",
            "refs/tags/v1.0",
            "refs/heads/ü#%",
        ] {
            assert!(is_valid(name), "{name}");
        }
        for name in [
            "",
            "config",
            "refs/../config",
            "refs/heads/.x",
            "refs//x",
            "refs/heads/a.lock",
            "refs/a:b",
            "refs/a\0",
        ] {
            assert!(!is_valid(name), "{name}");
        }
    }
}
