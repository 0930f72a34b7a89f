//! Access to a granted folder: list names, stat and read, each for a path relative to the folder. A path is a list of
//! names. [`crate::uri`] rejects paths that leave the folder. The sandbox rejects symbolic links that leave the folder.

#[cfg(target_family = "wasm")]
#[path = "disk/guest.rs"]
mod imp;
#[cfg(not(target_family = "wasm"))]
#[path = "disk/native.rs"]
mod imp;

use std::time::Duration;

use larder_provider::{Error, Result};

pub use imp::{Disk, File, granted};

/// Metadata of a file or folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stat {
    /// Whether this is a file instead of a folder.
    pub is_file: bool,
    /// The size of a file in bytes.
    pub size: u64,
    /// Time since 1970; zero if it is unknown or earlier.
    pub modified: Duration,
}

/// A directory entry.
#[derive(Debug)]
pub struct DirEntry {
    /// The name of the entry.
    pub name: String,
    /// False for symbolic links to folders, since they could form a cycle.
    pub is_folder: bool,
    /// Whether it is a regular file, which can be opened without further checks.
    pub is_file: bool,
}

impl Disk {
    /// Reads a file of at most `max` bytes. The size is checked again after the read, because the file may
    /// have grown since `stat` was read.
    pub fn read(&self, path: &[String], stat: &Stat, max: u64) -> Result<Vec<u8>> {
        if stat.size <= max {
            self.read_at_most(path, max)
        } else {
            Err(too_large(max))
        }
    }

    /// Reads a file that is known to be a regular file and to have at most this number of bytes.
    pub fn read_at_most(&self, path: &[String], max: u64) -> Result<Vec<u8>> {
        let bytes = self.file(path)?.read_at(0, max.saturating_add(1))?;
        if bytes.len() as u64 <= max {
            Ok(bytes)
        } else {
            Err(too_large(max))
        }
    }
}

fn too_large(max: u64) -> Error {
    Error::too_large("the file", max, "setting `max_bytes`")
}

impl Stat {
    /// A version from size and modification time, which needs no read.
    pub fn version(&self) -> String {
        format!("{:x}-{:x}", self.size, self.modified.as_nanos())
    }
}
