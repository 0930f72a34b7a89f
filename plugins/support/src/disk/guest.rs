//! Uses wasi:filesystem directly, for two reasons. The standard library cannot list the granted folders. It also
//! requests an inode from the host with each directory entry and each stat, which makes a list several times slower.

use std::time::Duration;

use larder_provider::{Error, Result};
use wasip2::filesystem::preopens;
use wasip2::filesystem::types::{
    Descriptor, DescriptorFlags, DescriptorType, ErrorCode, OpenFlags, PathFlags,
};

use super::{DirEntry, Stat};

/// A granted folder.
#[derive(Debug)]
pub struct Disk(Descriptor);

/// An open file.
#[derive(Debug)]
pub struct File(Descriptor);

/// The granted folders with their guest paths.
pub fn granted() -> Vec<(String, Disk)> {
    preopens::get_directories()
        .into_iter()
        .map(|(folder, path)| (path, Disk(folder)))
        .collect()
}

impl Disk {
    /// The names in a folder, in no order. `None` is a name that is not UTF-8.
    pub fn entries(
        &self,
        path: &[String],
    ) -> Result<impl Iterator<Item = Option<DirEntry>> + use<>> {
        let entries = self
            .open(path, OpenFlags::DIRECTORY)?
            .read_directory()
            .map_err(to_error)?;
        Ok(std::iter::from_fn(move || {
            match entries.read_directory_entry() {
                Ok(entry) => {
                    let name = entry?;
                    let is_folder = name.type_ == DescriptorType::Directory;
                    let is_file = name.type_ == DescriptorType::RegularFile;
                    Some(Some(DirEntry {
                        name: name.name,
                        is_folder,
                        is_file,
                    }))
                }
                // The next call continues after this name.
                Err(ErrorCode::IllegalByteSequence) => Some(None),
                Err(_) => None,
            }
        }))
    }

    /// The metadata of a file or folder. Anything else is reported as not found.
    pub fn stat(&self, path: &[String]) -> Result<Stat> {
        let stat = self
            .0
            .stat_at(PathFlags::SYMLINK_FOLLOW, &relative_path(path))
            .map_err(to_error)?;
        let is_file = match stat.type_ {
            DescriptorType::RegularFile => true,
            DescriptorType::Directory => false,
            _ => return Err(Error::NotFound),
        };
        let modified = stat.data_modification_timestamp;
        let modified = modified
            .map(|at| Duration::new(at.seconds, at.nanoseconds))
            .unwrap_or_default();
        Ok(Stat {
            is_file,
            size: stat.size,
            modified,
        })
    }

    /// Opens a file.
    pub fn file(&self, path: &[String]) -> Result<File> {
        Ok(File(self.open(path, OpenFlags::empty())?))
    }

    fn open(&self, path: &[String], flags: OpenFlags) -> Result<Descriptor> {
        let opened = self.0.open_at(
            PathFlags::SYMLINK_FOLLOW,
            &relative_path(path),
            flags,
            DescriptorFlags::READ,
        );
        opened.map_err(to_error)
    }
}

impl File {
    /// Reads at most this number of bytes, and less only at the end of the file.
    pub fn read_at(&self, offset: u64, length: u64) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        loop {
            let read = bytes.len() as u64;
            let (part, end) = self
                .0
                .read(length - read, offset + read)
                .map_err(to_error)?;
            bytes.extend_from_slice(&part);
            if end || part.is_empty() || bytes.len() as u64 >= length {
                return Ok(bytes);
            }
        }
    }
}

fn relative_path(path: &[String]) -> String {
    if path.is_empty() {
        ".".to_owned()
    } else {
        path.join("/")
    }
}

fn to_error(error: ErrorCode) -> Error {
    match error {
        ErrorCode::NoEntry | ErrorCode::NotDirectory | ErrorCode::Loop => Error::NotFound,
        ErrorCode::Access => Error::Denied("the host has no permission to read it".to_owned()),
        ErrorCode::NotPermitted => {
            Error::Denied("the path leads out of the granted folder".to_owned())
        }
        ErrorCode::NameTooLong | ErrorCode::IllegalByteSequence => Error::invalid(error),
        ErrorCode::Busy | ErrorCode::WouldBlock | ErrorCode::Interrupted => {
            Error::Unavailable(error.to_string())
        }
        _ => Error::failed(error),
    }
}
