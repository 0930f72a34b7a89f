//! The output of a build: the component and the project's NAME.toml. Both are read once, so that the served files are
//! the tested files.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use bytes::Bytes;

use super::error::RebuildError;
use crate::cli::out;
use larder_author as author;
use larder_config::Project;
use larder_model::name::{Digest, ProviderName};
use larder_model::toml_depth::check_depth;

/// A component that was built.
#[derive(Debug, Clone)]
pub(super) struct Component {
    bytes: Bytes,
    digest: Digest,
}

impl Component {
    pub(super) fn read(path: &Path) -> Result<Self, RebuildError> {
        let bytes = fs::read(path).map_err(|error| RebuildError::NoComponent {
            path: path.to_owned(),
            error,
        })?;
        Ok(Self {
            digest: Digest::of(&bytes),
            bytes: bytes.into(),
        })
    }
}

/// A folder that the component receives in addition to its grants.
#[derive(Debug, Clone)]
pub(super) struct AddedFolder {
    pub(super) host: PathBuf,
    pub(super) guest: &'static str,
}

pub(super) struct BuildOutput {
    name: ProviderName,
    component: Component,
    /// The project's NAME.toml, if it has one.
    grant_request: Option<Vec<u8>>,
    added_folder: Option<AddedFolder>,
}

impl BuildOutput {
    pub(super) fn new(project: &Project, component: Component) -> Result<Self, RebuildError> {
        let path = project.folder.join(grant_request_file(&project.name));
        let grant_request = match fs::read(&path) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(RebuildError::Unreadable { path, error }),
        };
        Ok(Self {
            name: project.name.clone(),
            component,
            grant_request,
            added_folder: None,
        })
    }

    /// Adds a folder that the component can read.
    pub(super) fn with_folder(self, host: PathBuf, guest: &'static str) -> Self {
        Self {
            added_folder: Some(AddedFolder { host, guest }),
            ..self
        }
    }

    pub(super) fn digest(&self) -> Digest {
        self.component.digest
    }

    /// The content of NAME.toml. If the file has an error, the added folder is not added to it, so that the error has
    /// the lines of the author's file.
    fn request(&self, is_valid: impl Fn(&str) -> bool) -> Option<Vec<u8>> {
        let Some(folder) = &self.added_folder else {
            return self.grant_request.clone();
        };
        let text = match &self.grant_request {
            Some(text) => std::str::from_utf8(text).ok().filter(|text| is_valid(text)),
            None => Some(""),
        };
        let with_folder = text.and_then(|text| folder.added_to(text));
        with_folder
            .map(String::into_bytes)
            .or_else(|| self.grant_request.clone())
    }
}

impl AddedFolder {
    /// Adds the folder to a grant request. None if its `dirs` are no list.
    fn added_to(&self, text: &str) -> Option<String> {
        check_depth(text).ok()?;
        let mut document: toml_edit::DocumentMut = text.parse().ok()?;
        let dirs = document
            .entry("dirs")
            .or_insert_with(|| toml_edit::value(toml_edit::Array::new()))
            .as_array_mut()?;
        let mut folder = toml_edit::InlineTable::new();
        folder.insert("host", self.host.to_str()?.into());
        folder.insert("guest", self.guest.into());
        dirs.push(folder);
        Some(document.to_string())
    }
}

/// A plugins folder, which may contain other files.
pub(super) struct PluginsFolder {
    folder: PathBuf,
    /// Whether no other program writes into the folder.
    is_own: bool,
    /// The NAME.toml that this process wrote into the folder.
    grant_request: Option<Vec<u8>>,
    /// The component that this process wrote into the folder.
    component: Option<Digest>,
}

impl PluginsFolder {
    /// A folder into which other programs may write too.
    pub(super) fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            is_own: false,
            grant_request: None,
            component: None,
        }
    }

    /// A folder into which no other program writes.
    pub(super) fn own(folder: PathBuf) -> Self {
        Self {
            is_own: true,
            ..Self::new(folder)
        }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes NAME.toml and the component. Both are renamed after both were written, NAME.toml first, because a server
    /// loads a file soon after its rename.
    pub(super) fn write(
        &mut self,
        output: &BuildOutput,
        is_valid: impl Fn(&str) -> bool,
    ) -> Result<(), RebuildError> {
        let path = self.folder.join(grant_request_file(&output.name));
        let request = output.request(is_valid);
        let component = if self.is_own && self.component == Some(output.digest()) {
            None
        } else {
            Some(author::Replacement::write(
                &self.folder.join(format!("{}.wasm", output.name)),
                &output.component.bytes,
            )?)
        };
        self.write_request(&path, request.as_deref())?;
        self.grant_request = request;
        if let Some(component) = component {
            component.apply()?;
            self.component = Some(output.digest());
        }
        Ok(())
    }

    fn write_request(&self, path: &Path, request: Option<&[u8]>) -> Result<(), RebuildError> {
        match request {
            Some(text) => Ok(author::replace(path, text)?),
            None => self.remove(path),
        }
    }

    /// Removes a NAME.toml that this process wrote. Keeps a file with other content.
    fn remove(&self, path: &Path) -> Result<(), RebuildError> {
        let failed = author::DiskError::at(path);
        match fs::read(path) {
            Ok(text) if Some(&text) == self.grant_request.as_ref() => {
                Ok(fs::remove_file(path).map_err(failed)?)
            }
            Ok(_) => {
                let path = path.display();
                out::note(&format!(
                    "larder: {path} does not belong to this project, and remains in effect"
                ));
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

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(text: &str, expected: Expect) {
        let folder = AddedFolder {
            host: "/tmp/a b/1".into(),
            guest: "/larder-dev",
        };
        expected.assert_eq(&folder.added_to(text).unwrap_or_default());
    }

    #[test]
    fn adds_a_folder_to_a_grant_request() {
        check(
            "",
            expect![[r#"
            dirs = [{ host = "/tmp/a b/1", guest = "/larder-dev" }]
        "#]],
        );
        check(
            "# mine\ndirs = ['docs', { host = 'x' }] # two\n[settings]\na = 1\n",
            expect![[r##"
            # mine
            dirs = ['docs', { host = 'x' }, { host = "/tmp/a b/1", guest = "/larder-dev" }] # two
            [settings]
            a = 1
        "##]],
        );
        check(
            "hosts = ['https://example.com']\n[settings]\na = 1\n",
            expect![[r#"
            hosts = ['https://example.com']
            dirs = [{ host = "/tmp/a b/1", guest = "/larder-dev" }]
            [settings]
            a = 1
        "#]],
        );
        check("dirs = 1", expect![""]);
        check("dirs = [", expect![""]);
    }
}
