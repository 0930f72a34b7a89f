//! The folders that `larder up` serves, and their names for clients.

mod large;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::home;
use crate::cli::error::FolderError;

/// One folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServedFolder {
    /// The path without symbolic links.
    pub(super) path: String,
    /// The name for clients, which no other folder has.
    pub(super) name: String,
    /// Whether the folder is a repository that the provider `git` can serve.
    pub(super) is_repository: bool,
    /// Whether the history belongs to a repository in another folder.
    is_linked: bool,
}

/// All folders, in the order of the command line. There is at least one.
#[derive(Debug)]
pub(super) struct ServedFolders(Vec<ServedFolder>);

impl ServedFolders {
    /// Checks the folders. Without any, takes the current folder.
    pub(super) fn find(named: Vec<PathBuf>) -> Result<Self, FolderError> {
        let named = if named.is_empty() {
            vec![".".into()]
        } else {
            named
        };
        let home = home();
        let home = home.and_then(|home| home.canonicalize().ok());
        let mut paths = BTreeSet::new();
        let mut names = BTreeSet::new();
        let mut folders = Vec::new();
        for path in named {
            let path = checked(&path, home.as_deref())?;
            if !paths.insert(path.clone()) {
                continue;
            }
            let name = unique(&name_of(&path), &names);
            names.insert(name.clone());
            folders.push(ServedFolder::new(path, name)?);
        }
        Ok(Self(folders))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &ServedFolder> {
        self.0.iter()
    }

    /// The name of the first folder.
    pub(super) fn name(&self) -> &str {
        self.0.first().map_or("folder", |folder| &folder.name)
    }

    /// What these folders do not offer, for the user.
    pub(super) fn notes(&self) -> Vec<String> {
        let linked = self.0.iter().filter(|folder| folder.is_linked);
        let mut notes: Vec<_> = linked
            .map(|folder| {
                format!(
                    "note: {} is a linked worktree or a submodule, so its history is not served",
                    folder.path
                )
            })
            .collect();
        if let [first, _, ..] = self.0.as_slice() {
            notes.push(format!(
                "note: the provider `notes` serves only one folder, which is {}",
                first.path
            ));
        }
        notes
    }

    /// Reports folders that are too large to be watched and searched completely, as soon as they are counted.
    pub(super) fn report_large_ones(&self) {
        let paths = self.0.iter().map(|folder| PathBuf::from(&folder.path));
        large::report(paths.collect());
    }
}

impl ServedFolder {
    fn new(path: PathBuf, name: String) -> Result<Self, FolderError> {
        let repository = path.join(".git");
        let is_repository = repository.is_dir();
        let is_linked = repository.is_file();
        match path.into_os_string().into_string() {
            Ok(path) => Ok(Self {
                path,
                name,
                is_repository,
                is_linked,
            }),
            Err(path) => Err(FolderError::NotText(path.into())),
        }
    }
}

/// Returns the path without links, if the folder can be served.
fn checked(path: &Path, home: Option<&Path>) -> Result<PathBuf, FolderError> {
    let unreadable = |error| FolderError::Unreadable {
        path: path.to_owned(),
        error,
    };
    let real = path.canonicalize().map_err(unreadable)?;
    if !real.is_dir() {
        return Err(FolderError::NotAFolder(path.to_owned()));
    }
    if real.parent().is_none() {
        return Err(FolderError::FileSystem(real));
    }
    if let Some(home) = home.filter(|home| home.starts_with(&real)) {
        return Err(FolderError::Home {
            path: real,
            example: home.join("Documents"),
        });
    }
    // Without this, a client would see an empty list.
    std::fs::read_dir(&real).map_err(unreadable)?;
    Ok(real)
}

/// The name of a folder, in the characters that every client and every URI accepts.
fn name_of(path: &Path) -> String {
    const MAX_LENGTH: usize = 40;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_plain = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_');
    let plain: String = name
        .chars()
        .map(|char| if is_plain(char) { char } else { '-' })
        .collect();
    let plain = plain.trim_matches(['-', '_']);
    match plain.get(..MAX_LENGTH.min(plain.len())) {
        Some(name) if !name.is_empty() => name.to_owned(),
        _ => "folder".into(),
    }
}

/// Adds a number to a name that another folder has.
fn unique(name: &str, taken: &BTreeSet<String>) -> String {
    if !taken.contains(name) {
        return name.to_owned();
    }
    (2..)
        .map(|number| format!("{name}-{number}"))
        .find(|name| !taken.contains(name))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_and_unique() {
        for (path, name) in [
            ("/srv/notes", "notes"),
            ("/srv/My Notes (old)", "My-Notes--old"),
            ("/srv/.config", "config"),
            ("/srv/日本語", "folder"),
            ("/srv/v1.2", "v1-2"),
        ] {
            assert_eq!(name_of(Path::new(path)), name, "{path}");
        }
        assert_eq!(
            name_of(Path::new(&format!("/{}", "n".repeat(99)))).len(),
            40
        );
        let taken = BTreeSet::from(["docs".to_owned(), "docs-2".to_owned()]);
        assert_eq!(unique("docs", &taken), "docs-3");
        assert_eq!(unique("src", &taken), "src");
    }

    #[test]
    fn dangerous_folders_are_refused() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let home = root.join("ada");
        std::fs::create_dir_all(home.join("Documents")).unwrap();
        std::fs::write(root.join("file"), "").unwrap();
        let check = |path: &Path| match checked(path, Some(&home)) {
            Ok(_) => "served".to_owned(),
            Err(error) => error.to_string(),
        };
        assert_eq!(check(&home.join("Documents")), "served");
        assert!(check(&home).contains("contains your home folder"));
        assert!(check(&root).contains("contains your home folder"));
        assert!(check(Path::new("/")).contains("the whole file system"));
        assert!(check(&root.join("file")).contains("is a file"));
        assert!(check(&root.join("missing")).contains("cannot read the folder"));
    }
}
