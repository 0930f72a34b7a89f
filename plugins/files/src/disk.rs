//! Access to a granted folder: list names, stat and read, each for a path relative to the folder. A path is a
//! list of names. [`crate::uri`] rejects paths that leave the folder; the sandbox does the same for symbolic
//! links.

#[cfg(target_family = "wasm")]
#[path = "disk/guest.rs"]
mod imp;
#[cfg(not(target_family = "wasm"))]
#[path = "disk/native.rs"]
mod imp;

use std::time::Duration;

use larder_provider::{Error, Result};

pub(crate) use imp::{Disk, granted};

/// Metadata of a file or folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) is_file: bool,
    pub(crate) size: u64,
    /// Time since 1970; zero if it is unknown or earlier.
    pub(crate) modified: Duration,
}

/// A directory entry.
#[derive(Debug)]
pub(crate) struct DirEntry {
    pub(crate) name: String,
    /// False for symbolic links to folders, since they could form a cycle.
    pub(crate) is_folder: bool,
}

impl Disk {
    /// Reads a file of at most `max` bytes. The size is checked again after the read, because the file may
    /// have grown since `stat` was read.
    pub(crate) fn read(&self, path: &[String], stat: &Stat, max: u64) -> Result<Vec<u8>> {
        if stat.size <= max {
            let bytes = self.read_at_most(path, max.saturating_add(1))?;
            if bytes.len() as u64 <= max {
                return Ok(bytes);
            }
        }
        Err(Error::too_large("the file", max, "setting `max_bytes`"))
    }
}
