//! Chooses the state folder for approvals. The folder must be outside the plugins folders: write access to a plugins
//! folder must not be sufficient to approve requests.

use std::path::{Path, PathBuf};

use toml::Spanned;

use super::{Conversion, absolute_path};
use crate::Overrides;

/// The state folder of the service, as the unit of systemd names it.
const SERVICE_FOLDER: &str = "/var/lib/larder";

impl Conversion<'_> {
    pub(super) fn state_dir(
        &mut self,
        raw: Option<&Spanned<PathBuf>>,
        overrides: &Overrides,
        plugins: &[PathBuf],
    ) -> PathBuf {
        let Some(raw) = raw else {
            return self.default_state_dir(overrides);
        };
        let path = self.context.folder.join(raw.get_ref());
        if plugins.iter().any(|plugins| is_inside(&path, plugins)) {
            let message = "is inside a plugins folder, where the author of a component could change approvals: choose another folder";
            self.error(&raw.span(), format!("{} {message}", path.display()));
        }
        path
    }

    /// Returns the default: the `STATE_DIRECTORY` of systemd, or the first of the possible folders.
    fn default_state_dir(&self, overrides: &Overrides) -> PathBuf {
        let determined = overrides
            .state_dir
            .clone()
            .or_else(|| self.env_folder("STATE_DIRECTORY"));
        determined.unwrap_or_else(|| self.default_state_dirs().swap_remove(0))
    }

    /// Returns the folders that may be the state folder of a server: the XDG state folder, the folder in the home
    /// folder, and the folder of the service. Empty if the state folder is determined.
    pub(super) fn possible_state_dirs(
        &self,
        raw: Option<&Spanned<PathBuf>>,
        overrides: &Overrides,
    ) -> Vec<PathBuf> {
        let is_determined = raw.is_some() || overrides.state_dir.is_some();
        if is_determined || self.env_folder("STATE_DIRECTORY").is_some() {
            return Vec::new();
        }
        self.default_state_dirs()
    }

    fn default_state_dirs(&self) -> Vec<PathBuf> {
        let xdg = self
            .env_folder("XDG_STATE_HOME")
            .map(|state| state.join("larder"));
        let home = self
            .env_folder("HOME")
            .map(|home| home.join(".local/state/larder"));
        xdg.into_iter()
            .chain(home)
            .chain([SERVICE_FOLDER.into()])
            .collect()
    }

    fn env_folder(&self, name: &str) -> Option<PathBuf> {
        absolute_path(self.env, name)
    }
}

fn is_inside(path: &Path, folder: &Path) -> bool {
    path.starts_with(folder) || real_path(path).starts_with(real_path(folder))
}

fn real_path(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
