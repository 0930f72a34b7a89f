//! What components were seen to be: by the stamp of a file its digest, so that one which was not touched since need not
//! be read at the next start. Sealed as code is, or it would lead to another component's code.

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::time::SystemTime;

use super::{Broken, Cache, delete};
use crate::name::Digest;
use crate::stamp::Stamp;

/// What the names of these files end with.
pub(super) const ENDING: &str = "known";

impl Cache {
    /// The digest that a file with this stamp had.
    pub(crate) fn known(&self, stamp: &Stamp) -> Option<Digest> {
        let path = self.note(stamp);
        match self.key.known(stamp, &path) {
            Ok((digest, file)) => {
                // The time of change is the time of the last use. Without it, it goes early, no more.
                let _ = file.set_modified(SystemTime::now());
                Some(digest)
            }
            Err(Broken::Missing) => None,
            Err(broken) => {
                tracing::warn!(note = %path.display(), %broken, "what is known of a component is not used, but deleted");
                delete(&path);
                None
            }
        }
    }

    /// A file with this stamp was read, and has this digest.
    pub(crate) fn remember(&self, stamp: &Stamp, digest: &Digest) -> io::Result<()> {
        let mut draft = self.draft()?;
        draft.write_all(&self.key.knows(stamp, digest))?;
        draft.persist(self.note(stamp))?;
        Ok(())
    }

    /// It turned out to have another one.
    pub(crate) fn disown(&self, stamp: &Stamp) {
        delete(&self.note(stamp));
    }

    fn note(&self, stamp: &Stamp) -> PathBuf {
        self.folder.join(Digest::of(&stamp.bytes()).to_string()).with_extension(ENDING)
    }
}
