//! Access to the bytes of an artifact. A scan does not read the bytes: it only determines whether they differ.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;

use larder_model::name::Digest;
use larder_runtime::file_fingerprint::FileFingerprint;

/// A sequence of bytes in a source. Two blobs are equal if they have the same revision.
#[derive(Clone)]
pub struct Blob {
    revision: BlobRevision,
    content: Arc<dyn Content>,
    detection: Option<Detection>,
}

/// How a source found a revision, for measurements.
#[derive(Debug, Clone, Copy)]
pub struct Detection {
    /// The time from the change to the first scan that found the change.
    pub delay: Duration,
    /// How long the blob had to stay the same.
    pub settling: Duration,
    /// When the source first reported the revision.
    pub at: Instant,
}

/// What differs if two revisions of a blob differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlobRevision {
    /// The digest of the bytes, which identifies them. [`Blob::fetch`] verifies it.
    Digest(Digest),
    /// The fingerprint of the file that contains them. Different bytes almost always have different fingerprints.
    Fingerprint(FileFingerprint),
}

/// The bytes of a blob, in a file, in memory or in a registry. All methods block the calling thread.
pub trait Content: Send + Sync {
    /// Reads the bytes, unless there are more than `limit`.
    fn fetch(&self, limit: u64) -> io::Result<FetchOutcome>;

    /// Computes the digest of the bytes.
    fn digest(&self) -> io::Result<Digest> {
        match self.fetch(u64::MAX)? {
            FetchOutcome::Bytes(bytes) => Ok(Digest::of(&bytes)),
            FetchOutcome::TooLarge(_) => Err(io::ErrorKind::FileTooLarge.into()),
        }
    }

    /// Returns whether these are still the bytes of the scanned revision, as far as their metadata tells.
    fn is_unchanged(&self) -> bool {
        true
    }
}

/// The result of reading a blob.
#[derive(Debug)]
pub enum FetchOutcome {
    /// All bytes of the blob.
    Bytes(Bytes),
    /// The blob exceeds the limit. Contains its size, or the number of bytes that were read.
    TooLarge(u64),
}

impl Blob {
    /// Creates a blob with this revision.
    pub fn new(revision: BlobRevision, content: impl Content + 'static) -> Self {
        Self {
            revision,
            content: Arc::new(content),
            detection: None,
        }
    }

    /// Adds how the revision was found.
    pub fn with_detection(self, detection: Option<Detection>) -> Self {
        Self { detection, ..self }
    }

    /// How the revision was found. `None` if that is not known, for example at the start.
    pub fn detection(&self) -> Option<Detection> {
        self.detection
    }

    /// Returns the revision of the blob.
    pub fn revision(&self) -> BlobRevision {
        self.revision
    }

    /// Reads the bytes, unless there are more than `limit`. Fails if the bytes do not have the expected digest. Blocks
    /// the calling thread.
    pub fn fetch(&self, limit: u64) -> io::Result<FetchOutcome> {
        let fetched = self.content.fetch(limit)?;
        if let (BlobRevision::Digest(expected), FetchOutcome::Bytes(bytes)) =
            (self.revision, &fetched)
            && Digest::of(bytes) != expected
        {
            let message = format!("the content does not have the digest {expected}");
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        Ok(fetched)
    }

    /// Computes the digest of the current bytes, without loading all of them into memory if possible. Blocks the
    /// calling thread.
    pub fn digest(&self) -> io::Result<Digest> {
        self.content.digest()
    }

    /// Returns whether the source still has this revision, as far as the metadata tells. Blocks the calling thread.
    pub(crate) fn is_unchanged(&self) -> bool {
        self.content.is_unchanged()
    }
}

impl PartialEq for Blob {
    fn eq(&self, other: &Self) -> bool {
        self.revision == other.revision
    }
}

impl Eq for Blob {}

impl fmt::Debug for Blob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Blob").field(&self.revision).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Text(&'static str);

    impl Content for Text {
        fn fetch(&self, limit: u64) -> io::Result<FetchOutcome> {
            let size = self.0.len() as u64;
            Ok(if size > limit {
                FetchOutcome::TooLarge(size)
            } else {
                FetchOutcome::Bytes(self.0.into())
            })
        }
    }

    #[test]
    fn fetch_verifies_the_digest() {
        let revision = BlobRevision::Digest(Digest::of(b"right"));
        assert!(matches!(
            Blob::new(revision, Text("right")).fetch(5),
            Ok(FetchOutcome::Bytes(_))
        ));
        assert!(matches!(
            Blob::new(revision, Text("right")).fetch(4),
            Ok(FetchOutcome::TooLarge(5))
        ));
        let error = Blob::new(revision, Text("wrong")).fetch(5).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("the content does not have the digest"),
            "{error}"
        );
    }
}
