//! Why the store cannot be used.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use larder_model::name::Digest;
use larder_model::size;

/// Why the store cannot be used.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// The file system is full, or a limit on the size of files is reached.
    #[error("the store {} has no space left: free some, or set `registries.store` to another folder ({cause})", path.display())]
    Full {
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        cause: Arc<io::Error>,
    },
    /// Another error of the operating system.
    #[error("the store {}: {cause}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        cause: Arc<io::Error>,
    },
    /// Content cannot be added.
    #[error("the store {} is read-only, and does not have everything: fill it with `larder pull --all --into DIR`", .0.display())]
    ReadOnly(PathBuf),
    /// The store does not have this content.
    #[error("sha256:{0} is not in the store: run `larder pull`")]
    Missing(Digest),
    /// The content does not match its digest.
    #[error("{} is damaged: its content does not have its digest; delete it, and run `larder pull`", .0.display())]
    Damaged(PathBuf),
    /// A blob is larger than expected.
    #[error("{} is larger than {}", path.display(), size::show(*.limit))]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The limit in bytes.
        limit: u64,
    },
    /// The written content does not have the expected digest.
    #[error("the content has the digest sha256:{actual} instead of sha256:{expected}")]
    WrongDigest {
        /// The expected digest.
        expected: Digest,
        /// The digest of the content.
        actual: Digest,
    },
}

impl StoreError {
    pub(crate) fn io(path: &Path, cause: io::Error) -> Self {
        let path = path.to_owned();
        let is_full = is_full(&cause);
        let cause = Arc::new(cause);
        if is_full {
            Self::Full { path, cause }
        } else {
            Self::Io { path, cause }
        }
    }
}

fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}
