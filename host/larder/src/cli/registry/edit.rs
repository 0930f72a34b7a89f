//! Changes of `larder.toml`. The whole file is checked before it is written.

use std::path::{Path, PathBuf};

use crate::cli::error::{CommandError, RegistryCommandError};
use crate::connect::{ConfigFile, Readers};
use crate::toml_text::TomlTextError;
use larder_config::{self as config, Overrides};

/// A configuration file that is being edited.
pub(super) struct EditedFile {
    file: ConfigFile,
    path: PathBuf,
}

impl EditedFile {
    pub(super) fn read(path: &Path) -> Result<Self, CommandError> {
        Ok(Self {
            file: ConfigFile::read(path)?,
            path: path.to_owned(),
        })
    }

    pub(super) fn text(&self) -> Result<&str, CommandError> {
        Ok(self.file.text()?)
    }

    /// Checks that a text would be a valid configuration.
    pub(super) fn check(&self, text: &str) -> Result<(), CommandError> {
        let overrides = Overrides {
            config: Some(self.path.clone()),
            ..Overrides::default()
        };
        Ok(config::check_text(text, &overrides)?)
    }

    /// Replaces the text, unless another program has changed the file since it was read.
    pub(super) fn replace(&self, text: &str) -> Result<(), CommandError> {
        Ok(self.file.replace(Some(text), Readers::Default, None)?)
    }

    /// The error for a text that cannot be edited.
    pub(super) fn cannot_edit(&self, reason: TomlTextError) -> CommandError {
        RegistryCommandError::Edit {
            path: self.path.clone(),
            reason,
        }
        .into()
    }
}
