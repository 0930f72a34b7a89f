//! Brings the copy of the SDK in a project up to date. A record beside the files of the SDK has the version and the
//! digest of each file, so that files that the author edited are found, and are not overwritten.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;

use super::disk::{self, DiskError, Files};
use super::scaffold::sdk;
use super::sdk_record::{FOLDERS, RECORD, SdkRecord, digest};

/// Why the SDK cannot be upgraded. No file was changed.
#[derive(Debug, thiserror::Error)]
pub enum UpgradeError {
    /// There is no record.
    #[error(
        "there is no {RECORD} in the SDK of this project: run `larder sdk LANGUAGE` once, which replaces all files of the \
         SDK"
    )]
    NoRecord,
    /// The record was edited.
    #[error(
        "{0} is not valid: run `larder sdk LANGUAGE` once, which replaces all files of the SDK"
    )]
    InvalidRecord(String),
    /// A file cannot be read.
    #[error("cannot read {path}: {error}")]
    Read {
        /// The path in the project.
        path: String,
        /// The error of the operating system.
        error: io::Error,
    },
}

/// What happens to a file of the SDK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileChange {
    /// The file is new in this version, or was removed from the project.
    Add,
    /// The file differs from the one of the recorded version.
    Update,
    /// This version does not contain the file.
    Remove,
    /// The author edited the file, and this version has another one, which is written beside it.
    Conflict,
    /// The author edited the file, which is the same in this version, or is not contained in it.
    KeepEdited,
}

/// The steps of an upgrade.
#[derive(Debug)]
pub struct Upgrade {
    /// The version of the SDK in the project.
    pub from: String,
    /// The files that change, and those that the author edited.
    pub changes: BTreeMap<String, FileChange>,
    files: Files,
}

/// Returns the record of a project.
fn read_record(project: &Path) -> Result<SdkRecord, UpgradeError> {
    let paths = FOLDERS.map(|folder| format!("{folder}/{RECORD}"));
    for path in paths {
        if let Some(bytes) = read(project, &path)? {
            let text = String::from_utf8(bytes).ok();
            let record = text.and_then(|text| SdkRecord::parse(&text));
            return record.ok_or(UpgradeError::InvalidRecord(path));
        }
    }
    Err(UpgradeError::NoRecord)
}

fn read(project: &Path, path: &str) -> Result<Option<Vec<u8>>, UpgradeError> {
    match fs::read(project.join(path)) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(UpgradeError::Read {
            path: path.to_owned(),
            error,
        }),
    }
}

impl Upgrade {
    /// Compares the SDK in a project with the one of this version. Changes nothing.
    pub fn plan(project: &Path) -> Result<Self, UpgradeError> {
        let record = read_record(project)?;
        let files = sdk(record.language);
        let mut changes = BTreeMap::new();
        let paths: BTreeSet<_> = files.keys().chain(record.digests.keys()).collect();
        for path in paths.into_iter().filter(|path| !path.ends_with(RECORD)) {
            let present = read(project, path)?;
            let recorded = record.digests.get(path).map(String::as_str);
            let change = file_change(
                present.as_deref(),
                recorded,
                files.get(path).map(Vec::as_slice),
            );
            changes.extend(change.map(|change| (path.clone(), change)));
        }
        Ok(Self {
            from: record.version,
            changes,
            files,
        })
    }

    /// Writes the files. The record is last, so that an interrupted upgrade can be repeated.
    pub fn apply(&self, project: &Path) -> Result<(), DiskError> {
        for (path, change) in &self.changes {
            match change {
                FileChange::Add | FileChange::Update => self.write(project, path, path)?,
                FileChange::Conflict => self.write(project, path, &format!("{path}.new"))?,
                FileChange::Remove => remove(&project.join(path))?,
                FileChange::KeepEdited => {}
            }
        }
        let mut names = self.files.keys();
        let record = names.find(|path| path.ends_with(RECORD));
        record.map_or(Ok(()), |path| self.write(project, path, path))
    }

    fn write(&self, project: &Path, path: &str, to: &str) -> Result<(), DiskError> {
        let bytes = self.files.get(path).cloned().unwrap_or_default();
        disk::write_into(project, &Files::from([(to.to_owned(), bytes)]))
    }
}

/// Returns what happens to a file, from what the project has, what was recorded, and what this version contains.
fn file_change(
    present: Option<&[u8]>,
    recorded: Option<&str>,
    new: Option<&[u8]>,
) -> Option<FileChange> {
    if present == new {
        return None;
    }
    let Some(present) = present else {
        return Some(FileChange::Add);
    };
    let is_edited = recorded != Some(digest(present).as_str());
    let is_new_version = new.is_some_and(|new| recorded != Some(digest(new).as_str()));
    Some(match new {
        Some(_) if is_edited && is_new_version => FileChange::Conflict,
        _ if is_edited => FileChange::KeepEdited,
        Some(_) => FileChange::Update,
        None => FileChange::Remove,
    })
}

fn remove(path: &Path) -> Result<(), DiskError> {
    fs::remove_file(path).map_err(DiskError::at(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project_files::ProjectLanguage;
    use crate::sdk_record::record;

    #[test]
    fn a_file_that_was_edited_is_kept() {
        use FileChange::*;
        let check = |present, recorded: Option<&[u8]>, new, expected: Option<FileChange>| {
            let recorded = recorded.map(digest);
            assert_eq!(file_change(present, recorded.as_deref(), new), expected);
        };
        let (old, mine, new) = (Some(&b"old"[..]), Some(&b"mine"[..]), Some(&b"new"[..]));
        check(old, old, old, None);
        check(old, old, new, Some(Update));
        check(new, old, new, None);
        check(mine, old, new, Some(Conflict));
        check(mine, old, old, Some(KeepEdited));
        check(mine, None, new, Some(Conflict));
        check(None, old, new, Some(Add));
        check(None, None, new, Some(Add));
        check(old, old, None, Some(Remove));
        check(mine, old, None, Some(KeepEdited));
        check(None, old, None, None);
    }

    #[test]
    fn a_new_project_has_nothing_to_upgrade() {
        for language in ProjectLanguage::ALL {
            let project = tempfile::tempdir().unwrap();
            let error = Upgrade::plan(project.path()).unwrap_err();
            assert!(matches!(error, UpgradeError::NoRecord), "{error}");
            disk::write_into(project.path(), &sdk(language)).unwrap();
            let upgrade = Upgrade::plan(project.path()).unwrap();
            assert_eq!(upgrade.changes, BTreeMap::new());
            assert_eq!(upgrade.from, env!("CARGO_PKG_VERSION"));
        }
    }

    #[test]
    fn an_upgrade_replaces_what_was_not_edited() {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path();
        let mut old = sdk(ProjectLanguage::C);
        let record_path = format!("{}/{RECORD}", FOLDERS[0]);
        old.remove(&record_path);
        // An earlier version: two files differ, one is missing, and one is not part of this version any more.
        for path in ["larder.c", "larder.h"] {
            old.insert(format!("{}/{path}", FOLDERS[0]), b"old".to_vec());
        }
        old.remove("larder-provider/larder_json.c");
        old.insert("larder-provider/gone.c".into(), b"gone".to_vec());
        let (path, text) = record(ProjectLanguage::C, &old).unwrap();
        old.insert(path, text);
        disk::write_into(project, &old).unwrap();
        let at = |name: &str| project.join(FOLDERS[0]).join(name);
        fs::write(at("larder.h"), "mine").unwrap();
        let upgrade = Upgrade::plan(project).unwrap();
        upgrade.apply(project).unwrap();
        let changes: Vec<_> = upgrade.changes.values().copied().collect();
        use FileChange::*;
        assert_eq!(changes, [Remove, Update, Conflict, Add]);
        assert_eq!(fs::read_to_string(at("larder.h")).unwrap(), "mine");
        assert!(fs::read(at("larder.h.new")).unwrap().len() > 100);
        assert!(fs::read(at("larder.c")).unwrap().len() > 100 && !at("gone.c").exists());
        // The edited file is kept, and is not a conflict again.
        let again = Upgrade::plan(project).unwrap().changes;
        let changes: Vec<_> = again.into_values().collect();
        assert_eq!(changes, [KeepEdited]);
    }
}
