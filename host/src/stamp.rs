//! By what a file is known to be the same as before, without reading it.

use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Within this time two writes to a file may leave it with one stamp: the clocks of some file systems are coarse.
const COARSE: Duration = Duration::from_secs(2);

/// Differs whenever a file was written to, replaced, or swapped behind a symbolic link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    place: (u64, u64),
    size: u64,
    written: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    /// The stamp of whatever is at this path, through symbolic links.
    pub fn of(path: &Path) -> io::Result<Self> {
        std::fs::metadata(path).map(|metadata| Self::from(&metadata))
    }

    /// The same, for a file only: a folder, a pipe or a device is none, nor is what vanished or a link to nothing.
    pub(crate) fn of_file(path: &Path) -> io::Result<Option<Self>> {
        match std::fs::metadata(path) {
            Ok(metadata) => Ok(metadata.is_file().then(|| Self::from(&metadata))),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Bytes of the file.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Whether the last change is so long ago that one to come is sure to show.
    pub fn is_settled(&self) -> bool {
        let changed = Duration::new(
            u64::try_from(self.changed.0).unwrap_or_default(),
            u32::try_from(self.changed.1).unwrap_or_default(),
        );
        // A change in the future is one by another clock.
        SystemTime::now().duration_since(UNIX_EPOCH + changed).is_ok_and(|age| age >= COARSE)
    }

    /// All of it, as bytes.
    pub fn bytes(&self) -> [u8; 56] {
        let Self { place, size, written, changed } = self;
        let times = [written.0, written.1, changed.0, changed.1].map(i64::to_le_bytes);
        let mut bytes = [0; 56];
        let words = [place.0, place.1, *size].map(u64::to_le_bytes).into_iter().chain(times);
        bytes.chunks_exact_mut(8).zip(words).for_each(|(to, word)| to.copy_from_slice(&word));
        bytes
    }
}

impl From<&std::fs::Metadata> for Stamp {
    fn from(metadata: &std::fs::Metadata) -> Self {
        Self {
            place: (metadata.dev(), metadata.ino()),
            size: metadata.size(),
            written: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_just_now_may_be_written_again_unseen() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let stamp = Stamp::of(file.path()).unwrap();
        assert!(!stamp.is_settled());
        let before = |seconds| Stamp { changed: (stamp.changed.0 - seconds, 0), ..stamp };
        assert!(before(60).is_settled() && !before(-60).is_settled());
    }

    #[test]
    fn no_part_of_it_is_lost_in_its_bytes() {
        let stamp = Stamp { place: (1, 2), size: 3, written: (4, 5), changed: (6, 7) };
        let words: Vec<u8> = stamp.bytes().chunks(8).map(|word| word[0]).collect();
        assert_eq!(words, [1, 2, 3, 4, 5, 6, 7]);
    }
}
