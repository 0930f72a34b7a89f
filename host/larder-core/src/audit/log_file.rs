//! The file of the audit log. It is reopened when its path leads to another file, so that log rotation works. After a
//! failed write, the file contains whole lines only: a line that a full disk truncated is removed and written again.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;

use super::Target;

/// Where lines are written.
#[derive(Debug)]
pub(super) enum LogFile {
    Named(NamedFile),
    Stderr,
}

/// A file, or a pipe.
#[derive(Debug)]
pub(super) struct NamedFile {
    path: PathBuf,
    file: fs::File,
    /// Whether the file ends in the middle of a line that could not be removed.
    has_fragment: bool,
    /// Whether each write is followed by a sync.
    sync: bool,
}

impl LogFile {
    pub(super) fn open(target: &Target, sync: bool) -> io::Result<Self> {
        match target {
            Target::Stderr => Ok(Self::Stderr),
            Target::File(path) => NamedFile::open(path, sync).map(Self::Named),
        }
    }

    /// Reopens the file if its path leads to another file now.
    pub(super) fn reopen_if_moved(&mut self) -> io::Result<()> {
        match self {
            Self::Named(named) if !is_same(&named.path, &named.file)? => {
                *named = NamedFile::open(&named.path, named.sync)?;
                Ok(())
            }
            Self::Named(_) | Self::Stderr => Ok(()),
        }
    }

    /// Writes whole lines. Also after a failed write, removes the lines from the buffer that need not be written again.
    pub(super) fn write(&mut self, lines: &mut Vec<u8>) -> io::Result<()> {
        self.reopen_if_moved()?;
        match self {
            Self::Named(named) => named.append(lines),
            Self::Stderr => write_stderr(lines),
        }
    }
}

fn write_stderr(lines: &mut Vec<u8>) -> io::Result<()> {
    let (done, result) = write_most(&mut io::stderr(), lines);
    lines.drain(..whole_lines(&lines[..done]));
    result
}

impl NamedFile {
    fn open(path: &Path, sync: bool) -> io::Result<Self> {
        let file = open_append(path)?;
        if sync {
            sync_new_file(path, &file)?;
        }
        let has_fragment = ends_in_fragment(path);
        Ok(Self {
            path: path.to_owned(),
            file,
            has_fragment,
            sync,
        })
    }

    fn append(&mut self, lines: &mut Vec<u8>) -> io::Result<()> {
        self.end_fragment()?;
        let before = self.file.metadata()?;
        let (done, mut result) = write_most(&mut self.file, lines);
        if self.sync && result.is_ok() {
            result = self.file.sync_data();
        }
        // After a failed sync it is unknown what is on the disk, so all lines are written again.
        let kept = if self.sync && result.is_err() {
            0
        } else {
            whole_lines(&lines[..done])
        };
        if kept < done && !(before.is_file() && self.truncate(before.len(), done, kept)) {
            self.has_fragment = lines[..done].last() != Some(&b'\n');
        }
        lines.drain(..kept);
        result
    }

    /// Ends the line in whose middle the file ends.
    fn end_fragment(&mut self) -> io::Result<()> {
        if self.has_fragment {
            self.file.write_all(b"\n")?;
            self.has_fragment = false;
        }
        Ok(())
    }

    /// Removes the end of a failed write, of which `done` bytes were written and `kept` bytes stay. Does nothing if
    /// another process has also written to the file. Returns whether the end was removed.
    fn truncate(&self, before: u64, done: usize, kept: usize) -> bool {
        let is_alone = self
            .file
            .metadata()
            .is_ok_and(|now| now.len() == before + done as u64);
        is_alone && self.file.set_len(before + kept as u64).is_ok()
    }
}

/// Returns how much of this text consists of whole lines.
fn whole_lines(text: &[u8]) -> usize {
    text.iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |at| at + 1)
}

/// Writes as much as possible. Returns the number of bytes that were written, and the error if some bytes were not
/// written.
fn write_most(out: &mut impl io::Write, bytes: &[u8]) -> (usize, io::Result<()>) {
    let mut done = 0;
    while done < bytes.len() {
        match out.write(&bytes[done..]) {
            Ok(0) => return (done, Err(io::ErrorKind::WriteZero.into())),
            Ok(more) => done += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (done, Err(error)),
        }
    }
    (done, Ok(()))
}

/// Syncs the folder of a file that may be new.
fn sync_new_file(path: &Path, file: &fs::File) -> io::Result<()> {
    if !file.metadata()?.is_file() {
        let message = format!(
            "`audit.sync` requires a file, and {} is none",
            path.display()
        );
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    match path.parent() {
        Some(folder) => fs::File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

/// Whether the file ends in the middle of a line, as a killed server may leave it. A file that cannot be read
/// counts as complete.
fn ends_in_fragment(path: &Path) -> bool {
    is_nonempty_file(path) && last_byte(path).is_ok_and(|last| last != b'\n')
}

fn is_nonempty_file(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() > 0)
}

fn last_byte(path: &Path) -> io::Result<u8> {
    let mut file = File::open(path)?;
    let mut last = [0];
    file.seek(io::SeekFrom::End(-1))?;
    file.read_exact(&mut last).map(|()| last[0])
}

/// Opens the file for appending. Without `O_NONBLOCK`, opening a pipe without a reader would block the start
/// of the server.
fn open_append(path: &Path) -> io::Result<File> {
    let file = append_options()
        .open(path)
        .map_err(|error| open_error(path, error))?;
    // Writes to a full pipe should block.
    fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
    Ok(file)
}

fn append_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options
        .append(true)
        .create(true)
        .mode(0o600)
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed());
    options
}

fn open_error(path: &Path, error: io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(code) if code == Errno::NXIO.raw_os_error() => {
            io::Error::new(error.kind(), no_reader(path))
        }
        _ => error,
    }
}

fn no_reader(path: &Path) -> String {
    format!(
        "{} is a pipe without a reader: start the reader first",
        path.display()
    )
}

fn is_same(path: &Path, file: &fs::File) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    let open = file.metadata()?;
    match fs::metadata(path) {
        Ok(named) => Ok((named.dev(), named.ino()) == (open.dev(), open.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn open(path: &Path, sync: bool) -> LogFile {
        LogFile::open(&Target::File(path.to_owned()), sync).unwrap()
    }

    #[test]
    fn ends_a_line_that_a_killed_server_has_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.log");
        fs::write(&path, "one\ntw").unwrap();
        let mut file = open(&path, false);
        file.write(&mut b"three\n".to_vec()).unwrap();
        file.write(&mut b"four\n".to_vec()).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\ntw\nthree\nfour\n");
    }

    /// Writes what fits on a full disk, and calls the code that cleans up after a failed write.
    #[test]
    fn removes_what_a_failed_write_has_left() {
        for (sync, kept, expected) in [(false, 4, "one\n"), (true, 0, "")] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("audit.log");
            let LogFile::Named(mut named) = open(&path, sync) else {
                unreachable!()
            };
            io::Write::write_all(&mut named.file, b"one\ntw").unwrap();
            assert!(named.truncate(0, 6, kept));
            assert_eq!(fs::read_to_string(&path).unwrap(), expected);
            // Another process has added a line.
            fs::write(&path, "one\ntwother\n").unwrap();
            assert!(!named.truncate(0, 6, kept));
        }
        assert_eq!(whole_lines(b"one\ntw"), 4);
        assert_eq!(whole_lines(b"on"), 0);
    }

    #[test]
    fn reopens_a_moved_or_deleted_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.log");
        let mut file = open(&path, true);
        let mut write = |text: &str| file.write(&mut text.as_bytes().to_vec()).unwrap();
        write("one\n");
        fs::rename(&path, folder.path().join("old")).unwrap();
        write("two\n");
        fs::remove_file(&path).unwrap();
        write("three\n");
        write("four\n");
        assert_eq!(
            fs::read_to_string(folder.path().join("old")).unwrap(),
            "one\n"
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), "three\nfour\n");
        let permissions = fs::metadata(&path).unwrap().permissions();
        assert_eq!(permissions.mode() & 0o777, 0o600);
    }
}
