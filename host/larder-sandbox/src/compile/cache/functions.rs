//! The compiled functions of the last revision of each provider. The compiler process uses those functions that did not
//! change. Functions become machine code, so the file ends with a seal, like the file of an entry. Each provider has a
//! file of its own: only components of this provider can have influenced the content of the file.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::ops::Range;
use std::path::PathBuf;
use std::time::SystemTime;

use tempfile::NamedTempFile;

use super::seal::{InvalidEntry, SEAL_LENGTH};
use super::{Cache, delete};
use larder_model::name::Digest;
use larder_runtime::private_files::{self, WRITABLE_BY_OTHERS};

/// File name extension.
pub(super) const EXTENSION: &str = "functions";

/// Functions whose seal matches. They are at the beginning of the file.
pub(crate) struct KnownFunctions {
    pub(crate) file: File,
    pub(crate) size: u64,
}

impl Cache {
    /// Opens the functions of this owner. None if there is no file with a matching seal.
    pub(crate) fn functions(&self, owner: Digest) -> Option<KnownFunctions> {
        let path = self.functions_path(owner);
        let opened = self.open_functions(owner);
        opened
            .inspect_err(|invalid| {
                if !matches!(invalid, InvalidEntry::Missing) {
                    tracing::warn!(path = %path.display(), reason = %invalid, "deleted invalid functions of the component cache");
                    delete(&path);
                }
            })
            .ok()
    }

    fn open_functions(&self, owner: Digest) -> Result<KnownFunctions, InvalidEntry> {
        let mut file = private_files::open(&self.functions_path(owner), WRITABLE_BY_OTHERS)?;
        let length = file.metadata().map_err(InvalidEntry::Unreadable)?.len();
        let size = length
            .checked_sub(SEAL_LENGTH as u64)
            .ok_or(InvalidEntry::Seal)?;
        let mac = self
            .key
            .mac_of_functions(&self.entry_name(owner), &mut (&file).take(size));
        let mac = mac.map_err(InvalidEntry::Unreadable)?;
        let mut seal = [0; SEAL_LENGTH];
        file.read_exact(&mut seal)
            .and_then(|()| file.rewind())
            .map_err(InvalidEntry::Unreadable)?;
        mac.verify(&seal)?;
        // The modification time is the time of the last use. If it cannot be set, the functions are only removed
        // earlier.
        let _ = file.set_modified(SystemTime::now());
        Ok(KnownFunctions { file, size })
    }

    /// Copies the functions from the output of the compiler process, where they follow the code, into a file of their
    /// own.
    pub(crate) fn split(
        &self,
        output: &NamedTempFile,
        functions: Range<u64>,
    ) -> io::Result<NamedTempFile> {
        let mut from = output.reopen()?;
        let size = functions.end - functions.start;
        from.seek(SeekFrom::Start(functions.start))?;
        let mut functions = self.temp_file()?;
        io::copy(&mut from.take(size), functions.as_file_mut())?;
        Ok(functions)
    }

    /// Replaces the functions of this owner by the content of a temporary file.
    pub(crate) fn insert_functions(
        &self,
        owner: Digest,
        mut temp_file: NamedTempFile,
    ) -> io::Result<()> {
        temp_file.as_file_mut().rewind()?;
        let mac = self
            .key
            .mac_of_functions(&self.entry_name(owner), temp_file.as_file_mut())?;
        temp_file.write_all(&mac.seal())?;
        temp_file.persist(self.functions_path(owner))?;
        self.sweep(self.config.size);
        Ok(())
    }

    /// Removes the functions of this owner.
    pub(crate) fn remove_functions(&self, owner: Digest) {
        delete(&self.functions_path(owner));
    }

    fn functions_path(&self, owner: Digest) -> PathBuf {
        self.folder
            .join(self.entry_name(owner))
            .with_extension(EXTENSION)
    }
}
