//! Detects changes of a file by its metadata, without reading it.

use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Two writes within this time may leave a file with the same fingerprint: some file systems have coarse
/// timestamps.
const TIMESTAMP_GRANULARITY: Duration = Duration::from_secs(2);

/// Metadata of a file that changes when the file is written to, when it is replaced, or when the target of a symbolic
/// link changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileFingerprint {
    /// Device and inode.
    inode: (u64, u64),
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl FileFingerprint {
    /// Returns the fingerprint of the file or folder at this path. Follows symbolic links.
    pub fn of(path: &Path) -> io::Result<Self> {
        std::fs::metadata(path).map(|metadata| Self::from(&metadata))
    }

    /// Returns the fingerprint of a regular file. `None` for a folder, a pipe or a device, for a path that does not
    /// exist any more, and for a dangling symbolic link.
    pub fn of_file(path: &Path) -> io::Result<Option<Self>> {
        match std::fs::metadata(path) {
            Ok(metadata) => Ok(metadata.is_file().then(|| Self::from(&metadata))),
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Size of the file in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Whether the last change was so long ago that any further change results in another fingerprint.
    pub fn is_settled(&self) -> bool {
        self.age().is_some_and(|age| age >= TIMESTAMP_GRANULARITY)
    }

    /// The time since the last change, which may be a change of the name. `None` if the time is in the future, because
    /// another clock made the timestamp.
    pub fn age(&self) -> Option<Duration> {
        let changed = Duration::new(
            u64::try_from(self.changed.0).unwrap_or_default(),
            u32::try_from(self.changed.1).unwrap_or_default(),
        );
        SystemTime::now().duration_since(UNIX_EPOCH + changed).ok()
    }

    /// Returns all fields as bytes, to be hashed or compared.
    pub fn bytes(&self) -> [u8; 56] {
        let Self {
            inode,
            size,
            modified,
            changed,
        } = self;
        let times = [modified.0, modified.1, changed.0, changed.1].map(i64::to_le_bytes);
        let mut bytes = [0; 56];
        let words = [inode.0, inode.1, *size]
            .map(u64::to_le_bytes)
            .into_iter()
            .chain(times);
        bytes
            .chunks_exact_mut(8)
            .zip(words)
            .for_each(|(to, word)| to.copy_from_slice(&word));
        bytes
    }
}

impl From<&std::fs::Metadata> for FileFingerprint {
    fn from(metadata: &std::fs::Metadata) -> Self {
        Self {
            inode: (metadata.dev(), metadata.ino()),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recent_change_is_not_settled() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let fingerprint = FileFingerprint::of(file.path()).unwrap();
        assert!(!fingerprint.is_settled());
        let before = |seconds| FileFingerprint {
            changed: (fingerprint.changed.0 - seconds, 0),
            ..fingerprint
        };
        assert!(before(60).is_settled() && !before(-60).is_settled());
    }

    #[test]
    fn bytes_contain_every_field() {
        let fingerprint = FileFingerprint {
            inode: (1, 2),
            size: 3,
            modified: (4, 5),
            changed: (6, 7),
        };
        let words: Vec<u8> = fingerprint.bytes().chunks(8).map(|word| word[0]).collect();
        assert_eq!(words, [1, 2, 3, 4, 5, 6, 7]);
    }
}
