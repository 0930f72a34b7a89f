//! A change of one configuration file. The change is first computed, then shown, and then written.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::client::{Client, Syntax};
use super::config_file::{ConfigFile, Readers};
use super::entry::{Entry, Server};
use super::error::{ConnectError, EditError};
use super::json_file::{self, Place};
use super::toml_file;

/// What is done with the entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    /// The entry is added, or updated.
    Set(Server),
    /// The entry is removed.
    Remove,
}

/// A change that can be shown and applied.
#[derive(Debug)]
pub(crate) struct Plan {
    target: Target,
    file: ConfigFile,
    backup: Backup,
    /// The new text. `None` deletes the file.
    text: Option<String>,
    readers: Readers,
}

/// The entry in the file.
#[derive(Debug, Clone)]
struct Target {
    client: Client,
    path: PathBuf,
    name: String,
}

/// What happens to the copy of the file before the entry was added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Backup {
    /// The backup still is the file without the entry.
    Keep,
    /// The content that was read becomes the backup.
    Write,
    /// The file becomes the backup again.
    Delete,
}

impl Plan {
    /// Reads the file, and computes the change.
    pub(crate) fn new(
        client: Client,
        path: &Path,
        name: &str,
        change: &Change,
    ) -> Result<Self, ConnectError> {
        let target = Target {
            client,
            path: path.to_owned(),
            name: name.to_owned(),
        };
        let file = ConfigFile::read(path)?;
        match change {
            Change::Set(server) => Self::set(target, file, server),
            Change::Remove => Self::remove(target, file),
        }
    }

    fn set(target: Target, file: ConfigFile, server: &Server) -> Result<Self, ConnectError> {
        let entry = Entry::new(target.client, server)?;
        let old = file.text()?;
        target.check_own(old)?;
        let text = target.with_entry(old, &entry)?;
        let backup = if target.original(&file)?.is_some() {
            Backup::Keep
        } else {
            Backup::Write
        };
        let has_token = matches!(server, Server::Url { token: Some(_), .. });
        let readers = if has_token {
            Readers::Owner
        } else {
            Readers::Default
        };
        Ok(Self {
            target,
            file,
            backup,
            text: Some(text),
            readers,
        })
    }

    fn remove(target: Target, file: ConfigFile) -> Result<Self, ConnectError> {
        let old = file.text()?;
        target.check_own(old)?;
        let (text, backup) = match target.original(&file)? {
            Some(original) => (original, Backup::Delete),
            None => (
                file.exists().then(|| target.without(old)).transpose()?,
                Backup::Write,
            ),
        };
        Ok(Self {
            target,
            file,
            backup,
            text,
            readers: Readers::Default,
        })
    }

    /// Whether the file needs no change.
    pub(crate) fn is_done(&self) -> bool {
        match &self.text {
            Some(text) => self.file.exists() && self.file.text().is_ok_and(|old| old == text),
            None => !self.file.exists(),
        }
    }

    /// Whether the file exists.
    pub(crate) fn file_exists(&self) -> bool {
        self.file.exists()
    }

    /// Whether the file is deleted, because it did not exist before the entry was added.
    pub(crate) fn deletes_file(&self) -> bool {
        self.text.is_none()
    }

    /// The difference as a unified diff, without bearer tokens.
    pub(crate) fn diff(&self) -> String {
        let name = self.target.path.display().to_string();
        let old = self.file.text().unwrap_or_default();
        let diff = similar::TextDiff::from_lines(old, self.text.as_deref().unwrap_or_default());
        let before = self.file.exists();
        let after = self.text.is_some();
        let header = |exists| if exists { name.as_str() } else { "/dev/null" };
        let diff = diff
            .unified_diff()
            .header(header(before), header(after))
            .to_string();
        diff.lines()
            .map(|line| without_token(line) + "\n")
            .collect()
    }

    /// Writes the change. Returns the path of the backup, if there is one.
    pub(crate) fn write(&self) -> Result<Option<PathBuf>, ConnectError> {
        let backup = self.target.backup();
        let is_new = self.backup == Backup::Write;
        self.file.replace(
            self.text.as_deref(),
            self.readers,
            is_new.then_some(&*backup),
        )?;
        if self.backup == Backup::Delete && backup.exists() {
            let failed = |error| ConnectError::Write {
                path: backup.clone(),
                error,
            };
            std::fs::remove_file(&backup).map_err(failed)?;
        }
        Ok(Some(backup).filter(|backup| self.file.exists() && backup.exists()))
    }
}

impl Target {
    fn backup(&self) -> PathBuf {
        let mut name = self
            .path
            .file_name()
            .map(OsString::from)
            .unwrap_or_default();
        name.push(format!(".{}-backup", self.name));
        self.path.with_file_name(name)
    }

    /// The file before the entry was added, if adding the entry to it results in the current file. `Some(None)` means
    /// that there was no file.
    fn original(&self, file: &ConfigFile) -> Result<Option<Option<String>>, ConnectError> {
        let current = file.text()?;
        let Some(entry) = self.entry(current)?.filter(Entry::is_complete) else {
            return Ok(None);
        };
        let backup = ConfigFile::read(&self.backup())?;
        // An older backup may have any content, so an error in it does not concern the file.
        let Ok(original) = backup.text() else {
            return Ok(None);
        };
        let is_original = matches!(self.entry(original), Ok(None))
            && self
                .with_entry(original, &entry)
                .is_ok_and(|text| text == current);
        Ok(is_original.then(|| backup.exists().then(|| original.to_owned())))
    }

    fn check_own(&self, text: &str) -> Result<(), ConnectError> {
        match self.entry(text)? {
            Some(entry) if entry.is_foreign() => {
                Err(self.broken(EditError::Foreign(self.name.clone())))
            }
            _ => Ok(()),
        }
    }

    fn entry(&self, text: &str) -> Result<Option<Entry>, ConnectError> {
        let found = match self.json_place() {
            Some(place) => json_file::entry(text, place),
            None => toml_file::entry(text, self.client.section(), &self.name),
        };
        found.map_err(|reason| self.broken(reason))
    }

    fn with_entry(&self, text: &str, entry: &Entry) -> Result<String, ConnectError> {
        let edited = match self.json_place() {
            Some(place) => json_file::set(text, place, entry),
            None => toml_file::set(text, self.client.section(), &self.name, entry),
        };
        edited.map_err(|reason| self.broken(reason))
    }

    fn without(&self, text: &str) -> Result<String, ConnectError> {
        let edited = match self.json_place() {
            Some(place) => json_file::remove(text, place),
            None => toml_file::remove(text, self.client.section(), &self.name),
        };
        edited.map_err(|reason| self.broken(reason))
    }

    /// The place of the entry in a JSON file. `None` for TOML.
    fn json_place(&self) -> Option<Place<'_>> {
        match self.client.syntax() {
            Syntax::Toml => None,
            syntax => Some(Place {
                syntax,
                section: self.client.section(),
                name: &self.name,
            }),
        }
    }

    fn broken(&self, reason: EditError) -> ConnectError {
        ConnectError::Broken {
            path: self.path.clone(),
            reason,
        }
    }
}

/// Replaces the text of a token in a line.
fn without_token(line: &str) -> String {
    const SCHEME: &str = "Bearer ";
    match line.split_once(SCHEME) {
        Some((before, token)) if !token.starts_with("${") => {
            let rest = token.find('"').map_or("", |at| &token[at..]);
            format!("{before}{SCHEME}(not shown){rest}")
        }
        _ => line.to_owned(),
    }
}
