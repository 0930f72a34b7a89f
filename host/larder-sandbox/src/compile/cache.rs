//! The cache of compiled components and libraries on disk. The key of an entry is the digest of the compiled bytes and
//! of the engine's settings.
//!
//! An entry is machine code that will be executed. So each entry has a seal (a message authentication code,
//! see [`seal`]), and the code is used only if the seal matches the file that is mapped. An entry without a
//! matching seal is deleted, and the component is compiled again.

mod execution_error;
mod file_digests;
mod folder;
mod map;
mod seal;
mod sweep;

use std::collections::HashMap;
use std::fs::File;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use tempfile::{NamedTempFile, TempDir};
use wasmtime::{Engine, Module};

use self::execution_error::ExecutionError;
pub(super) use self::map::Code;
pub(crate) use self::map::ComponentCode;
use self::seal::{InvalidEntry, Key, VerifiedCode};
use larder_model::name::Digest;
use larder_model::size;
use larder_runtime::shares::{Resource, SharePermit, TeamShares};

/// Prefix of temporary files, which are renamed when they are complete.
const TEMP_PREFIX: &str = ".draft-";

/// Configuration of the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The folder.
    pub location: CacheLocation,
    /// Maximum total size of all entries, in bytes. Entries in use are kept, so code that does not fit beside them is
    /// not used.
    pub size: u64,
    /// Entries that were not used for this time are removed.
    pub age: Duration,
}

/// The folder of the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CacheLocation {
    /// A configured folder. If it cannot be used, that is an error.
    Configured(PathBuf),
    /// The default folder of the platform. If the folder or its key cannot be created, a temporary folder is used.
    Default(PathBuf),
    /// A temporary folder, which is deleted at exit.
    Temporary,
}

/// Why the cache could not be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the cache folder {} {problem}; fix that, or set another folder with `cache_dir` in [compiler]",
    path.display()
)]
pub struct CacheError {
    /// The folder.
    pub path: PathBuf,
    /// What is wrong with the folder; completes the sentence "the cache folder …".
    pub problem: String,
}

/// The cache. All methods block the calling thread.
pub(super) struct Cache {
    folder: PathBuf,
    /// Deletes the folder on drop, if the folder is temporary.
    _temp_dir: Option<TempDir>,
    key: Key,
    engine: Engine,
    settings_hash: u64,
    config: Config,
    components: Pins<ComponentCode>,
    libraries: Pins<Module>,
}

/// Keeps an entry in the cache, and holds its code after the entry was mapped. If several providers use an entry, all
/// of them get the same code: the code, its memory image and its metadata exist once.
pub(super) type Pin<T> = OnceLock<MappedCode<T>>;

/// Code that is in use.
pub(super) struct MappedCode<T> {
    code: T,
    /// The part of the cache's size that this code takes. Each entry belongs to one team.
    _size: SharePermit,
}

/// Why an entry with a matching seal cannot be used now. It may be usable later.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unusable {
    #[error(transparent)]
    Denied(#[from] ExecutionError),
    #[error(
        "the cache has no room for its code of {size}: the team uses {used}, and all teams share {limit} (`compiler.cache_size`)"
    )]
    NoRoom {
        size: String,
        used: String,
        limit: String,
    },
}

/// The entries that this process uses; sweeping does not remove them.
pub(crate) struct Pins<T>(Mutex<HashMap<String, Weak<Pin<T>>>>);

impl<T> Default for Pins<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Pins<T> {
    fn pin(&self, name: String) -> Arc<Pin<T>> {
        let mut pinned = self.0.lock();
        pinned.retain(|_, pin| pin.strong_count() > 0);
        let pin = pinned
            .get(&name)
            .and_then(Weak::upgrade)
            .unwrap_or_default();
        pinned.insert(name, Arc::downgrade(&pin));
        pin
    }

    fn is_pinned(&self, name: &str) -> bool {
        let pinned = self.0.lock();
        pinned.get(name).is_some_and(|pin| pin.strong_count() > 0)
    }
}

/// Code from the cache. The entry of the code is not removed while this value exists.
#[derive(Clone)]
pub(crate) struct CacheEntry<T> {
    pub(crate) code: T,
    pub(super) pin: Arc<Pin<T>>,
}

impl Cache {
    /// Opens the folder and reads its key. If one of them does not exist, creates it.
    pub(super) fn open(config: &Config, engine: &Engine) -> Result<Self, CacheError> {
        let (folder, temp_dir, key) = folder::open(&config.location)?;
        let mut settings = DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut settings);
        Ok(Self {
            folder,
            _temp_dir: temp_dir,
            key,
            engine: engine.clone(),
            settings_hash: settings.finish(),
            config: config.clone(),
            components: Pins::default(),
            libraries: Pins::default(),
        })
    }

    /// Returns compiled code of a team, if the cache has it with a matching seal. Fails if this process cannot execute
    /// compiled code, or if the code does not fit beside the code that is in use.
    pub(super) fn find<T: Code>(
        &self,
        digest: Digest,
        team: &TeamShares,
    ) -> Result<Option<CacheEntry<T>>, Unusable> {
        let name = self.entry_name(digest);
        let path = self.code_path(&name);
        let pin = T::pins(self).pin(name.clone());
        if let Some(code) = pin.get().map(|mapped| mapped.code.clone()) {
            self.record_use(&name);
            return Ok(Some(CacheEntry { code, pin }));
        }
        let invalid = match self.key.verify(&name, &path, &self.seal_path(&name)) {
            Ok(verified) => match T::map(&self.engine, &verified) {
                Ok(code) => {
                    let file = verified.file().metadata();
                    let bytes = file.map_or_else(|_| code.size(), |file| file.len());
                    self.note_used(&name, verified);
                    return self.use_mapped(code, bytes, pin, team).map(Some);
                }
                Err(error) => match ExecutionError::of(&error, &self.folder) {
                    Some(denied) => return Err(denied.into()),
                    None => InvalidEntry::Rejected(format!("{error:#}")),
                },
            },
            Err(InvalidEntry::Missing) => return Ok(None),
            Err(invalid) => invalid,
        };
        tracing::warn!(entry = %path.display(), reason = %invalid, "deleted an invalid entry of the component cache");
        self.remove(&name);
        Ok(None)
    }

    fn note_used(&self, name: &str, mut verified: VerifiedCode) {
        set_used(verified.seal_file());
        if let Some(new_seal) = verified.new_seal.take() {
            self.update_seal(name, &verified, &new_seal);
        }
    }

    /// Counts the code as used by the team. If the code exceeds the share of the team, it is not used, and its entry
    /// may be removed.
    fn use_mapped<T: Code>(
        &self,
        code: T,
        bytes: u64,
        pin: Arc<Pin<T>>,
        team: &TeamShares,
    ) -> Result<CacheEntry<T>, Unusable> {
        if let Some(size) = team.try_take_all(Resource::Code, bytes) {
            // Another thread may have mapped the entry in the meantime.
            let mapped = pin.get_or_init(|| MappedCode { code, _size: size });
            return Ok(CacheEntry {
                code: mapped.code.clone(),
                pin,
            });
        }
        team.count_refusal(Resource::Code);
        drop(pin);
        self.sweep(self.config.size);
        Err(no_room(bytes, team))
    }

    /// Creates a temporary file in the folder of the cache.
    pub(super) fn temp_file(&self) -> io::Result<NamedTempFile> {
        temp_file_in(&self.folder)
    }

    /// Makes an entry from a temporary file with compiled code. Then removes old entries if the cache is too large. The
    /// new entry is not removed while the result exists.
    pub(super) fn insert<T: Code>(
        &self,
        digest: Digest,
        temp_file: NamedTempFile,
    ) -> io::Result<Arc<Pin<T>>> {
        let name = self.entry_name(digest);
        let pin = T::pins(self).pin(name.clone());
        let path = self.code_path(&name);
        let seal = self.key.seal(&name, &mut temp_file.reopen()?)?;
        // Neither file is forced to the disk, because somebody may wait. After a power failure, the seal shows that
        // data were lost, as long as the seal has no mark.
        let seal_file = self.write_seal(&seal)?;
        // The seal is written first, so that a process that finds the code also finds its seal. Both files are renamed
        // into place, because another process may have mapped the previous files.
        seal_file.persist(self.seal_path(&name))?;
        temp_file.persist(path)?;
        self.sweep(self.config.size);
        Ok(pin)
    }

    /// Writes a seal that also covers the fingerprint of the verified file. If writing fails, the code is only verified
    /// in full again the next time.
    fn update_seal(&self, name: &str, verified: &VerifiedCode, new_seal: &[u8]) {
        // From now on the code is not read before it is used, so the verified bytes must be on the disk.
        let written = verified.file().sync_all().and_then(|()| {
            let temp_file = self.write_seal(new_seal)?;
            temp_file.as_file().sync_all()?;
            Ok(temp_file.persist(self.seal_path(name))?)
        });
        if let Err(error) = written {
            tracing::debug!(name, %error, "cannot update a seal: the compiled component is verified in full again the next time");
        }
    }

    fn write_seal(&self, seal: &[u8]) -> io::Result<NamedTempFile> {
        let mut temp_file = self.temp_file()?;
        io::Write::write_all(&mut temp_file, seal)?;
        Ok(temp_file)
    }

    /// Records a use of an entry that is already mapped.
    fn record_use(&self, name: &str) {
        // The seal is missing if another process removed the entry.
        if let Ok(seal) = File::open(self.seal_path(name)) {
            set_used(&seal);
        }
    }

    fn is_pinned(&self, name: &str) -> bool {
        self.components.is_pinned(name) || self.libraries.is_pinned(name)
    }

    fn entry_name(&self, digest: Digest) -> String {
        format!("{digest}-{:016x}", self.settings_hash)
    }

    fn code_path(&self, name: &str) -> PathBuf {
        self.folder.join(name).with_extension("cwasm")
    }

    fn seal_path(&self, name: &str) -> PathBuf {
        self.folder.join(name).with_extension("seal")
    }

    /// Removes an entry if it exists. Guests that use its code continue to use it.
    pub(super) fn remove_entry(&self, digest: Digest) {
        self.remove(&self.entry_name(digest));
    }

    fn remove(&self, name: &str) {
        for path in [self.code_path(name), self.seal_path(name)] {
            delete(&path);
        }
    }
}

/// Sets the modification time of a seal, which is the time of the last use. If this fails, the entry is only removed
/// earlier.
fn set_used(seal: &File) {
    let _ = seal.set_modified(SystemTime::now());
}

/// Creates a temporary file. It is locked while this process has it open, so that sweeping can recognize a file that a
/// killed process left.
fn temp_file_in(folder: &Path) -> io::Result<NamedTempFile> {
    let temp_file = tempfile::Builder::new()
        .prefix(TEMP_PREFIX)
        .tempfile_in(folder)?;
    // On a file system without locks, the file is only removed later if this process is killed.
    let _ = temp_file.as_file().try_lock();
    Ok(temp_file)
}

fn no_room(bytes: u64, team: &TeamShares) -> Unusable {
    Unusable::NoRoom {
        size: size::show(bytes),
        used: size::show(team.used(Resource::Code)),
        limit: size::show(team.limit(Resource::Code)),
    }
}

/// Deletes a file. Failure is only logged: an invalid file that remains is not used either.
fn delete(path: &Path) {
    if let Err(error) = std::fs::remove_file(path)
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::warn!(path = %path.display(), %error, "cannot delete a file of the component cache");
    }
}

#[cfg(test)]
mod tests;
