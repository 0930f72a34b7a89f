//! Where the text of a configuration comes from, and the folders to which its paths are relative.

use std::io;
use std::path::{Path, PathBuf};

use super::{ConfigError, DEFAULT_FILE, Overrides, absolute_path};

/// The source of a configuration text, and the folder to which its paths are relative.
pub(crate) struct ParseContext {
    /// The file that errors name.
    pub(crate) file: Option<PathBuf>,
    /// The folder for relative paths in the file.
    pub(crate) folder: PathBuf,
    /// The folder for relative paths on the command line.
    pub(crate) working_dir: PathBuf,
    /// Whether the running server already requires credentials. Then it keeps requiring credentials, whatever the file
    /// contains.
    pub(crate) auth_active: bool,
}

impl ParseContext {
    /// The context of a text that is not in a file.
    pub(crate) fn of_folder(folder: &Path) -> Self {
        Self {
            file: None,
            folder: folder.to_owned(),
            working_dir: folder.to_owned(),
            auth_active: false,
        }
    }

    /// Returns the path of the file.
    pub(crate) fn file_path(&self) -> Option<PathBuf> {
        let file = self.file.as_ref()?;
        Some(self.working_dir.join(file))
    }
}

/// Returns the path of the configuration file, and the context of its text.
pub(crate) fn location(
    overrides: &Overrides,
    auth_active: bool,
) -> Result<(PathBuf, ParseContext), ConfigError> {
    let working_dir =
        working_dir().map_err(|error| ConfigError::unreadable(Path::new("."), error))?;
    let path = overrides
        .config
        .clone()
        .unwrap_or_else(|| DEFAULT_FILE.into());
    let context = ParseContext {
        file: Some(path.clone()),
        folder: folder_of(&path, &working_dir),
        working_dir,
        auth_active,
    };
    Ok((path, context))
}

fn folder_of(file: &Path, working_dir: &Path) -> PathBuf {
    file.parent()
        .map_or_else(|| working_dir.to_owned(), |folder| working_dir.join(folder))
}

/// Returns the working directory as the shell shows it, with its links, because the state belongs to paths with links.
fn working_dir() -> io::Result<PathBuf> {
    let real = std::env::current_dir()?;
    let is_real = |path: &PathBuf| path.canonicalize().is_ok_and(|path| path == real);
    let shown = absolute_path("PWD").filter(is_real);
    Ok(shown.unwrap_or(real))
}
