//! Creates projects: a small provider in any language, with the SDK and bindings that its build needs.

use std::fs;
use std::path::{Path, PathBuf};

use super::bindings::{self, BindingsError, BindingsLanguage};
use super::disk::{self, DiskError, Files};
use super::project_files::{self, ProjectLanguage};

/// The maximum length of a project name.
const MAX_NAME_LENGTH: usize = 64;

/// Why no project was created. Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum ScaffoldError {
    /// The name is not valid as a package, a provider and a URI scheme.
    #[error(
        "`{0}` cannot be the name: use up to {MAX_NAME_LENGTH} lower-case letters, digits or `-`, beginning with a \
         letter, such as `my-notes`"
    )]
    Name(String),
    /// The name of the SDK package, or a name whose NAME.toml would collide with another file.
    #[error("`{0}` is reserved; choose another name")]
    Reserved(String),
    /// The folder exists.
    #[error("{} exists already; choose another name, or another folder with `--path`", .0.display())]
    Exists(PathBuf),
    /// The files could not be written.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The bindings could not be generated.
    #[error(transparent)]
    Bindings(#[from] BindingsError),
}

impl ScaffoldError {
    /// Returns whether the input is wrong.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Name(_) | Self::Reserved(_) | Self::Exists(_) => true,
            Self::Disk(_) | Self::Bindings(_) => false,
        }
    }
}

/// Creates a project atomically.
pub fn scaffold(language: ProjectLanguage, name: &str, folder: &Path) -> Result<(), ScaffoldError> {
    check_name(name)?;
    if fs::symlink_metadata(folder).is_ok() {
        return Err(ScaffoldError::Exists(folder.to_owned()));
    }
    write_project(folder, &files(language, name)?)?;
    Ok(())
}

fn check_name(name: &str) -> Result<(), ScaffoldError> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let fits = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.len() <= MAX_NAME_LENGTH
        && name.chars().all(plain)
        && !name.ends_with('-');
    match name {
        "larder" | "larder-dev" | "larder-provider" => Err(ScaffoldError::Reserved(name.to_owned())),
        _ if fits => Ok(()),
        _ => Err(ScaffoldError::Name(name.escape_debug().take(80).collect())),
    }
}

fn files(language: ProjectLanguage, name: &str) -> Result<Files, ScaffoldError> {
    let mut files = Files::new();
    add(&mut files, "", project_files::template(language), name);
    for (folder, texts) in project_files::sdk(language) {
        add(&mut files, &format!("{folder}/"), texts, name);
    }
    if language == ProjectLanguage::C {
        // For the other languages the compiler reads the contract, or the SDK contains bindings.
        let bindings = bindings::bindings(&BindingsLanguage::C, &[])?;
        files.extend(bindings.into_iter().map(|(path, bytes)| (format!("bindings/{path}"), bytes)));
    }
    Ok(files)
}

fn add(files: &mut Files, folder: &str, texts: &[(&str, &str)], name: &str) {
    for (path, text) in texts {
        let text = text.replace("@NAME@", name).replace("@VERSION@", env!("CARGO_PKG_VERSION"));
        files.insert(format!("{folder}{path}"), text.into_bytes());
    }
}

/// Writes into a temporary folder and renames it, so that an interruption leaves no partial project.
fn write_project(folder: &Path, files: &Files) -> Result<(), DiskError> {
    let failed = |error| DiskError { path: folder.to_owned(), error };
    let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let new = tempfile::Builder::new().prefix(".larder-new-").tempdir_in(parent).map_err(failed)?;
    let inside = new.path().join("project");
    disk::write_into(&inside, files)?;
    fs::rename(&inside, folder).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_names() {
        for good in ["a", "my-notes", "x2"] {
            assert!(check_name(good).is_ok(), "{good}");
        }
        for bad in ["", "My", "2x", "a b", "a/b", "../a", "-a", "a-", "ä", "a_b", &"x".repeat(65)] {
            assert!(matches!(check_name(bad), Err(ScaffoldError::Name(_))), "{bad:?}");
        }
        for taken in ["larder", "larder-dev", "larder-provider"] {
            assert!(matches!(check_name(taken), Err(ScaffoldError::Reserved(_))), "{taken}");
        }
    }

    #[test]
    fn writes_a_complete_project_or_nothing() {
        let root = tempfile::tempdir().unwrap();
        let here = || fs::read_dir(root.path()).unwrap().count();
        let folder = root.path().join("notes");
        for language in [
            ProjectLanguage::Rust,
            ProjectLanguage::Python,
            ProjectLanguage::JavaScript,
            ProjectLanguage::Go,
            ProjectLanguage::C,
        ] {
            scaffold(language, "notes", &folder).unwrap();
            assert_eq!(here(), 1);
            assert!(matches!(scaffold(language, "notes", &folder), Err(ScaffoldError::Exists(_))));
            for name in files(language, "notes").unwrap().keys() {
                let text = fs::read(folder.join(name)).unwrap();
                assert!(!String::from_utf8_lossy(&text).contains("@NAME@"), "{name}");
            }
            fs::remove_dir_all(&folder).unwrap();
        }
        assert!(scaffold(ProjectLanguage::C, "not a name", &folder).is_err());
        let error = scaffold(ProjectLanguage::C, "notes", &root.path().join("gone/notes")).unwrap_err();
        assert!(matches!(error, ScaffoldError::Disk(_)), "{error}");
        assert_eq!(here(), 0);
    }
}
