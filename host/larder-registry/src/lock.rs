//! The lock file, which says which components are served, and in which revision. Its text depends only on its content,
//! so that it can be kept in version control.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use larder_model::name::Digest;
use larder_model::size;
use larder_model::toml_depth::check_depth;
use serde::{Deserialize, Serialize};

/// The name of the lock file, which is next to the configuration file.
pub const LOCK_FILE: &str = "larder.lock";

/// The version of the format.
const FORMAT: u32 = 1;
/// The maximum size in bytes: enough for some 10,000 components.
const MAX_SIZE: u64 = 8 << 20;
/// The beginning of each lock file.
const HEADER: &str =
    "# Written by `larder lock`. It records which components `larder serve --locked` serves.\n";

/// The content of a lock file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LockFile {
    components: BTreeMap<(Option<String>, String), LockedComponent>,
}

/// One component of a lock file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockedComponent {
    /// The team that serves the component. `None` if the configuration has no teams.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub team: Option<String>,
    /// The name of the component's provider.
    pub name: String,
    /// The reference in the configuration, or `file:` and the name of a file in the plugins folder.
    pub reference: String,
    /// The digest of the manifest. For a file, the digest of the component.
    #[serde(with = "digest_text")]
    pub digest: Digest,
    /// The digest of the component.
    #[serde(with = "digest_text")]
    pub component: Digest,
    /// The size of the component in bytes.
    pub size: u64,
    /// The verified signer of the component; none if the component was not verified.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub signer: Option<String>,
    /// The version of the contract that the component exports, such as `0.2.0`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub contract: Option<String>,
}

/// Why a lock file cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// The lock file does not exist.
    #[error("there is no {}: run `larder lock`", .0.display())]
    Missing(PathBuf),
    /// The lock file cannot be read or written.
    #[error("{}: {cause}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        cause: io::Error,
    },
    /// Another version of Larder wrote the lock file.
    #[error("{} has version {found}, and this version of Larder reads version {FORMAT}: update Larder", path.display())]
    UnknownVersion {
        /// The file.
        path: PathBuf,
        /// The version in the file.
        found: i64,
    },
    /// The lock file is damaged.
    #[error("{} is not a lock file: {cause}; restore it, or run `larder lock`", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The cause.
        cause: String,
    },
}

impl LockError {
    fn io(path: &Path, cause: io::Error) -> Self {
        Self::Io {
            path: path.to_owned(),
            cause,
        }
    }

    fn damaged(path: &Path, cause: String) -> Self {
        Self::Damaged {
            path: path.to_owned(),
            cause,
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    version: u32,
    #[serde(default)]
    component: Vec<LockedComponent>,
}

impl LockFile {
    /// Reads a lock file.
    pub fn read(path: &Path) -> Result<Self, LockError> {
        let io_error = |cause: io::Error| match cause.kind() {
            io::ErrorKind::NotFound => LockError::Missing(path.to_owned()),
            _ => LockError::io(path, cause),
        };
        let mut text = String::new();
        let read =
            fs::File::open(path).and_then(|file| file.take(MAX_SIZE + 1).read_to_string(&mut text));
        if read.map_err(io_error)? as u64 > MAX_SIZE {
            let cause = format!("it is larger than {}", size::show(MAX_SIZE));
            return Err(LockError::damaged(path, cause));
        }
        Self::parse(&text, path)
    }

    /// Parses the text of a lock file. Errors name this path.
    pub fn parse(text: &str, path: &Path) -> Result<Self, LockError> {
        let damaged = |cause: String| LockError::damaged(path, cause);
        check_depth(text).map_err(|error| damaged(error.to_string()))?;
        let table: toml::Table = text
            .parse()
            .map_err(|error: toml::de::Error| damaged(error.to_string()))?;
        match table.get("version").and_then(toml::Value::as_integer) {
            Some(version) if version == i64::from(FORMAT) => {}
            Some(found) => {
                return Err(LockError::UnknownVersion {
                    path: path.to_owned(),
                    found,
                });
            }
            None => return Err(damaged("it has no version".into())),
        }
        let parsed: Text = table
            .try_into()
            .map_err(|error: toml::de::Error| damaged(error.to_string()))?;
        let mut lock = Self::default();
        for component in parsed.component {
            let name = component.name.clone();
            if lock.insert(component).is_some() {
                return Err(damaged(format!("it has several components named {name}")));
            }
        }
        Ok(lock)
    }

    /// Returns the text of the file.
    pub fn to_text(&self) -> String {
        let text = Text {
            version: FORMAT,
            component: self.components.values().cloned().collect(),
        };
        // Strings, numbers and tables can always be written.
        HEADER.to_owned() + &toml::to_string(&text).unwrap_or_default()
    }

    /// Writes the file in one step: readers find the old or the new content.
    pub fn write(&self, path: &Path) -> Result<(), LockError> {
        let folder = folder_of(path);
        let write = || {
            let mut builder = tempfile::Builder::new();
            // The permissions are the same as for other files in the folder of the configuration: the umask applies.
            let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o666);
            let mut file = builder
                .prefix(".larder.lock.")
                .permissions(permissions)
                .tempfile_in(folder)?;
            file.write_all(self.to_text().as_bytes())?;
            file.as_file().sync_all()?;
            file.persist(path)?;
            fs::File::open(folder)?.sync_all()
        };
        write().map_err(|cause| LockError::io(path, cause))
    }

    /// Returns the component of a provider.
    pub fn get(&self, team: Option<&str>, name: &str) -> Option<&LockedComponent> {
        self.components
            .get(&(team.map(str::to_owned), name.to_owned()))
    }

    /// Adds a component. Returns the component that it replaces.
    pub fn insert(&mut self, component: LockedComponent) -> Option<LockedComponent> {
        self.components
            .insert((component.team.clone(), component.name.clone()), component)
    }

    /// Removes a component.
    pub fn remove(&mut self, team: Option<&str>, name: &str) -> Option<LockedComponent> {
        self.components
            .remove(&(team.map(str::to_owned), name.to_owned()))
    }

    /// Returns all components, sorted by team and name.
    pub fn components(&self) -> impl Iterator<Item = &LockedComponent> {
        self.components.values()
    }
}

fn folder_of(path: &Path) -> &Path {
    let folder = path.parent();
    folder
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// A digest in the form `sha256:…`.
mod digest_text {
    use larder_model::name::Digest;
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(digest: &Digest, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&format_args!("sha256:{digest}"))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Digest, D::Error> {
        Digest::parse(&String::deserialize(from)?).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn component(team: Option<&str>, name: &str) -> LockedComponent {
        LockedComponent {
            team: team.map(str::to_owned),
            name: name.into(),
            reference: format!("r.example/{name}:1"),
            digest: Digest::of(b"manifest"),
            component: Digest::of(b"component"),
            size: 9,
            signer: team.map(|_| "key release".to_owned()),
            contract: None,
        }
    }

    #[test]
    fn the_text_is_deterministic_and_read_again() {
        let mut one = LockFile::default();
        let mut other = LockFile::default();
        let components = [
            component(Some("docs"), "b"),
            component(None, "z"),
            component(Some("docs"), "a"),
        ];
        for component in &components {
            one.insert(component.clone());
        }
        for component in components.iter().rev() {
            other.insert(component.clone());
        }
        assert_eq!(one.to_text(), other.to_text());
        assert_eq!(
            LockFile::parse(&one.to_text(), Path::new("x")).unwrap(),
            one
        );
        let mut small = LockFile::default();
        small.insert(component(None, "wiki"));
        expect![[r#"
            # Written by `larder lock`. It records which components `larder serve --locked` serves.
            version = 1

            [[component]]
            name = "wiki"
            reference = "r.example/wiki:1"
            digest = "sha256:05b3abf2579a5eb66403cd78be557fd860633a1fe2103c7642030defe32c657f"
            component = "sha256:6985ca1f4daa5a584a28eae043a239cb96689af1337ea13afb63e00c2bf512fa"
            size = 9
        "#]]
        .assert_eq(&small.to_text());
    }

    /// Git can change the ends of lines.
    #[test]
    fn lines_may_end_as_on_windows() {
        let mut lock = LockFile::default();
        lock.insert(component(Some("docs"), "wiki"));
        let text = lock.to_text().replace('\n', "\r\n");
        assert_eq!(LockFile::parse(&text, Path::new("x")).unwrap(), lock);
    }

    #[test]
    fn refuses_what_it_does_not_know() {
        let path = Path::new("larder.lock");
        let text = component_text();
        for (text, expected) in [
            (
                "version = 2",
                "has version 2, and this version of Larder reads version 1",
            ),
            ("", "it has no version"),
            ("version = 1\nother = 1", "unknown field `other`"),
            ("version = ", "is not a lock file"),
            (
                &format!("version = 1\n{text}\n{text}"),
                "several components named wiki",
            ),
            (
                &format!("version = 1\n{text}extra = 1"),
                "unknown field `extra`",
            ),
            (
                &format!("version = 1\n{}", text.replace("sha256:", "sha512:")),
                "not a digest",
            ),
        ] {
            let error = LockFile::parse(text, path).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    fn component_text() -> String {
        let mut lock = LockFile::default();
        lock.insert(component(None, "wiki"));
        let text = lock.to_text();
        text.split_once("[[")
            .map(|(_, rest)| format!("[[{rest}"))
            .unwrap()
    }

    #[test]
    fn writes_in_one_step() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(LOCK_FILE);
        assert!(matches!(LockFile::read(&path), Err(LockError::Missing(_))));
        let mut lock = LockFile::default();
        for name in ["a", "b"] {
            lock.insert(component(None, name));
            lock.write(&path).unwrap();
            assert_eq!(LockFile::read(&path).unwrap(), lock);
        }
        assert_eq!(
            fs::read_dir(folder.path()).unwrap().count(),
            1,
            "no temporary file is left"
        );
    }

    #[test]
    fn a_deep_file_is_damaged() {
        let key = vec!["x"; 79].join(".");
        let tables = format!("{key} = {{").repeat(79) + "x = 1" + &"}".repeat(79);
        for deep in [tables, format!("component = {}", "[".repeat(100_000))] {
            let error =
                LockFile::parse(&format!("version = 1\n{deep}"), Path::new("x")).unwrap_err();
            assert!(
                error
                    .to_string()
                    .contains("nested more than 80 levels deep"),
                "{error}"
            );
        }
    }
}
