//! Where what we remember is kept, out of reach of those who may write into the plugins folder.

use std::path::{Path, PathBuf};

use toml::Spanned;

use super::Conversion;

impl Conversion<'_> {
    pub(super) fn state_dir(&mut self, written: Option<&Spanned<PathBuf>>, plugins: &[PathBuf]) -> PathBuf {
        let Some(written) = written else {
            return self.own_state_dir();
        };
        let path = self.place.folder.join(written.get_ref());
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if plugins.iter().any(|plugins| path.starts_with(plugins) || real(&path).starts_with(real(plugins))) {
            let what = "is inside the plugins folder, where a component's author could approve it: choose a folder elsewhere";
            self.fault(&written.span(), format!("{} {what}", path.display()));
        }
        path
    }

    /// As the service manager says, or as the XDG base directories do; else where services have theirs.
    fn own_state_dir(&self) -> PathBuf {
        let named = |name: &str| self.env.get(name).map(PathBuf::from).filter(|path| path.is_absolute());
        named("STATE_DIRECTORY")
            .or_else(|| named("XDG_STATE_HOME").map(|state| state.join("larder")))
            .or_else(|| named("HOME").map(|home| home.join(".local/state/larder")))
            .unwrap_or_else(|| "/var/lib/larder".into())
    }
}
