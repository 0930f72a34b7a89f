//! Chooses the state folder for approvals. It must be outside the plugins folders: write access to a plugins
//! folder must not be enough to approve requests.

use std::path::{Path, PathBuf};

use toml::Spanned;

use super::Conversion;

impl Conversion<'_> {
    pub(super) fn state_dir(&mut self, raw: Option<&Spanned<PathBuf>>, plugins: &[PathBuf]) -> PathBuf {
        let Some(raw) = raw else {
            return self.default_state_dir();
        };
        let path = self.context.folder.join(raw.get_ref());
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if plugins.iter().any(|plugins| path.starts_with(plugins) || real(&path).starts_with(real(plugins))) {
            let message = "is inside a plugins folder, where the author of a component could change approvals: choose another folder";
            self.error(&raw.span(), format!("{} {message}", path.display()));
        }
        path
    }

    /// Returns the default: the `STATE_DIRECTORY` of systemd, the XDG state folder, or `/var/lib/larder`.
    fn default_state_dir(&self) -> PathBuf {
        let variable = |name: &str| self.env.get(name).map(PathBuf::from).filter(|path| path.is_absolute());
        variable("STATE_DIRECTORY")
            .or_else(|| variable("XDG_STATE_HOME").map(|state| state.join("larder")))
            .or_else(|| variable("HOME").map(|home| home.join(".local/state/larder")))
            .unwrap_or_else(|| "/var/lib/larder".into())
    }
}
