//! The output of a build: the component and the project's NAME.toml. They are read once, so that the files
//! that are served are those that were tested.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::LoadError;
use crate::cli::out;
use crate::config::Project;
use larder_author as author;
use larder_model::name::{Digest, ProviderName};

pub(super) struct BuildOutput {
    name: ProviderName,
    component: Vec<u8>,
    /// The project's NAME.toml, if it has one.
    grant_request: Option<Vec<u8>>,
}

impl BuildOutput {
    pub(super) fn read(project: &Project) -> Result<Self, LoadError> {
        let path = &project.component;
        let component =
            fs::read(path).map_err(|error| LoadError::NoComponent { path: path.clone(), error })?;
        let path = project.folder.join(grant_request_file(&project.name));
        let grant_request = match fs::read(&path) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(LoadError::Unreadable { path, error }),
        };
        Ok(Self { name: project.name.clone(), component, grant_request })
    }

    pub(super) fn digest(&self) -> String {
        Digest::of(&self.component).to_string()
    }
}

/// A plugins folder, which may contain other files.
pub(super) struct PluginsFolder {
    folder: PathBuf,
    /// The NAME.toml that was written there.
    grant_request: Option<Vec<u8>>,
}

impl PluginsFolder {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder, grant_request: None }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes NAME.toml before the component, so that a server sees both together.
    pub(super) fn write(&mut self, output: &BuildOutput) -> Result<(), LoadError> {
        let path = self.folder.join(grant_request_file(&output.name));
        match &output.grant_request {
            Some(text) => author::replace(&path, text)?,
            None => self.remove(&path)?,
        }
        self.grant_request.clone_from(&output.grant_request);
        Ok(author::replace(&self.folder.join(format!("{}.wasm", output.name)), &output.component)?)
    }

    /// Removes a NAME.toml that was written here. Keeps one that has other content.
    fn remove(&self, path: &Path) -> Result<(), LoadError> {
        let failed = |error| author::DiskError { path: path.to_owned(), error };
        match fs::read(path) {
            Ok(text) if Some(&text) == self.grant_request.as_ref() => {
                Ok(fs::remove_file(path).map_err(failed)?)
            }
            Ok(_) => {
                let path = path.display();
                out::note(&format!("larder: {path} does not belong to this project, and remains in effect"));
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) => Err(failed(error).into()),
        }
    }
}

fn grant_request_file(name: &ProviderName) -> String {
    format!("{name}.toml")
}
