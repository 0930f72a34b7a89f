//! One granted folder: which URIs are inside, what is found there, and what comes next on a path.

mod found;

use std::fs;
use std::path::PathBuf;

use larder_provider::{Error, Result};

pub(crate) use self::found::Found;
use crate::settings::Settings;
use crate::uri;

/// A folder that the operator granted.
#[derive(Debug)]
pub(crate) struct Folder {
    /// Its URI, with a slash behind it.
    pub(crate) prefix: String,
    path: PathBuf,
}

/// One name in a folder.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Child {
    /// Its segment in a URI, with a slash behind that of a folder: sorting by this sorts the
    /// URIs of all that is below.
    pub(crate) segment: String,
    pub(crate) name: String,
    pub(crate) is_folder: bool,
}

/// The folders that this guest was granted.
pub(crate) fn granted() -> Vec<Folder> {
    granted_paths().into_iter().map(|path| Folder::new(&path, PathBuf::from(&path))).collect()
}

#[cfg(target_family = "wasm")]
fn granted_paths() -> Vec<String> {
    let folders = wasip2::filesystem::preopens::get_directories();
    folders.into_iter().map(|(_, path)| path).collect()
}

#[cfg(not(target_family = "wasm"))]
fn granted_paths() -> Vec<String> {
    Vec::new()
}

impl Folder {
    /// A folder granted under `guest`, to be found at `path`.
    pub(crate) fn new(guest: &str, path: PathBuf) -> Self {
        Self { prefix: uri::prefix(guest), path }
    }

    /// The last part of its path.
    pub(crate) fn name(&self) -> &str {
        self.prefix
            .trim_end_matches('/')
            .rsplit('/')
            .next()
            .filter(|name| !name.is_empty())
            .unwrap_or("files")
    }

    pub(crate) fn template(&self) -> String {
        format!("{}{{+path}}", self.prefix)
    }

    /// Whether a URI is this folder's, or is below it.
    pub(crate) fn holds(&self, uri: &str) -> bool {
        uri.starts_with(&self.prefix) || self.prefix.strip_suffix('/') == Some(uri)
    }

    /// What these names lead to.
    pub(crate) fn find(&self, names: &[String], settings: &Settings) -> Result<Found> {
        if !names.iter().all(|name| settings.shows(name)) {
            return Err(Error::NotFound);
        }
        Found::at(self.at(names))
    }

    /// What begins with what was typed: names in the folder that it has reached so far.
    pub(crate) fn suggest(&self, typed: &str, settings: &Settings) -> Vec<String> {
        let (reached, names): (&str, Vec<String>) = match typed.rsplit_once('/') {
            Some((above, _)) => (&typed[..=above.len()], above.split('/').map(str::to_owned).collect()),
            None => ("", Vec::new()),
        };
        let leads_down = |name: &String| !matches!(name.as_str(), "" | "." | "..") && settings.shows(name);
        if !names.iter().all(leads_down) {
            return Vec::new();
        }
        let children = self.children(&names, settings).unwrap_or_default();
        let suggestion = |child: Child| {
            let slash = if child.is_folder { "/" } else { "" };
            format!("{reached}{}{slash}", child.name)
        };
        children.into_iter().map(suggestion).collect()
    }

    /// What is directly below, in the order of its URIs.
    pub(crate) fn children(&self, names: &[String], settings: &Settings) -> Result<Vec<Child>> {
        found::children(&self.at(names), settings)
    }

    /// The same for names that a listing gave, which are known to be shown.
    pub(crate) fn look_at(&self, names: &[String]) -> Result<Found> {
        Found::at(self.at(names))
    }

    fn at(&self, names: &[String]) -> PathBuf {
        names.iter().fold(self.path.clone(), |path, name| path.join(name))
    }
}

/// Whether a name in a folder is itself a folder to go down into. A link is not: it may lead in a circle.
fn is_folder(entry: &fs::DirEntry) -> bool {
    entry.file_type().is_ok_and(|kind| kind.is_dir())
}
