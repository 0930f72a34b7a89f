//! Why a client's configuration was not changed.

use std::io;
use std::path::PathBuf;

use super::client::Client;
use crate::toml_text::TomlTextError;

/// The reason. In each of these cases the file is unchanged.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectError {
    #[error("cannot read {}: {error}", path.display())]
    Read { path: PathBuf, error: io::Error },
    #[error("cannot write {}: {error}", path.display())]
    Write { path: PathBuf, error: io::Error },
    #[error("{} is not a file", .0.display())]
    NotAFile(PathBuf),
    #[error("{} is read-only: make it writable, or change it where it is managed", .0.display())]
    ReadOnly(PathBuf),
    #[error("another program changed {} at the same time, so nothing was written: run the command again", .0.display())]
    Changed(PathBuf),
    #[error("{} was not changed, because {reason}", path.display())]
    Broken { path: PathBuf, reason: EditError },
    #[error(
        "{name} cannot connect to a URL from its configuration file: leave out --url so that it starts larder, or add \
         the URL as a connector in its settings",
        name = .0.name()
    )]
    NoUrls(Client),
    #[error("{name} has no configuration file for a project: run the command without --project", name = .0.name())]
    NoProjectFile(Client),
    #[error("{0} is not set, so the client's folder is not known: use --file")]
    NoHome(&'static str),
    #[error(
        "the variable {variable} is not set: {name} cannot read variables in its file, so the token itself must be \
         written",
        name = client.name()
    )]
    NoToken { client: Client, variable: String },
}

/// Why a text cannot be edited.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum EditError {
    #[error("it is not valid: {0}")]
    Invalid(String),
    #[error("it is not UTF-8 text")]
    NotText,
    #[error("{0} is not a table of keys and values")]
    NotATable(String),
    #[error("`{0}` is there twice")]
    Duplicate(String),
    #[error(
        "its entry `{0}` is for another program: use --name for another entry, or change it by hand"
    )]
    Foreign(String),
}

impl From<TomlTextError> for EditError {
    fn from(error: TomlTextError) -> Self {
        match error {
            TomlTextError::Invalid(message) => Self::Invalid(message),
            TomlTextError::NotATable(what) => Self::NotATable(what),
        }
    }
}

impl ConnectError {
    /// Whether the user has to change the command or the file.
    pub(crate) fn is_usage(&self) -> bool {
        !matches!(
            self,
            Self::Read { .. } | Self::Write { .. } | Self::Changed(_)
        )
    }
}
