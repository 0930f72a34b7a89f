//! The file of the audit log: it is followed by its name, so that whoever moves it away gets a new one, and a line
//! that was cut off by a full disk is written again whole.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use super::Target;

/// Where lines are written to.
#[derive(Debug)]
pub(super) enum File {
    Named { path: PathBuf, file: fs::File, torn: bool },
    Stderr,
}

impl File {
    pub(super) fn open(target: &Target) -> io::Result<Self> {
        match target {
            Target::Stderr => Ok(Self::Stderr),
            Target::File(path) => Ok(Self::Named { file: append(path)?, path: path.clone(), torn: false }),
        }
    }

    /// Opens the file of this name, if that is another one by now.
    pub(super) fn follow(&mut self) -> io::Result<()> {
        let Self::Named { path, file, torn } = self else { return Ok(()) };
        if !is_same(path, file)? {
            *file = append(path)?;
            *torn = false;
        }
        Ok(())
    }

    /// Writes whole lines. What was written is taken from them, whether or not all of it could be.
    pub(super) fn write(&mut self, lines: &mut Vec<u8>) -> io::Result<()> {
        self.follow()?;
        let (out, torn): (&mut dyn io::Write, &mut bool) = match self {
            Self::Named { file, torn, .. } => (file, torn),
            Self::Stderr => (&mut io::stderr(), &mut false),
        };
        write(out, torn, lines)
    }
}

/// Writes lines, and takes from them those that were written whole.
fn write(out: &mut dyn io::Write, torn: &mut bool, lines: &mut Vec<u8>) -> io::Result<()> {
    if *torn {
        out.write_all(b"\n")?;
        *torn = false;
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
    *torn = whole < done;
    lines.drain(..whole);
    written
}

/// A pipe that nobody reads would hold whoever opens it, and what is opened here holds up the start.
#[cfg(unix)]
fn append(path: &Path) -> io::Result<fs::File> {
    use std::os::unix::fs::OpenOptionsExt as _;

    use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o600).custom_flags(OFlags::NONBLOCK.bits().cast_signed());
    let file = options.open(path).map_err(|error| match error.raw_os_error() {
        Some(code) if code == rustix::io::Errno::NXIO.raw_os_error() => {
            let what = format!("{} is a pipe that nobody reads: start its reader first", path.display());
            io::Error::new(error.kind(), what)
        }
        _ => error,
    })?;
    // Where it is full, waiting is what is wanted.
    fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
    Ok(file)
}

#[cfg(not(unix))]
fn append(path: &Path) -> io::Result<fs::File> {
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

/// Where files have no numbers, one that is gone is known by that.
#[cfg(not(unix))]
fn is_same(path: &Path, _: &fs::File) -> io::Result<bool> {
    path.try_exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file that may have no more bytes stands for a full disk.
    #[test]
    fn a_line_that_was_cut_off_is_written_again_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.log");
        let mut file = File::open(&Target::File(path.clone())).unwrap();
        let mut lines = b"one\ntwo\n".to_vec();
        let mut disk = Tight { file: append(&path).unwrap(), room: 6 };
        let mut torn = false;
        assert!(write(&mut disk, &mut torn, &mut lines).is_err());
        assert_eq!((lines.as_slice(), torn), (b"two\n".as_slice(), true));
        if let File::Named { torn, .. } = &mut file {
            *torn = true;
        }
        file.write(&mut lines).unwrap();
        assert!(lines.is_empty());
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\ntw\ntwo\n");
    }

    struct Tight {
        file: fs::File,
        room: usize,
    }

    impl io::Write for Tight {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.room == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            let count = self.file.write(&bytes[..bytes.len().min(self.room)])?;
            self.room -= count;
            Ok(count)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_file_is_followed_by_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.log");
        let mut file = File::open(&Target::File(path.clone())).unwrap();
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
