//! The files of the host itself. A folder that is granted to a provider must not contain them.

use std::fmt;
use std::path::{Path, PathBuf};

use super::{Access, Dir};

/// The purpose of a file or folder of the host. It decides which grants are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OwnFile {
    /// A plugins folder: a component in it gets the grants of its name.
    Plugins,
    /// The state folder, with the approvals.
    State,
    /// The cache of compiled components, with its key.
    Cache,
    /// The file of a secret.
    Secret,
    /// The configuration file.
    Configuration,
    /// The audit log.
    AuditLog,
    /// The components from registries.
    Store,
    /// A file that determines which signers are trusted.
    Trust,
}

/// The files of the host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OwnFiles(Vec<(OwnFile, PathBuf)>);

/// Why the host refuses a grant, or warns about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnFileConflict {
    file: OwnFile,
    path: PathBuf,
    access: Access,
    /// Whether the grant is refused; otherwise it is only unusual.
    pub is_refused: bool,
}

impl OwnFiles {
    /// Adds a file or folder, which need not exist yet.
    pub fn add(&mut self, file: OwnFile, path: &Path) {
        self.0.push((file, resolve_existing(path)));
    }

    /// Returns the first conflict of a grant. A conflict that is refused comes before all others. Blocks the calling
    /// thread.
    pub fn conflict(&self, dir: &Dir) -> Option<OwnFileConflict> {
        let granted = resolve_existing(&dir.host);
        let overlaps = |own: &Path| own.starts_with(&granted) || granted.starts_with(own);
        let mut conflicts: Vec<_> = self
            .0
            .iter()
            .filter(|(file, path)| file.concerns(dir.access) && overlaps(path))
            .map(|(file, path)| OwnFileConflict {
                file: *file,
                path: path.clone(),
                access: dir.access,
                is_refused: file.is_refused(dir.access),
            })
            .collect();
        conflicts.sort_by_key(|conflict| !conflict.is_refused);
        conflicts.into_iter().next()
    }
}

impl OwnFile {
    /// Whether a grant with this access to the file is refused or unusual.
    fn concerns(self, access: Access) -> bool {
        access == Access::Write || !matches!(self, Self::Plugins | Self::Store | Self::Trust)
    }

    /// A provider must not change these files, and must not read the secret ones.
    fn is_refused(self, access: Access) -> bool {
        access == Access::Write || matches!(self, Self::State | Self::Cache | Self::Secret)
    }
}

impl fmt::Display for OwnFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plugins => "the plugins folder",
            Self::State => "the state folder, which contains the approvals",
            Self::Cache => "the cache of compiled components",
            Self::Secret => "the file of a secret",
            Self::Configuration => "the configuration file",
            Self::AuditLog => "the audit log",
            Self::Store => "the store of components from registries",
            Self::Trust => "a key or trust root, which decides whose signatures are trusted",
        })
    }
}

impl fmt::Display for OwnFileConflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file;
        let path = self.path.display();
        let access = match self.access {
            Access::Read => "read",
            Access::Write => "change",
        };
        write!(
            f,
            "gives access to {file} ({path}), which the provider could {access}: grant another folder"
        )
    }
}

/// Resolves symbolic links in the part of the path that exists. Blocks the calling thread.
pub fn resolve_existing(path: &Path) -> PathBuf {
    let resolved = path.ancestors().find_map(|existing| {
        let resolved = existing.canonicalize().ok()?;
        Some(
            resolved
                .iter()
                .chain(path.strip_prefix(existing).ok()?)
                .collect(),
        )
    });
    resolved.unwrap_or_else(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own_files() -> OwnFiles {
        let mut own = OwnFiles::default();
        for (file, path) in [
            (OwnFile::Plugins, "/srv/plugins"),
            (OwnFile::State, "/srv/state"),
            (OwnFile::Cache, "/srv/cache"),
            (OwnFile::Secret, "/srv/keys/token"),
            (OwnFile::Configuration, "/srv/larder.toml"),
            (OwnFile::AuditLog, "/srv/log/audit.jsonl"),
        ] {
            own.add(file, Path::new(path));
        }
        own
    }

    #[test]
    fn resolves_what_exists_of_a_path() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap();
        std::os::unix::fs::symlink(&real, real.join("link")).unwrap();
        let resolve = |rest: &str| resolve_existing(&folder.path().join(rest)).into_os_string();
        assert_eq!(resolve("link"), real.clone().into_os_string());
        assert_eq!(
            resolve("link/new/file"),
            real.join("new/file").into_os_string()
        );
        assert_eq!(
            resolve_existing(Path::new("gone/file")),
            Path::new("gone/file")
        );
        // A path with as many parts as fit into a NAME.toml.
        let deep = "x/".repeat(32_000);
        assert_eq!(
            resolve(&deep),
            real.join(deep.trim_end_matches('/')).into_os_string()
        );
    }

    fn conflict(host: &str, access: Access) -> Option<(OwnFile, bool)> {
        let dir = Dir {
            host: host.into(),
            guest: "/x".into(),
            access,
            is_canonical: false,
        };
        own_files()
            .conflict(&dir)
            .map(|conflict| (conflict.file, conflict.is_refused))
    }

    #[test]
    fn nothing_of_the_host_may_be_changed() {
        for (host, file) in [
            ("/srv/plugins", OwnFile::Plugins),
            ("/srv/plugins/data", OwnFile::Plugins),
            ("/srv/state/approvals", OwnFile::State),
            ("/srv/cache", OwnFile::Cache),
            ("/srv/keys", OwnFile::Secret),
            ("/srv/log", OwnFile::AuditLog),
            ("/srv", OwnFile::Plugins),
            ("/", OwnFile::Plugins),
        ] {
            assert_eq!(conflict(host, Access::Write), Some((file, true)), "{host}");
        }
        assert_eq!(conflict("/srv/docs", Access::Write), None);
        assert_eq!(conflict("/srv/pluginsx", Access::Write), None);
    }

    #[test]
    fn only_what_is_secret_may_not_be_read() {
        for (host, expected) in [
            ("/srv/plugins", None),
            ("/srv/docs", None),
            ("/srv/log", Some((OwnFile::AuditLog, false))),
            ("/srv/keys", Some((OwnFile::Secret, true))),
            ("/srv/cache/x", Some((OwnFile::Cache, true))),
            ("/srv", Some((OwnFile::State, true))),
        ] {
            assert_eq!(conflict(host, Access::Read), expected, "{host}");
        }
    }
}
