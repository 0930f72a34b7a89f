//! The file of the audit log. It is reopened when its path leads to another file, so that log rotation works.
//! A line that was truncated by a full disk is written again.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use super::Target;

/// Where lines are written.
#[derive(Debug)]
pub(super) enum LogFile {
    Named { path: PathBuf, file: fs::File, is_partial: bool },
    Stderr,
}

impl LogFile {
    pub(super) fn open(target: &Target) -> io::Result<Self> {
        match target {
            Target::Stderr => Ok(Self::Stderr),
            Target::File(path) => {
                Ok(Self::Named { file: open_append(path)?, path: path.clone(), is_partial: false })
            }
        }
    }

    /// Reopens the file if its path leads to another file now.
    pub(super) fn reopen_if_moved(&mut self) -> io::Result<()> {
        let Self::Named { path, file, is_partial } = self else { return Ok(()) };
        if !is_same(path, file)? {
            *file = open_append(path)?;
            *is_partial = false;
        }
        Ok(())
    }

    /// Writes whole lines, and removes from the buffer those that were written completely, also if the write
    /// fails.
    pub(super) fn write(&mut self, lines: &mut Vec<u8>) -> io::Result<()> {
        self.reopen_if_moved()?;
        let (out, is_partial): (&mut dyn io::Write, &mut bool) = match self {
            Self::Named { file, is_partial, .. } => (file, is_partial),
            Self::Stderr => (&mut io::stderr(), &mut false),
        };
        write(out, is_partial, lines)
    }
}

/// Writes lines, and removes from the buffer those that were written completely.
fn write(out: &mut dyn io::Write, is_partial: &mut bool, lines: &mut Vec<u8>) -> io::Result<()> {
    if *is_partial {
        out.write_all(b"\n")?;
        *is_partial = false;
    }
    let (mut done, mut written) = (0, Ok(()));
    while done < lines.len() && written.is_ok() {
        match out.write(&lines[done..]) {
            Ok(0) => written = Err(io::ErrorKind::WriteZero.into()),
            Ok(more) => done += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => written = Err(error),
        }
    }
    let whole = lines[..done].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    *is_partial = whole < done;
    lines.drain(..whole);
    written
}

/// Opens the file for appending. Without `O_NONBLOCK`, opening a pipe without a reader would block the start
/// of the server.
#[cfg(unix)]
fn open_append(path: &Path) -> io::Result<fs::File> {
    use std::os::unix::fs::OpenOptionsExt as _;

    use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o600).custom_flags(OFlags::NONBLOCK.bits().cast_signed());
    let file = options.open(path).map_err(|error| match error.raw_os_error() {
        Some(code) if code == rustix::io::Errno::NXIO.raw_os_error() => {
            let message = format!("{} is a pipe without a reader: start the reader first", path.display());
            io::Error::new(error.kind(), message)
        }
        _ => error,
    })?;
    // Writes to a full pipe should block.
    fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
    Ok(file)
}

#[cfg(not(unix))]
fn open_append(path: &Path) -> io::Result<fs::File> {
    OpenOptions::new().append(true).create(true).open(path)
}

#[cfg(unix)]
fn is_same(path: &Path, file: &fs::File) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    let open = file.metadata()?;
    match fs::metadata(path) {
        Ok(named) => Ok((named.dev(), named.ino()) == (open.dev(), open.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Without inode numbers, only a deleted file is detected.
#[cfg(not(unix))]
fn is_same(path: &Path, _: &fs::File) -> io::Result<bool> {
    path.try_exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The test writer imitates a full disk: it accepts a limited number of bytes.
    #[test]
    fn writes_a_truncated_line_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.log");
        let mut file = LogFile::open(&Target::File(path.clone())).unwrap();
        let mut lines = b"one\ntwo\n".to_vec();
        let mut disk = FullDisk { file: open_append(&path).unwrap(), capacity: 6 };
        let mut is_partial = false;
        assert!(write(&mut disk, &mut is_partial, &mut lines).is_err());
        assert_eq!((lines.as_slice(), is_partial), (b"two\n".as_slice(), true));
        if let LogFile::Named { is_partial, .. } = &mut file {
            *is_partial = true;
        }
        file.write(&mut lines).unwrap();
        assert!(lines.is_empty());
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\ntw\ntwo\n");
    }

    struct FullDisk {
        file: fs::File,
        capacity: usize,
    }

    impl io::Write for FullDisk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.capacity == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            let count = self.file.write(&bytes[..bytes.len().min(self.capacity)])?;
            self.capacity -= count;
            Ok(count)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn reopens_a_moved_or_deleted_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.log");
        let mut file = LogFile::open(&Target::File(path.clone())).unwrap();
        let mut write = |text: &str| file.write(&mut text.as_bytes().to_vec()).unwrap();
        write("one\n");
        fs::rename(&path, folder.path().join("old")).unwrap();
        write("two\n");
        fs::remove_file(&path).unwrap();
        write("three\n");
        write("four\n");
        assert_eq!(fs::read_to_string(folder.path().join("old")).unwrap(), "one\n");
        assert_eq!(fs::read_to_string(&path).unwrap(), "three\nfour\n");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }
}
