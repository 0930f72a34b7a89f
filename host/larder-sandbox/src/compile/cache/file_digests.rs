//! Records the digests of component files by file fingerprint, so that a file that was not modified need not be read at
//! the next start. A record is sealed like code, because otherwise a forged record could lead to the code of another
//! component.

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::time::SystemTime;

use super::{Cache, InvalidEntry, delete};
use larder_model::name::Digest;
use larder_runtime::file_fingerprint::FileFingerprint;

/// File name extension of the records.
pub(super) const EXTENSION: &str = "known";

impl Cache {
    /// Returns the recorded digest of the file with this fingerprint.
    pub(crate) fn recorded_digest(&self, fingerprint: &FileFingerprint) -> Option<Digest> {
        let path = self.record_path(fingerprint);
        match self.key.read_digest_record(fingerprint, &path) {
            Ok((digest, file)) => {
                // The modification time is the time of the last use. If it cannot be set, the record is only removed
                // earlier.
                let _ = file.set_modified(SystemTime::now());
                Some(digest)
            }
            Err(InvalidEntry::Missing) => None,
            Err(invalid) => {
                tracing::warn!(record = %path.display(), reason = %invalid, "deleted an invalid digest record of the component cache");
                delete(&path);
                None
            }
        }
    }

    /// Records the digest of the file with this fingerprint.
    pub(crate) fn record_digest(
        &self,
        fingerprint: &FileFingerprint,
        digest: &Digest,
    ) -> io::Result<()> {
        let mut temp_file = self.temp_file()?;
        temp_file.write_all(&self.key.digest_record(fingerprint, digest))?;
        temp_file.persist(self.record_path(fingerprint))?;
        Ok(())
    }

    /// Removes the record, because the file turned out to have another digest.
    pub(crate) fn forget_digest(&self, fingerprint: &FileFingerprint) {
        delete(&self.record_path(fingerprint));
    }

    fn record_path(&self, fingerprint: &FileFingerprint) -> PathBuf {
        self.folder
            .join(Digest::of(&fingerprint.bytes()).to_string())
            .with_extension(EXTENSION)
    }
}
