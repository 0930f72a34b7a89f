//! Why a folder is not served.

use std::io;
use std::path::PathBuf;

/// Why a folder is not served.
#[derive(Debug, thiserror::Error)]
pub(in crate::cli) enum FolderError {
    #[error("cannot read the folder {}: {error}", path.display())]
    Unreadable { path: PathBuf, error: io::Error },
    #[error("{} is a file: name the folder that contains it", .0.display())]
    NotAFolder(PathBuf),
    #[error(
        "{} contains your home folder, in which programs keep keys and passwords: name folders with documents, such as \
         `larder up {}`",
        path.display(), example.display()
    )]
    Home { path: PathBuf, example: PathBuf },
    #[error("{} is the whole file system: name a folder with documents", .0.display())]
    FileSystem(PathBuf),
    #[error("the path {} is not UTF-8, so that no configuration can name it", .0.display())]
    NotText(PathBuf),
}
