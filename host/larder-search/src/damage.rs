//! Distinguishes a folder that cannot be used at the moment from damaged files.

use std::io::{self, ErrorKind};

use tantivy::TantivyError;
use tantivy::directory::error::{LockError, OpenReadError, OpenWriteError};

/// Why an operation of an index failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The disk is full, the folder is read-only, or a similar problem. The files are not damaged.
    #[error("{0}")]
    Unusable(String),
    /// The files are not the files of an index.
    #[error("{0}")]
    Damaged(String),
    /// Another process keeps the index up to date.
    #[error("another process uses it")]
    InUse,
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if is_environment(&error) {
            Self::Unusable(error.to_string())
        } else {
            Self::Damaged(error.to_string())
        }
    }
}

impl From<TantivyError> for Failure {
    fn from(error: TantivyError) -> Self {
        match io_error(&error) {
            Some(error) if is_environment(error) => Self::Unusable(error.to_string()),
            _ => Self::Damaged(error.to_string()),
        }
    }
}

fn io_error(error: &TantivyError) -> Option<&io::Error> {
    match error {
        TantivyError::IoError(error)
        | TantivyError::OpenReadError(OpenReadError::IoError {
            io_error: error, ..
        })
        | TantivyError::OpenWriteError(OpenWriteError::IoError {
            io_error: error, ..
        })
        | TantivyError::LockFailure(LockError::IoError(error), _) => Some(error),
        _ => None,
    }
}

/// Whether an error of the operating system concerns the disk or the permissions instead of the content of the folder.
fn is_environment(error: &io::Error) -> bool {
    let is_content = matches!(
        error.kind(),
        ErrorKind::NotFound | ErrorKind::AlreadyExists | ErrorKind::IsADirectory
    );
    error.raw_os_error().is_some() && !is_content
}
