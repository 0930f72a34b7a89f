//! New projects: a small provider in each language, with all that its build needs and this program can give.

use std::fs;
use std::path::{Path, PathBuf};

use super::bindings::{self, BindingsError, Language};
use super::disk::{self, DiskError, Files};
use super::kits;

/// Longer names make paths that nobody wants to type.
const LONGEST: usize = 64;

/// A language that a project can be in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kit {
    /// Rust, with our SDK.
    Rust,
    /// Python, through componentize-py.
    Python,
    /// JavaScript, in QuickJS.
    JavaScript,
    /// Go, as it is released.
    Go,
    /// C, with zig or clang.
    C,
}

/// Why there is no new project. Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum ScaffoldError {
    /// It would not do as a package, a provider and a scheme of URIs alike.
    #[error(
        "`{0}` cannot be the name: use up to {LONGEST} lower-case letters, digits or `-`, beginning with a \
         letter, such as `my-notes`"
    )]
    Name(String),
    /// The SDK is a package of that name, or its NAME.toml would be another file.
    #[error("`{0}` is what the SDK or a file of ours is called; choose another name")]
    Taken(String),
    /// Something is there.
    #[error("{} is there already; choose another name, or another folder with `--path`", .0.display())]
    Exists(PathBuf),
    /// It could not be written.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The bindings that belong to it could not be made.
    #[error(transparent)]
    Bindings(#[from] BindingsError),
}

impl ScaffoldError {
    /// Whether another command line would do.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Name(_) | Self::Taken(_) | Self::Exists(_) => true,
            Self::Disk(_) | Self::Bindings(_) => false,
        }
    }
}

/// Makes a project: all of it, or nothing.
pub fn scaffold(kit: Kit, name: &str, folder: &Path) -> Result<(), ScaffoldError> {
    check(name)?;
    if fs::symlink_metadata(folder).is_ok() {
        return Err(ScaffoldError::Exists(folder.to_owned()));
    }
    place(folder, &files(kit, name)?)?;
    Ok(())
}

fn check(name: &str) -> Result<(), ScaffoldError> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let fits = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.len() <= LONGEST
        && name.chars().all(plain)
        && !name.ends_with('-');
    match name {
        "larder" | "larder-dev" | "larder-provider" => Err(ScaffoldError::Taken(name.to_owned())),
        _ if fits => Ok(()),
        _ => Err(ScaffoldError::Name(name.escape_debug().take(80).collect())),
    }
}

fn files(kit: Kit, name: &str) -> Result<Files, ScaffoldError> {
    let mut files = Files::new();
    add(&mut files, "", kits::own(kit), name);
    for (folder, texts) in kits::sdk(kit) {
        add(&mut files, &format!("{folder}/"), texts, name);
    }
    if kit == Kit::C {
        // The compilers of the other languages read the contract, or their SDK has it in their words.
        let bindings = bindings::bindings(&Language::C, &[])?;
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

/// Beside the folder first: what breaks off half-way leaves nothing under its name.
fn place(folder: &Path, files: &Files) -> Result<(), DiskError> {
    let failed = |error| DiskError { path: folder.to_owned(), error };
    let beside = folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let new = tempfile::Builder::new().prefix(".larder-new-").tempdir_in(beside).map_err(failed)?;
    let inside = new.path().join("project");
    disk::write_into(&inside, files)?;
    fs::rename(&inside, folder).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_good_everywhere() {
        for good in ["a", "my-notes", "x2"] {
            assert!(check(good).is_ok(), "{good}");
        }
        for bad in ["", "My", "2x", "a b", "a/b", "../a", "-a", "a-", "ä", "a_b", &"x".repeat(65)] {
            assert!(matches!(check(bad), Err(ScaffoldError::Name(_))), "{bad:?}");
        }
        for taken in ["larder", "larder-dev", "larder-provider"] {
            assert!(matches!(check(taken), Err(ScaffoldError::Taken(_))), "{taken}");
        }
    }

    #[test]
    fn a_project_is_written_whole_or_not_at_all() {
        let root = tempfile::tempdir().unwrap();
        let here = || fs::read_dir(root.path()).unwrap().count();
        let folder = root.path().join("notes");
        for kit in [Kit::Rust, Kit::Python, Kit::JavaScript, Kit::Go, Kit::C] {
            scaffold(kit, "notes", &folder).unwrap();
            assert_eq!(here(), 1);
            assert!(matches!(scaffold(kit, "notes", &folder), Err(ScaffoldError::Exists(_))));
            for name in files(kit, "notes").unwrap().keys() {
                let text = fs::read(folder.join(name)).unwrap();
                assert!(!String::from_utf8_lossy(&text).contains("@NAME@"), "{name}");
            }
            fs::remove_dir_all(&folder).unwrap();
        }
        assert!(scaffold(Kit::C, "not a name", &folder).is_err());
        let error = scaffold(Kit::C, "notes", &root.path().join("gone/notes")).unwrap_err();
        assert!(matches!(error, ScaffoldError::Disk(_)), "{error}");
        assert_eq!(here(), 0);
    }
}
