//! A granted folder as the system shows it: three questions, each about a path below it. A path is
//! the names on the way down; what keeps it below is [`crate::uri`] and, for links, the sandbox.

#[cfg(target_family = "wasm")]
#[path = "disk/guest.rs"]
mod place;
#[cfg(not(target_family = "wasm"))]
#[path = "disk/native.rs"]
mod place;

use std::time::Duration;

use larder_provider::{Error, Result};

pub(crate) use place::{Disk, granted};

/// What is known of a file or folder without opening it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) is_file: bool,
    pub(crate) size: u64,
    /// Since 1970; nothing where it is not known or was before.
    pub(crate) modified: Duration,
}

/// One name in a folder.
#[derive(Debug)]
pub(crate) struct Name {
    pub(crate) name: String,
    /// Not so for a link, wherever it leads: it may lead in a circle.
    pub(crate) is_folder: bool,
}

impl Disk {
    /// A file's bytes, unless there are more than `most`. It may have grown since it was looked at.
    pub(crate) fn read(&self, path: &[String], found: &Stat, most: u64) -> Result<Vec<u8>> {
        if found.size <= most {
            let bytes = self.read_at_most(path, most.saturating_add(1))?;
            if bytes.len() as u64 <= most {
                return Ok(bytes);
            }
        }
        Err(Error::Failed(format!(
            "the file has more than the {most} bytes that are read (setting `max-bytes`)"
        )))
    }
}
