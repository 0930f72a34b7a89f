//! Through the standard library, for native tests.

use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::time::UNIX_EPOCH;

use larder_provider::{Error, Result};

use super::{Name, Stat};

#[derive(Debug)]
pub(crate) struct Disk(pub(crate) PathBuf);

/// Nothing is granted where there is no host.
pub(crate) fn granted() -> Vec<(String, Disk)> {
    Vec::new()
}

impl Disk {
    pub(crate) fn names(&self, path: &[String]) -> Result<impl Iterator<Item = Name>> {
        let entries = fs::read_dir(self.at(path))?.filter_map(std::result::Result::ok);
        Ok(entries.filter_map(|entry| {
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            Some(Name { name: entry.file_name().into_string().ok()?, is_folder })
        }))
    }

    pub(crate) fn stat(&self, path: &[String]) -> Result<Stat> {
        let metadata = fs::metadata(self.at(path))?;
        if !metadata.is_file() && !metadata.is_dir() {
            return Err(Error::NotFound);
        }
        let modified = metadata.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
        Ok(Stat { is_file: metadata.is_file(), size: metadata.len(), modified })
    }

    pub(super) fn read_at_most(&self, path: &[String], most: u64) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        fs::File::open(self.at(path))?.take(most).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn at(&self, path: &[String]) -> PathBuf {
        path.iter().fold(self.0.clone(), |path, name| path.join(name))
    }
}
