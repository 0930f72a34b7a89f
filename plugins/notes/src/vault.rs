//! The folder with the notes. Names that begin with a dot are not visible.

use std::time::Instant;

use larder_provider::{Error, Result, cancelled, warn};
use provider_support::disk::{self, Disk, Stat};
use provider_support::uri;

use crate::settings::Settings;

const EXTENSION: &str = ".md";

/// The path of a note: folders, and the name without extension.
pub(crate) type Path = Vec<String>;

/// The granted folder.
pub(crate) struct Vault {
    disk: Disk,
    pub(crate) settings: Settings,
}

impl Vault {
    pub(crate) fn new(disk: Disk, settings: Settings) -> Self {
        Self { disk, settings }
    }

    /// The only granted folder; `None` if no folder is granted.
    pub(crate) fn granted(settings: Settings) -> Result<Option<Self>> {
        let mut folders = disk::granted();
        match (folders.pop(), folders.len()) {
            (Some((_, disk)), 0) => Ok(Some(Self::new(disk, settings))),
            (None, _) => Ok(None),
            (_, more) => Err(Error::Failed(format!(
                "{} folders are granted: grant one, and install this component once for each folder",
                more + 1
            ))),
        }
    }

    /// All notes, sorted by URI.
    pub(crate) fn paths(&self) -> Vec<Path> {
        let (mut found, mut folders) = (Vec::new(), vec![Vec::new()]);
        while let Some(folder) = folders.pop() {
            if cancelled() || found.len() > self.settings.max_notes {
                break;
            }
            self.read_folder(&folder, &mut found, &mut folders);
        }
        if found.len() > self.settings.max_notes {
            warn!(
                "there are more than {} notes (setting `max_notes`): the others are missing",
                self.settings.max_notes
            );
            found.truncate(self.settings.max_notes);
        }
        found.sort_by_cached_key(|path| crate::address::page(path));
        found
    }

    /// Adds the notes of a folder. A folder that cannot be read does not hide other folders.
    fn read_folder(&self, folder: &[String], found: &mut Vec<Path>, folders: &mut Vec<Path>) {
        let entries = match self.disk.entries(folder) {
            Ok(entries) => entries,
            Err(error) => return warn!("the folder `{}` is not listed: {error}", folder.join("/")),
        };
        let room = self
            .settings
            .max_notes
            .saturating_add(1)
            .saturating_sub(found.len());
        let visible = entries.flatten().filter(|entry| is_visible(&entry.name));
        let mut notes = 0;
        for entry in visible {
            let path = |name: &str| folder.iter().cloned().chain([name.to_owned()]).collect();
            if entry.is_folder && folder.len() < self.settings.depth {
                folders.push(path(&entry.name));
            } else if let Some(name) = entry
                .name
                .strip_suffix(EXTENSION)
                .filter(|_| !entry.is_folder)
            {
                let path: Path = path(name);
                // A symbolic link can lead to anything.
                if !entry.is_file && self.stat(&path).is_err() {
                    continue;
                }
                found.push(path);
                notes += 1;
                if notes >= room {
                    return;
                }
            }
        }
    }

    /// The names in a folder that begin with a text, in the form of a completion: folders have a slash.
    pub(crate) fn names(&self, folder: &[String]) -> Vec<String> {
        if !folder.iter().all(|name| is_visible(name)) {
            return Vec::new();
        }
        let Ok(entries) = self.disk.entries(folder) else {
            return Vec::new();
        };
        let visible = entries.flatten().filter(|entry| is_visible(&entry.name));
        let names = visible.filter_map(|entry| match entry.is_folder {
            true => Some(entry.name + "/"),
            false => entry.name.strip_suffix(EXTENSION).map(str::to_owned),
        });
        let mut names: Vec<String> = names.take(self.settings.max_notes).collect();
        names.sort_unstable();
        names
    }

    pub(crate) fn stat(&self, path: &[String]) -> Result<Stat> {
        if !path.iter().all(|name| is_visible(name)) {
            return Err(Error::NotFound);
        }
        let stat = self.disk.stat(&file(path))?;
        if stat.is_file {
            Ok(stat)
        } else {
            Err(Error::NotFound)
        }
    }

    /// The text of a note.
    pub(crate) fn text(&self, path: &[String], stat: &Stat) -> Result<String> {
        text(self.disk.read(&file(path), stat, self.settings.max_bytes)?)
    }

    /// The beginning of a note. Its last character may be replaced.
    pub(crate) fn head(&self, path: &[String], bytes: usize) -> Result<String> {
        let head = self.disk.file(&file(path))?.read_at(0, bytes as u64)?;
        Ok(String::from_utf8_lossy(&head).into_owned())
    }

    /// Visits these notes of the list. Notes that cannot be read are skipped and reported.
    pub(crate) fn visit(&self, paths: &[Path], visit: impl FnMut(usize, &str)) -> Result<()> {
        self.visit_until(paths, None, visit).map(drop)
    }

    /// Like [`Self::visit`], until a time. Returns how many notes were visited.
    pub(crate) fn visit_until(
        &self,
        paths: &[Path],
        end: Option<Instant>,
        mut visit: impl FnMut(usize, &str),
    ) -> Result<usize> {
        for (at, path) in paths.iter().enumerate() {
            if cancelled() {
                return Err(Error::Unavailable("the request was cancelled".to_owned()));
            }
            if end.is_some_and(|end| Instant::now() >= end) {
                return Ok(at);
            }
            match self
                .disk
                .read_at_most(&file(path), self.settings.max_bytes)
                .and_then(text)
            {
                Ok(note) => visit(at, &note),
                Err(Error::NotFound) => {}
                Err(error) => warn!("the note `{}` is skipped: {error}", path.join("/")),
            }
        }
        Ok(paths.len())
    }
}

fn text(bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes).map_err(|_| Error::invalid("the note is not UTF-8"))
}

/// The file of a note.
fn file(path: &[String]) -> Vec<String> {
    let mut file = path.to_vec();
    if let Some(name) = file.last_mut() {
        name.push_str(EXTENSION);
    }
    file
}

fn is_visible(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && uri::names(&uri::segment(name)).is_ok()
}
