//! Uses the standard library, for native tests.

use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::time::UNIX_EPOCH;

use larder_provider::{Error, Result};

use super::{DirEntry, Stat};

#[derive(Debug)]
pub(crate) struct Disk(pub(crate) PathBuf);

/// Empty, since nothing is granted without a host.
pub(crate) fn granted() -> Vec<(String, Disk)> {
    Vec::new()
}

impl Disk {
    pub(crate) fn entries(&self, path: &[String]) -> Result<impl Iterator<Item = DirEntry>> {
        let entries = fs::read_dir(self.absolute(path))?.filter_map(std::result::Result::ok);
        Ok(entries.filter_map(|entry| {
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            Some(DirEntry { name: entry.file_name().into_string().ok()?, is_folder })
        }))
    }

    pub(crate) fn stat(&self, path: &[String]) -> Result<Stat> {
        let metadata = fs::metadata(self.absolute(path))?;
        if !metadata.is_file() && !metadata.is_dir() {
            return Err(Error::NotFound);
        }
        let modified = metadata.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
        Ok(Stat { is_file: metadata.is_file(), size: metadata.len(), modified })
    }

    pub(super) fn read_at_most(&self, path: &[String], max: u64) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        fs::File::open(self.absolute(path))?.take(max).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn absolute(&self, path: &[String]) -> PathBuf {
        path.iter().fold(self.0.clone(), |path, name| path.join(name))
    }
}
