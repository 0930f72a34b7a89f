//! What a build made: the component, and what it asks for. They are read once, so that what was tried is what is
//! served, and go into a folder together.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::LoadError;
use crate::author;
use crate::cli::out;
use crate::config::Project;
use crate::name::{Digest, ProviderName};

pub(super) struct Made {
    name: ProviderName,
    component: Vec<u8>,
    /// The project's NAME.toml, if it has one.
    asks: Option<Vec<u8>>,
}

impl Made {
    pub(super) fn read(project: &Project) -> Result<Self, LoadError> {
        let path = &project.component;
        let component = fs::read(path).map_err(|error| LoadError::Unbuilt { path: path.clone(), error })?;
        let path = project.folder.join(beside(&project.name));
        let asks = match fs::read(&path) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(LoadError::Unreadable { path, error }),
        };
        Ok(Self { name: project.name.clone(), component, asks })
    }

    pub(super) fn digest(&self) -> String {
        Digest::of(&self.component).to_string()
    }
}

/// A folder with what was made, and what somebody else put there.
pub(super) struct Shelf {
    folder: PathBuf,
    /// The NAME.toml that was put there.
    asks: Option<Vec<u8>>,
}

impl Shelf {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder, asks: None }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The component, after what it asks for: so the two are seen together.
    pub(super) fn put(&mut self, made: &Made) -> Result<(), LoadError> {
        let path = self.folder.join(beside(&made.name));
        match &made.asks {
            Some(text) => author::replace(&path, text)?,
            None => self.take_away(&path)?,
        }
        self.asks.clone_from(&made.asks);
        Ok(author::replace(&self.folder.join(format!("{}.wasm", made.name)), &made.component)?)
    }

    /// What was taken out of the project is not in force any more; but what others wrote is theirs.
    fn take_away(&self, path: &Path) -> Result<(), LoadError> {
        let failed = |error| author::DiskError { path: path.to_owned(), error };
        match fs::read(path) {
            Ok(text) if Some(&text) == self.asks.as_ref() => Ok(fs::remove_file(path).map_err(failed)?),
            Ok(_) => {
                out::note(&format!("larder: {} is not of this project, and stays in force", path.display()));
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) => Err(failed(error).into()),
        }
    }
}

fn beside(name: &ProviderName) -> String {
    format!("{name}.toml")
}
