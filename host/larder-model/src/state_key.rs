//! The key of the state that is stored for one plugins folder: approvals, pins of tools and values of providers.
//! Servers that share a state folder have different keys.

use std::fmt;
use std::path::{Path, PathBuf};

use super::name::{Digest, StateName, TeamName};

/// The beginning of keys that consist of a configured name. All other keys are absolute paths.
const NAMED: &str = "name:";

/// Identifies the state of one plugins folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct StateKey(String);

impl StateKey {
    /// The key of a plugins folder, with its path in the configuration. Links in the path are not followed: a
    /// deployment replaces such a link to switch to another release, and keeps the state.
    pub fn of_folder(plugins: &Path) -> Self {
        let absolute = std::path::absolute(plugins).unwrap_or_else(|_| plugins.to_owned());
        // The path has no `.` and no slash at the end. `..` stays, because the part before it may be a link.
        let path: PathBuf = absolute.components().collect();
        match path.to_str() {
            Some(text) => Self(text.to_owned()),
            // Two such paths may have the same text.
            None => {
                let digest = Digest::of(path.as_os_str().as_encoded_bytes()).short();
                Self(format!("{} ({digest})", path.display()))
            }
        }
    }

    /// The key of a team with a configured name. It does not depend on the plugins folder.
    pub fn named(name: &StateName, team: &TeamName) -> Self {
        Self(format!("{NAMED}{name}/{team}"))
    }

    /// The key with a text that [`Self::as_str`] returned.
    pub fn from_text(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The plugins folder. `None` for a key that consists of a name.
    pub fn folder(&self) -> Option<&Path> {
        (!self.0.starts_with(NAMED)).then(|| Path::new(&self.0))
    }

    /// The name for files and folders that belong to this key.
    pub fn file_name(&self) -> String {
        Digest::of(self.0.as_bytes()).short()
    }
}

impl fmt::Display for StateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&Path> for StateKey {
    fn from(plugins: &Path) -> Self {
        Self::of_folder(plugins)
    }
}

impl From<&PathBuf> for StateKey {
    fn from(plugins: &PathBuf) -> Self {
        Self::of_folder(plugins)
    }
}

impl From<&Self> for StateKey {
    fn from(key: &Self) -> Self {
        key.clone()
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    use super::*;

    #[test]
    fn the_key_of_a_folder_is_its_path_as_written() {
        for (path, key) in [
            ("/srv/plugins", "/srv/plugins"),
            ("/srv/./plugins//", "/srv/plugins"),
            ("/srv/current/../plugins", "/srv/current/../plugins"),
        ] {
            assert_eq!(StateKey::of_folder(Path::new(path)).as_str(), key);
        }
        let odd = |bytes: &[u8]| StateKey::of_folder(Path::new(OsStr::from_bytes(bytes)));
        assert_ne!(odd(b"/srv/\xff"), odd(b"/srv/\xfe"));
    }

    #[test]
    fn a_name_is_never_the_key_of_a_folder() {
        let key = StateKey::named(
            &StateName::parse("docs").unwrap(),
            &TeamName::default_team(),
        );
        assert_eq!((key.as_str(), key.folder()), ("name:docs/default", None));
        assert!(
            StateKey::of_folder(Path::new("name:docs/default"))
                .as_str()
                .starts_with('/')
        );
    }
}
