//! Seals: an HMAC-SHA256 over the name and the code of an entry, with a key that only this user can read. An attacker
//! who can write to the folder but cannot read the key cannot create an entry that is used. A truncated, modified or
//! renamed entry is detected before any of its code is executed.
//!
//! Reading 36 MB of code takes as long as the rest of a start. So when a seal was found to match, a second
//! HMAC over the seal and the fingerprint of the code file (the mark) is appended to it. While the file has
//! this fingerprint, it was not modified, and need not be read again.

use std::fs::File;
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use larder_model::name::Digest;
use larder_runtime::file_fingerprint::FileFingerprint;
use larder_runtime::private_files::{
    self, ACCESSIBLE_TO_OTHERS, FileTrustError, WRITABLE_BY_OTHERS,
};

/// Name of the file with the key, in the folder of the cache.
const KEY_FILE: &str = "key";
/// Size of the key in bytes: one block of SHA-256, to which HMAC pads shorter keys.
const KEY_LENGTH: usize = 64;
/// Size of a seal in bytes.
pub(super) const SEAL_LENGTH: usize = 32;
/// Prefixes of the input if other data than code are sealed. No entry has a name that begins with one of these
/// prefixes.
const MARK_PREFIX: &[u8] = b"fingerprint of ";
const DIGEST_RECORD_PREFIX: &[u8] = b"known as ";
/// Size of a seal and its mark in bytes.
const MARKED_LENGTH: usize = 2 * SEAL_LENGTH;
/// Number of bytes that are read at a time.
const CHUNK: usize = 256 << 10;

/// The key that makes and verifies seals.
pub(super) struct Key([u8; KEY_LENGTH]);

/// Code whose seal matches, as an open file.
pub(crate) struct VerifiedCode {
    file: File,
    path: PathBuf,
    /// The file with the seal. Its modification time is the time of the last use.
    seal_file: File,
    /// New content for the file with the seal: the seal with a mark.
    pub(super) new_seal: Option<Vec<u8>>,
}

/// Why an entry or another file of the cache is not used.
#[derive(Debug, thiserror::Error)]
pub(super) enum InvalidEntry {
    #[error("the file does not exist")]
    Missing,
    #[error("it cannot be read: {0}")]
    Unreadable(io::Error),
    #[error("{0}")]
    Untrusted(&'static str),
    #[error("it {0}")]
    NotPrivate(FileTrustError),
    #[error("its seal does not match: it was truncated, modified, or not written by this program")]
    Seal,
    #[error("the engine rejects it: {0}")]
    Rejected(String),
}

impl From<FileTrustError> for InvalidEntry {
    fn from(untrusted: FileTrustError) -> Self {
        match untrusted {
            FileTrustError::Missing => Self::Missing,
            FileTrustError::Io(error) => Self::Unreadable(error),
            other => Self::NotPrivate(other),
        }
    }
}

impl VerifiedCode {
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    pub(super) fn seal_file(&self) -> &File {
        &self.seal_file
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Key {
    /// Reads the key of a folder. If the key does not exist, creates it. A key that other users could have read is
    /// replaced, which invalidates all seals.
    pub(super) fn open(folder: &Path) -> io::Result<Self> {
        let path = folder.join(KEY_FILE);
        match Self::read(&path) {
            Ok(key) => return Ok(key),
            Err(InvalidEntry::Missing) => {}
            Err(invalid) => {
                tracing::warn!(key = %path.display(), reason = %invalid, "replacing the key of the component cache: all entries become invalid");
                std::fs::remove_file(&path)?;
            }
        }
        Self::create(folder, &path)?;
        // If another process created a key at the same time, its key is used.
        Self::read(&path).map_err(io::Error::other)
    }

    fn read(path: &Path) -> Result<Self, InvalidEntry> {
        let mut file = private_files::open(path, ACCESSIBLE_TO_OTHERS)?;
        let mut key = [0; KEY_LENGTH];
        let fits = file
            .metadata()
            .is_ok_and(|found| found.len() == KEY_LENGTH as u64);
        match file.read_exact(&mut key) {
            Ok(()) if fits => Ok(Self(key)),
            _ => Err(InvalidEntry::Untrusted("it is not a key")),
        }
    }

    fn create(folder: &Path, path: &Path) -> io::Result<()> {
        let mut key = [0; KEY_LENGTH];
        getrandom::fill(&mut key).map_err(|error| io::Error::other(error.to_string()))?;
        // The crate documents mode 0600.
        let mut file = super::temp_file_in(folder)?;
        file.write_all(&key)?;
        file.as_file().sync_all()?;
        match file.persist_noclobber(path) {
            Err(error) if error.error.kind() != io::ErrorKind::AlreadyExists => Err(error.error),
            _ => Ok(()),
        }
    }

    /// Computes the seal of an entry whose code is read from a file.
    pub(super) fn seal(&self, name: &str, code: &mut File) -> io::Result<[u8; SEAL_LENGTH]> {
        Ok(self.mac_of_code(name, code)?.finalize().into_bytes().into())
    }

    /// Opens an entry once, and verifies the content of that descriptor.
    pub(super) fn verify(
        &self,
        name: &str,
        code: &Path,
        seal: &Path,
    ) -> Result<VerifiedCode, InvalidEntry> {
        let mut file = private_files::open(code, WRITABLE_BY_OTHERS)?;
        let fingerprint = fingerprint(&file)?;
        let seal_file = open_seal(seal)?;
        let written = read_seal(&seal_file)?;
        let (seal, mark) = written.split_at(SEAL_LENGTH);
        let mark_mac = self.mac_of_mark(name, seal, &fingerprint);
        let mut new_seal = None;
        if mark_mac.clone().verify_slice(mark).is_err() {
            self.verify_code(name, &mut file, seal)?;
            if fingerprint.is_settled() && fingerprint == self::fingerprint(&file)? {
                new_seal = Some([seal, &mark_mac.finalize().into_bytes()].concat());
            }
        }
        Ok(VerifiedCode {
            file,
            path: code.to_owned(),
            seal_file,
            new_seal,
        })
    }

    fn mac_of_mark(&self, name: &str, seal: &[u8], fingerprint: &FileFingerprint) -> Hmac<Sha256> {
        let name = name.as_bytes();
        self.mac(&[MARK_PREFIX, name, b"\0", seal, &fingerprint.bytes()])
    }

    fn verify_code(&self, name: &str, file: &mut File, seal: &[u8]) -> Result<(), InvalidEntry> {
        let mac = self.mac_of_code(name, file);
        let mac = mac.map_err(InvalidEntry::Unreadable)?;
        mac.verify_slice(seal).map_err(|_| InvalidEntry::Seal)
    }

    /// Creates a record, which says that the file with this fingerprint has this digest.
    pub(super) fn digest_record(&self, fingerprint: &FileFingerprint, digest: &Digest) -> Vec<u8> {
        let mac = self.mac_of_digest(fingerprint, digest.bytes());
        [digest.bytes().as_slice(), &mac.finalize().into_bytes()].concat()
    }

    fn mac_of_digest(&self, fingerprint: &FileFingerprint, digest: &[u8]) -> Hmac<Sha256> {
        self.mac(&[DIGEST_RECORD_PREFIX, &fingerprint.bytes(), digest])
    }

    /// Reads the digest from the record for this fingerprint, and verifies its seal.
    pub(super) fn read_digest_record(
        &self,
        fingerprint: &FileFingerprint,
        path: &Path,
    ) -> Result<(Digest, File), InvalidEntry> {
        let file = private_files::open(path, WRITABLE_BY_OTHERS)?;
        let mut record = [0; MARKED_LENGTH];
        (&file)
            .read_exact(&mut record)
            .map_err(InvalidEntry::Unreadable)?;
        let (digest, seal) = record.split_at(SEAL_LENGTH);
        let mac = self.mac_of_digest(fingerprint, digest);
        mac.verify_slice(seal).map_err(|_| InvalidEntry::Seal)?;
        let digest = digest.try_into().map_err(|_| InvalidEntry::Seal)?;
        Ok((Digest::from_bytes(digest), file))
    }

    fn mac(&self, parts: &[&[u8]]) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new(&self.0.into());
        parts.iter().for_each(|part| mac.update(part));
        mac
    }

    fn mac_of_code(&self, name: &str, code: &mut File) -> io::Result<Hmac<Sha256>> {
        // No name contains a zero byte, so the boundary between name and content is unambiguous.
        update(self.mac(&[name.as_bytes(), b"\0"]), code)
    }
}

fn open_seal(path: &Path) -> Result<File, InvalidEntry> {
    private_files::open(path, WRITABLE_BY_OTHERS).map_err(|invalid| match invalid {
        FileTrustError::Missing => InvalidEntry::Untrusted("it has no seal"),
        other => other.into(),
    })
}

/// Returns the seal, and its mark if it has one.
fn read_seal(file: &File) -> Result<Vec<u8>, InvalidEntry> {
    let mut written = Vec::new();
    let read = file
        .take(MARKED_LENGTH as u64 + 1)
        .read_to_end(&mut written);
    read.map_err(InvalidEntry::Unreadable)?;
    match written.len() {
        SEAL_LENGTH | MARKED_LENGTH => Ok(written),
        _ => Err(InvalidEntry::Seal),
    }
}

fn update(mut mac: Hmac<Sha256>, content: &mut File) -> io::Result<Hmac<Sha256>> {
    let mut chunk = vec![0; CHUNK];
    loop {
        match content.read(&mut chunk)? {
            0 => return Ok(mac),
            read => mac.update(&chunk[..read]),
        }
    }
}

fn fingerprint(file: &File) -> Result<FileFingerprint, InvalidEntry> {
    file.metadata()
        .map(|found| FileFingerprint::from(&found))
        .map_err(InvalidEntry::Unreadable)
}
