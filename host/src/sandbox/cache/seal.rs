//! Entries are sealed: a keyed digest over an entry's name and its code, with a key that only we can read.
//! Whoever can write into the folder but cannot read the key cannot make an entry that is used; an entry
//! that was cut off, changed or renamed is noticed before any of it is run.
//!
//! To read 36 MB of code takes as long as all else at a start. So a seal that was found to fit is marked with the stamp of
//! the file that it fits, under the same key; while the system says that it is that file, not written to since, it need
//! not be read again.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use hmac::{Hmac, KeyInit as _, Mac as _};
use rustix::fs::OFlags;
use sha2::Sha256;

use crate::name::Digest;
use crate::stamp::Stamp;

/// The key's file, in the cache's folder.
const KEY: &str = "key";
/// Bytes of a key: a block of the digest, which is what it is made of anyway.
const KEY_LENGTH: usize = 64;
/// Bytes of a seal.
const SEAL_LENGTH: usize = 32;
/// What the rest of what is sealed begins with. No name of an entry begins so.
const MARK: &[u8] = b"stamp of ";
const KNOWN: &[u8] = b"known as ";
/// Bytes of a seal and its mark.
const MARKED_LENGTH: usize = 2 * SEAL_LENGTH;
/// Bytes that are read at a time.
const CHUNK: usize = 256 << 10;

/// Seals and checks.
pub(super) struct Key([u8; KEY_LENGTH]);

/// Code whose seal was checked, on the descriptor that is here.
pub(super) struct Verified {
    file: File,
    path: PathBuf,
    /// The file with the seal; its time of change is that of the last use.
    sealed: File,
    /// What the seal's file should hold from now on.
    pub(super) marked: Option<Vec<u8>>,
}

/// Why an entry is not used.
#[derive(Debug, thiserror::Error)]
pub(super) enum Broken {
    #[error("there is none")]
    Missing,
    #[error("it cannot be read: {0}")]
    Unreadable(io::Error),
    #[error("{0}")]
    Foreign(&'static str),
    #[error("its seal does not fit: it was cut off, changed, or is not ours")]
    Seal,
    #[error("the engine does not take it: {0}")]
    Refused(String),
}

impl Verified {
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    pub(super) fn sealed(&self) -> &File {
        &self.sealed
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Key {
    /// The key of this folder. One that others could have read is replaced, which breaks all seals.
    pub(super) fn of(folder: &Path) -> io::Result<Self> {
        let path = folder.join(KEY);
        match Self::read(&path) {
            Ok(key) => return Ok(key),
            Err(Broken::Missing) => {}
            Err(broken) => {
                tracing::warn!(key = %path.display(), %broken, "the cache's key is replaced");
                std::fs::remove_file(&path)?;
            }
        }
        Self::make(folder, &path)?;
        // Another process may have been faster: its key is the one that counts.
        Self::read(&path).map_err(io::Error::other)
    }

    fn read(path: &Path) -> Result<Self, Broken> {
        let mut file = open(path, 0o077)?;
        let mut key = [0; KEY_LENGTH];
        let fits = file.metadata().is_ok_and(|found| found.len() == KEY_LENGTH as u64);
        match file.read_exact(&mut key) {
            Ok(()) if fits => Ok(Self(key)),
            _ => Err(Broken::Foreign("it is not a key")),
        }
    }

    fn make(folder: &Path, path: &Path) -> io::Result<()> {
        let mut key = [0; KEY_LENGTH];
        getrandom::fill(&mut key).map_err(|error| io::Error::other(error.to_string()))?;
        // With 0600, by the crate's word.
        let mut file = tempfile::Builder::new().prefix(super::DRAFT).tempfile_in(folder)?;
        file.write_all(&key)?;
        file.as_file().sync_all()?;
        match file.persist_noclobber(path) {
            Err(error) if error.error.kind() != io::ErrorKind::AlreadyExists => Err(error.error),
            _ => Ok(()),
        }
    }

    /// The seal of what is in a file.
    pub(super) fn seal(&self, name: &str, code: &mut File) -> io::Result<[u8; SEAL_LENGTH]> {
        Ok(self.digest(name, code)?.finalize().into_bytes().into())
    }

    /// Opens an entry once, and checks what is behind that descriptor.
    pub(super) fn verify(&self, name: &str, code: &Path, seal: &Path) -> Result<Verified, Broken> {
        let mut file = open(code, 0o022)?;
        let stamp = stamp(&file)?;
        let sealed = open(seal, 0o022).map_err(|broken| match broken {
            Broken::Missing => Broken::Foreign("it has no seal"),
            other => other,
        })?;
        let mut written = Vec::new();
        (&sealed).take(MARKED_LENGTH as u64 + 1).read_to_end(&mut written).map_err(Broken::Unreadable)?;
        if !matches!(written.len(), SEAL_LENGTH | MARKED_LENGTH) {
            return Err(Broken::Seal);
        }
        let (seal, mark) = written.split_at(SEAL_LENGTH);
        let fitting = self.mac(&[MARK, name.as_bytes(), b"\0", seal, &stamp.bytes()]);
        let mut marked = None;
        if fitting.clone().verify_slice(mark).is_err() {
            let digest = self.digest(name, &mut file).map_err(Broken::Unreadable)?;
            digest.verify_slice(seal).map_err(|_| Broken::Seal)?;
            if stamp.is_settled() && stamp == self::stamp(&file)? {
                marked = Some([seal, &fitting.finalize().into_bytes()].concat());
            }
        }
        Ok(Verified { file, path: code.to_owned(), sealed, marked })
    }

    /// What is kept of a file with this stamp and this digest.
    pub(super) fn knows(&self, stamp: &Stamp, digest: &Digest) -> Vec<u8> {
        let sealed = self.mac(&[KNOWN, &stamp.bytes(), digest.bytes()]).finalize().into_bytes();
        [digest.bytes().as_slice(), &sealed].concat()
    }

    /// The digest that is kept for this stamp, if it is we who kept it.
    pub(super) fn known(&self, stamp: &Stamp, path: &Path) -> Result<(Digest, File), Broken> {
        let (file, mut kept) = (open(path, 0o022)?, [0; MARKED_LENGTH]);
        (&file).read_exact(&mut kept).map_err(Broken::Unreadable)?;
        let (digest, seal) = kept.split_at(SEAL_LENGTH);
        let sealed = self.mac(&[KNOWN, &stamp.bytes(), digest]);
        sealed.verify_slice(seal).map_err(|_| Broken::Seal)?;
        let digest = digest.try_into().map_err(|_| Broken::Seal)?;
        Ok((Digest::from_bytes(digest), file))
    }

    fn mac(&self, parts: &[&[u8]]) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new(&self.0.into());
        parts.iter().for_each(|part| mac.update(part));
        mac
    }

    fn digest(&self, name: &str, code: &mut File) -> io::Result<Hmac<Sha256>> {
        // No name has this byte: name and code cannot be shifted against each other.
        let mut digest = self.mac(&[name.as_bytes(), b"\0"]);
        let mut chunk = vec![0; CHUNK];
        loop {
            match code.read(&mut chunk)? {
                0 => return Ok(digest),
                read => digest.update(&chunk[..read]),
            }
        }
    }
}

fn stamp(file: &File) -> Result<Stamp, Broken> {
    file.metadata().map(|found| Stamp::from(&found)).map_err(Broken::Unreadable)
}

/// Opens a plain file of ours: no link, no pipe, of no other user, and without these permissions.
fn open(path: &Path, forbidden: u32) -> Result<File, Broken> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path);
    let file = file.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Broken::Missing,
        _ => Broken::Unreadable(error),
    })?;
    let found = file.metadata().map_err(Broken::Unreadable)?;
    if !found.is_file() {
        return Err(Broken::Foreign("it is not a plain file"));
    }
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(Broken::Foreign("it belongs to another user"));
    }
    if found.mode() & forbidden != 0 {
        return Err(Broken::Foreign("others have rights to it"));
    }
    Ok(file)
}
