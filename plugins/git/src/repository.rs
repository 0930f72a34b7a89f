//! A granted repository: its entries, and what its URIs return.

use gix_hash::ObjectId;
use gix_object::Kind;
use larder_provider::{Completion, Content, Error, Result};
use provider_support::disk::Disk;
use provider_support::{digest, mime};

use crate::address::{self, Target};
use crate::git_dir::GitDir;
use crate::log;
use crate::objects::Objects;
use crate::pages;
use crate::refs::{Head, Refs};
use crate::revision::{self, is_fixed};
use crate::settings::Settings;
use crate::tree::{self, Type};

/// The maximum number of branches and of tags on the page of a repository.
const MAX_LINES: usize = 1000;
pub(crate) const HEADS: &str = "refs/heads/";
pub(crate) const TAGS: &str = "refs/tags/";

/// A repository and its name in URIs.
pub(crate) struct Repository {
    pub(crate) name: String,
    pub(crate) objects: Objects,
    max_refs: usize,
    max_bytes: usize,
}

/// The object that a URI returns, before its content is built: the version is known from ids alone.
pub(crate) struct ResolvedUri<'a> {
    target: &'a Target,
    pub(crate) version: String,
    /// Whether the URI will always return the same.
    pub(crate) is_fixed: bool,
    commit: Option<ObjectId>,
    /// The commit with which a diff begins.
    since: Option<ObjectId>,
    object: Option<(Type, ObjectId)>,
}

impl Repository {
    pub(crate) fn open(path: &str, disk: Disk, settings: &Settings) -> Result<Self> {
        let name = path
            .trim_end_matches('/')
            .rsplit('/')
            .next()
            .unwrap_or_default();
        let name = name
            .strip_suffix(".git")
            .filter(|name| !name.is_empty())
            .unwrap_or(name);
        if !address::is_repository_name(name) {
            return Err(Error::Failed(format!(
                "the folder is granted as `{path}`, but the name of a repository consists of lower-case letters, \
                 digits, `-`, `_` and `.`: set `guest`"
            )));
        }
        let git_dir =
            GitDir::open(disk).map_err(|error| Error::Failed(format!("{name}: {error}")))?;
        Ok(Self {
            name: name.to_owned(),
            objects: Objects::new(git_dir, settings.max_bytes),
            max_refs: settings.max_refs,
            max_bytes: usize::try_from(settings.max_bytes).unwrap_or(usize::MAX),
        })
    }

    pub(crate) fn refs(&self) -> Refs<'_> {
        Refs::new(&self.objects.git_dir, self.max_refs)
    }

    /// The commit of a revision.
    pub(crate) fn resolve(&self, revision: &str) -> Result<ObjectId> {
        revision::resolve(&self.objects, &self.refs(), revision)
    }

    /// Finds the object that a URI identifies.
    pub(crate) fn find<'a>(&self, target: &'a Target) -> Result<ResolvedUri<'a>> {
        let found = |commit: ObjectId, version: String, is_fixed| ResolvedUri {
            target,
            version,
            is_fixed,
            commit: Some(commit),
            since: None,
            object: None,
        };
        Ok(match target {
            Target::Repository => {
                let version = digest(&self.overview()?);
                ResolvedUri {
                    target,
                    version,
                    is_fixed: false,
                    commit: None,
                    since: None,
                    object: None,
                }
            }
            Target::Commit { revision } => {
                let commit = self.resolve(revision)?;
                found(commit, commit.to_string(), is_fixed(revision))
            }
            Target::File { revision, path } => {
                let commit = self.resolve(revision)?;
                let object = tree::find(
                    &self.objects,
                    revision::tree_of(&self.objects, &commit)?,
                    path,
                )?;
                ResolvedUri {
                    object: Some(object),
                    ..found(commit, object.1.to_string(), is_fixed(revision))
                }
            }
            Target::Diff {
                revision, since, ..
            } => {
                let (commit, since_commit) = (self.resolve(revision)?, self.resolve(since)?);
                let version = format!("{since_commit}..{commit}");
                let since_commit = Some(since_commit);
                ResolvedUri {
                    since: since_commit,
                    ..found(commit, version, is_fixed(revision) && is_fixed(since))
                }
            }
            Target::Log { revision, .. } => {
                let commit = self.resolve(revision)?;
                found(commit, commit.to_string(), is_fixed(revision))
            }
        })
    }

    /// The content of the object.
    pub(crate) fn content(&self, found: &ResolvedUri<'_>) -> Result<Content> {
        let commit = || found.commit.ok_or(Error::NotFound);
        let plain = |text: String, mime: &str| Ok(Content::text(text).mime(mime));
        match found.target {
            Target::Repository => plain(self.overview()?, "text/markdown"),
            Target::Commit { .. } => plain(pages::commit(&self.objects, &commit()?)?, "text/plain"),
            Target::Log { range, .. } => plain(
                log::page(&self.objects, &self.name, &commit()?, *range)?,
                "text/markdown",
            ),
            Target::Diff { path, .. } => {
                let since = found.since.ok_or(Error::NotFound)?;
                plain(
                    pages::diff(&self.objects, &since, &commit()?, path, self.max_bytes)?,
                    "text/x-diff",
                )
            }
            Target::File { path, .. } => {
                let (kind, id) = found.object.ok_or(Error::NotFound)?;
                self.file(path, kind, &id)
            }
        }
    }

    /// Returns the beginning of a file. `None` if the file is not text, or too large.
    pub(crate) fn text(&self, name: &str, id: &ObjectId, max: usize) -> Option<String> {
        if mime::from_name(name).is_some_and(mime::is_binary) {
            return None;
        }
        let bytes = self.objects.read_kind(id, Kind::Blob).ok()?;
        mime::text(name, &bytes[..bytes.len().min(max)])
    }

    fn file(&self, path: &[String], kind: Type, id: &ObjectId) -> Result<Content> {
        let name = path.last().map(String::as_str).unwrap_or_default();
        match kind {
            Type::Folder => {
                Ok(Content::text(pages::folder(&self.objects, id)?).mime("inode/directory"))
            }
            Type::Submodule => Err(Error::Invalid(format!(
                "`{name}` is a submodule at the commit {id}"
            ))),
            Type::Link => {
                let target = self.objects.read_kind(id, Kind::Blob)?;
                Ok(Content::text(String::from_utf8_lossy(&target)).mime("inode/symlink"))
            }
            Type::File => Ok(mime::content(name, self.objects.read_kind(id, Kind::Blob)?)),
        }
    }

    /// The page of the repository: `HEAD`, branches and tags.
    fn overview(&self) -> Result<String> {
        let (refs, mut page) = (self.refs(), format!("# {}\n\n", self.name));
        match refs.head()? {
            Some(Head::Branch(branch)) => page.push_str(&format!("HEAD is the branch {branch}.\n")),
            Some(Head::Detached(id)) => page.push_str(&format!("HEAD is the commit {id}.\n")),
            None => page.push_str("HEAD is not valid.\n"),
        }
        for (title, folder) in [("Branches", HEADS), ("Tags", TAGS)] {
            let all = refs.all(folder)?;
            page.push_str(&format!("\n## {title}\n\n"));
            for (name, id) in all.iter().take(MAX_LINES) {
                page.push_str(&format!(
                    "- [{name}]({}) {id}\n",
                    address::commit(&self.name, name)
                ));
            }
            if all.len() > MAX_LINES {
                page.push_str(&format!("- … and {} more\n", all.len() - MAX_LINES));
            }
        }
        Ok(page)
    }

    /// Completes a revision with `HEAD`, branches and tags.
    pub(crate) fn complete_revision(&self, typed: &str) -> Result<Completion> {
        let refs = self.refs();
        let mut names = vec!["HEAD".to_owned()];
        for folder in [HEADS, TAGS] {
            names.extend(
                refs.all(folder)?
                    .into_keys()
                    .map(|name| address::value(&name)),
            );
        }
        names[1..].sort_unstable();
        names.dedup();
        Ok(Completion::matching(names, typed))
    }

    /// Completes a path with the names in its last folder.
    pub(crate) fn complete_path(&self, revision: &str, typed: &str) -> Result<Completion> {
        let folder = typed.rsplit_once('/').map(|(folder, _)| folder);
        let path: Vec<String> = folder
            .into_iter()
            .flat_map(|folder| folder.split('/'))
            .map(str::to_owned)
            .collect();
        let parent = folder
            .map(|folder| format!("{folder}/"))
            .unwrap_or_default();
        let commit = self.resolve(&revision.replace(':', "/"))?;
        let root = revision::tree_of(&self.objects, &commit)?;
        let (Type::Folder, id) = tree::find(&self.objects, root, &path)? else {
            return Ok(Completion::default());
        };
        let names = tree::read(&self.objects, &id)?
            .items
            .into_iter()
            .map(|item| {
                let slash = if item.kind == Type::Folder { "/" } else { "" };
                format!("{parent}{}{slash}", item.name)
            });
        Ok(Completion::matching(names, typed))
    }
}
