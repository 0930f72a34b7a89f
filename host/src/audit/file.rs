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
        if *torn {
            out.write_all(b"\n")?;
            *torn = false;
        }
        let mut done = 0;
        let written = loop {
            match out.write(&lines[done..]) {
                _ if done == lines.len() => break Ok(()),
                Ok(0) => break Err(io::ErrorKind::WriteZero.into()),
                Ok(more) => done += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => break Err(error),
            }
        };
        let whole = lines[..done].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        *torn = whole < done;
        lines.drain(..whole);
        written
    }
}

fn append(path: &Path) -> io::Result<fs::File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
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
