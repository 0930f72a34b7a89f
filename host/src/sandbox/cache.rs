//! Compiled components, kept in a folder of ours under the digest of the component and of the engine's
//! settings. An entry is machine code that will be run: it is sealed with a key of ours, and used only if
//! the seal fits what is mapped. What does not fit is deleted and compiled again.

mod folder;
mod known;
mod map;
mod seal;
mod sweep;

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, SystemTime};

use tempfile::{NamedTempFile, TempDir};
use wasmtime::Engine;
use wasmtime::component::Component;

use self::seal::{Broken, Key, Verified};
use crate::name::Digest;

/// What files that are being written begin with.
const DRAFT: &str = ".draft-";

/// Where compiled components are kept, and how many.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The folder.
    pub place: Place,
    /// Bytes of all entries together. What is in use stays, even if that is more.
    pub size: u64,
    /// What was not used for so long goes.
    pub age: Duration,
}

/// Which folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// The operator named it: it is this one or none.
    Named(PathBuf),
    /// Where programs keep such things; where that cannot be made, a temporary one does.
    Usual(PathBuf),
    /// One that goes with the process.
    Temporary,
}

/// Why there is no cache.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the cache folder {} {what}; mend that, or name another folder with `cache_dir` in [compiler]",
    path.display()
)]
pub struct CacheError {
    /// The folder.
    pub path: PathBuf,
    /// What is wrong with it.
    pub what: String,
}

/// The cache. Everything in it holds its thread.
pub(super) struct Cache {
    folder: PathBuf,
    /// Deletes the folder in the end, where it is a temporary one.
    _temporary: Option<TempDir>,
    key: Key,
    engine: Engine,
    settings: u64,
    config: Config,
    /// Entries that this process has mapped, as long as anybody holds them.
    used: Mutex<HashMap<String, Weak<()>>>,
}

/// A component out of the cache. Its entry stays as long as this is held.
#[derive(Clone)]
pub(super) struct Kept {
    pub(super) component: Component,
    pub(super) hold: Arc<()>,
}

impl Cache {
    /// Opens the folder, or makes it.
    pub(super) fn open(config: &Config, engine: &Engine) -> Result<Self, CacheError> {
        let (folder, temporary) = folder::open(&config.place)?;
        let key = Key::of(&folder).map_err(|error| CacheError {
            path: folder.clone(),
            what: format!("has no usable key: {error}"),
        })?;
        let mut settings = DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut settings);
        Ok(Self {
            folder,
            _temporary: temporary,
            key,
            engine: engine.clone(),
            settings: settings.finish(),
            config: config.clone(),
            used: Mutex::default(),
        })
    }

    /// The compiled form of this component, if there is one that can be trusted.
    pub(super) fn find(&self, digest: Digest) -> Option<Kept> {
        let name = self.name(digest);
        let path = self.code(&name);
        let found = self.key.verify(&name, &path, &self.seal(&name)).and_then(|mut verified| {
            let component = self.map(&verified).map_err(|error| Broken::Refused(format!("{error:#}")))?;
            if let Some(marked) = verified.marked.take() {
                self.mark(&name, &marked);
            }
            Ok(component)
        });
        match found {
            Ok(component) => Some(Kept { component, hold: self.hold(name) }),
            Err(Broken::Missing) => None,
            Err(broken) => {
                tracing::warn!(entry = %path.display(), %broken, "a compiled component is not used, but deleted");
                self.remove(&name);
                None
            }
        }
    }

    /// A file for what is being compiled.
    pub(super) fn draft(&self) -> io::Result<NamedTempFile> {
        tempfile::Builder::new().prefix(DRAFT).tempfile_in(&self.folder)
    }

    /// Makes an entry of a draft, and room for it.
    pub(super) fn keep(&self, digest: Digest, draft: NamedTempFile) -> io::Result<()> {
        let name = self.name(digest);
        let (_unswept, path) = (self.hold(name.clone()), self.code(&name));
        let seal = self.key.seal(&name, &mut draft.reopen()?)?;
        draft.as_file().sync_all()?;
        let sealed = self.sealed(&seal)?;
        // The seal first: whoever sees the code finds the seal as well. Both by renaming, since another
        // process may have mapped what stood there before.
        sealed.persist(self.seal(&name))?;
        draft.persist(path)?;
        self.sweep(self.config.size);
        Ok(())
    }

    /// Remembers which file the seal fits. Without it the code is read the next time too, no more.
    fn mark(&self, name: &str, marked: &[u8]) {
        let written = self.sealed(marked).and_then(|draft| Ok(draft.persist(self.seal(name))?));
        if let Err(error) = written {
            tracing::debug!(name, %error, "a compiled component will be read whole the next time too");
        }
    }

    fn sealed(&self, seal: &[u8]) -> io::Result<NamedTempFile> {
        let mut draft = self.draft()?;
        io::Write::write_all(&mut draft, seal)?;
        draft.as_file().sync_all()?;
        Ok(draft)
    }

    fn map(&self, verified: &Verified) -> wasmtime::Result<Component> {
        let component = map::map(&self.engine, verified)?;
        // The time of the seal is the time of the last use. Without it the entry goes early, no more.
        let _ = verified.sealed().set_modified(SystemTime::now());
        Ok(component)
    }

    fn hold(&self, name: String) -> Arc<()> {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.retain(|_, hold| hold.strong_count() > 0);
        let hold = used.get(&name).and_then(Weak::upgrade).unwrap_or_default();
        used.insert(name, Arc::downgrade(&hold));
        hold
    }

    fn is_used(&self, name: &str) -> bool {
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.get(name).is_some_and(|hold| hold.strong_count() > 0)
    }

    fn name(&self, digest: Digest) -> String {
        format!("{digest}-{:016x}", self.settings)
    }

    fn code(&self, name: &str) -> PathBuf {
        self.folder.join(name).with_extension("cwasm")
    }

    fn seal(&self, name: &str) -> PathBuf {
        self.folder.join(name).with_extension("seal")
    }

    fn remove(&self, name: &str) {
        for path in [self.code(name), self.seal(name)] {
            delete(&path);
        }
    }
}

/// What cannot be deleted stays unused, which is what matters.
fn delete(path: &Path) {
    if let Err(error) = std::fs::remove_file(path)
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::warn!(path = %path.display(), %error, "cannot delete a file of the cache");
    }
}

#[cfg(test)]
mod tests;
