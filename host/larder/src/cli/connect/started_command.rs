//! The command with which a client starts this program.

use std::path::{Path, PathBuf};

use super::super::error::CommandError;
use crate::connect::Server;
use larder_config::{self as config, DEFAULT_FILE, Overrides};
use larder_model::name::TeamName;

/// `larder serve --stdio` with these options.
pub(super) struct StartedCommand<'a> {
    pub(super) config: Option<&'a Path>,
    pub(super) plugins: Option<&'a Path>,
    pub(super) team: Option<&'a TeamName>,
    pub(super) resource_tools: bool,
}

impl StartedCommand<'_> {
    /// Checks that the configuration can be served, and returns the command with absolute paths: clients start it in
    /// any folder.
    pub(super) fn server(&self) -> Result<Server, CommandError> {
        // Without `--config`, larder would read the file of the project in whose folder the client is started.
        let config = self.config.unwrap_or(Path::new(DEFAULT_FILE));
        config::load(&self.overrides(config))?
            .require_plugins_folders()?
            .over_stdio()?;
        let mut args = vec![
            "serve".to_owned(),
            "--stdio".into(),
            "--config".into(),
            absolute(config)?,
        ];
        if let Some(plugins) = self.plugins {
            args.extend(["--plugins".into(), absolute(plugins)?]);
        }
        if let Some(team) = self.team {
            args.extend(["--team".into(), team.as_str().into()]);
        }
        if self.resource_tools {
            args.push("--resource-tools".into());
        }
        Ok(Server::Program {
            command: text(&this_program()?)?,
            args,
        })
    }

    fn overrides(&self, config: &Path) -> Overrides {
        Overrides {
            config: Some(config.to_owned()),
            plugins: self.plugins.map(ToOwned::to_owned),
            team: self.team.cloned(),
            ..Overrides::default()
        }
    }
}

/// Returns the command that serves these folders, whose paths are absolute, without a configuration.
pub(in crate::cli) fn up_command(folders: &[impl AsRef<str>]) -> Result<Server, CommandError> {
    let mut args = vec!["up".to_owned(), "--stdio".into()];
    args.extend(folders.iter().map(|folder| folder.as_ref().to_owned()));
    Ok(Server::Program {
        command: text(&this_program()?)?,
        args,
    })
}

/// The path of this program. If the same program is in `PATH`, for example as a symlink that a package manager updates,
/// returns the path in `PATH`, because it stays valid.
fn this_program() -> Result<PathBuf, CommandError> {
    let program = std::env::current_exe().map_err(CommandError::input("larder"))?;
    let folders = config::variable("PATH").unwrap_or_default();
    let name = program.file_name().unwrap_or_default().to_owned();
    let is_this = |path: &PathBuf| {
        path.is_absolute() && path.canonicalize().ok() == program.canonicalize().ok()
    };
    Ok(std::env::split_paths(&folders)
        .map(|folder| folder.join(&name))
        .find(is_this)
        .unwrap_or(program))
}

pub(super) fn absolute(path: &Path) -> Result<String, CommandError> {
    text(&std::path::absolute(path).map_err(CommandError::input(path))?)
}

/// JSON and TOML contain text only.
fn text(path: &Path) -> Result<String, CommandError> {
    path.to_str().map(ToOwned::to_owned).ok_or_else(|| {
        let error =
            std::io::Error::other("its path is not UTF-8, so that no configuration can name it");
        CommandError::input(path)(error)
    })
}
