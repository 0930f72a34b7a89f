//! Uses the standard library, for native tests.

use std::fs;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;
use std::time::UNIX_EPOCH;

use larder_provider::{Error, Result};

use super::{DirEntry, Stat};

/// A folder.
#[derive(Debug)]
pub struct Disk(pub PathBuf);

/// An open file.
#[derive(Debug)]
pub struct File(fs::File);

/// Empty, because without a host there are no grants.
pub fn granted() -> Vec<(String, Disk)> {
    Vec::new()
}

impl Disk {
    /// The names in a folder, in no order. `None` is a name that is not UTF-8.
    pub fn entries(
        &self,
        path: &[String],
    ) -> Result<impl Iterator<Item = Option<DirEntry>> + use<>> {
        let entries = fs::read_dir(self.absolute(path))?.filter_map(std::result::Result::ok);
        Ok(entries.map(|entry| {
            let kind = entry.file_type().ok();
            let (is_folder, is_file) =
                kind.map_or((false, false), |kind| (kind.is_dir(), kind.is_file()));
            Some(DirEntry {
                name: entry.file_name().into_string().ok()?,
                is_folder,
                is_file,
            })
        }))
    }

    /// The metadata of a file or folder. Anything else is reported as not found.
    pub fn stat(&self, path: &[String]) -> Result<Stat> {
        let metadata = fs::metadata(self.absolute(path))?;
        if !metadata.is_file() && !metadata.is_dir() {
            return Err(Error::NotFound);
        }
        let modified = metadata
            .modified()?
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Ok(Stat {
            is_file: metadata.is_file(),
            size: metadata.len(),
            modified,
        })
    }

    /// Opens a file.
    pub fn file(&self, path: &[String]) -> Result<File> {
        Ok(File(fs::File::open(self.absolute(path))?))
    }

    fn absolute(&self, path: &[String]) -> PathBuf {
        path.iter()
            .fold(self.0.clone(), |path, name| path.join(name))
    }
}

impl File {
    /// Reads at most this number of bytes, and less only at the end of the file.
    pub fn read_at(&self, offset: u64, length: u64) -> Result<Vec<u8>> {
        let mut file = &self.0;
        file.seek(SeekFrom::Start(offset))?;
        let mut bytes = Vec::new();
        file.take(length).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}
