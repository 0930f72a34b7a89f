//! Removes entries that were not used for long. While the cache is still too large, removes the least
//! recently used ones. Entries that this process uses are kept.

use std::fs::{DirEntry, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::file_digests;
use super::{Cache, TEMP_PREFIX, delete};

/// After this age, temporary files and seals without code are orphans: no compilation takes so long.
const ORPHAN_AGE: Duration = Duration::from_secs(24 * 3600);
/// After this age, a temporary file without a lock is an orphan: a process locks its files when it creates them.
const UNLOCKED_AGE: Duration = Duration::from_secs(5);

/// A file in the folder of the cache.
struct CacheFile {
    path: PathBuf,
    /// Without the extension.
    name: String,
    modified: SystemTime,
    size: u64,
}

/// One search for what can be removed.
struct Sweep<'a> {
    cache: &'a Cache,
    now: SystemTime,
    removable: Vec<Removable>,
    /// Bytes of all files.
    total: u64,
}

/// An entry that this process does not use.
struct Removable {
    files: Vec<PathBuf>,
    last_use: SystemTime,
    size: u64,
}

impl Cache {
    /// Removes entries that were not used for long, entries that exceed the configured size, and orphaned files.
    pub(crate) fn remove_unused(&self) {
        self.sweep(self.config.size);
    }

    /// Also removes the least recently used entries until the total is at most `size` bytes.
    pub(super) fn sweep(&self, size: u64) {
        let mut sweep = Sweep {
            cache: self,
            now: SystemTime::now(),
            removable: Vec::new(),
            total: 0,
        };
        for file in self.files() {
            sweep.examine(file);
        }
        sweep.remove_down_to(size);
    }

    fn files(&self) -> Vec<CacheFile> {
        let Ok(files) = std::fs::read_dir(&self.folder) else {
            return Vec::new();
        };
        files
            .flatten()
            .filter_map(|file| CacheFile::of(&file))
            .collect()
    }
}

impl CacheFile {
    fn of(file: &DirEntry) -> Option<Self> {
        let metadata = file.metadata().ok()?;
        let path = file.path();
        Some(Self {
            name: path.file_stem()?.to_str()?.to_owned(),
            modified: metadata.modified().ok()?,
            size: metadata.len(),
            path,
        })
    }
}

impl Sweep<'_> {
    /// Deletes a file that is not used any more, and notes one that can be removed for its size.
    fn examine(&mut self, file: CacheFile) {
        let extension = file
            .path
            .extension()
            .and_then(|extension| extension.to_str());
        match extension {
            Some("cwasm") => self.add_entry(file),
            Some("seal") => self.delete_if_orphan(&file),
            Some(file_digests::EXTENSION) if self.is_unused(file.modified) => delete(&file.path),
            None if file.name.starts_with(TEMP_PREFIX) => self.add_temporary(&file),
            _ => {}
        }
    }

    fn add_entry(&mut self, file: CacheFile) {
        self.total += file.size;
        if self.cache.is_pinned(&file.name) {
            return;
        }
        let seal = self.cache.seal_path(&file.name);
        let last_use = std::fs::metadata(&seal).and_then(|seal| seal.modified());
        self.removable.push(Removable {
            last_use: last_use.unwrap_or(file.modified),
            files: vec![file.path, seal],
            size: file.size,
        });
    }

    fn delete_if_orphan(&self, seal: &CacheFile) {
        let has_code = self.cache.code_path(&seal.name).exists();
        if !has_code && self.age(seal.modified) > ORPHAN_AGE {
            delete(&seal.path);
        }
    }

    /// Temporary files count too, because they use the same space.
    fn add_temporary(&mut self, file: &CacheFile) {
        if self.is_abandoned(file) {
            delete(&file.path);
        } else {
            self.total += file.size;
        }
    }

    fn is_abandoned(&self, file: &CacheFile) -> bool {
        let age = self.age(file.modified);
        age > ORPHAN_AGE || (age > UNLOCKED_AGE && is_unlocked(&file.path))
    }

    fn age(&self, then: SystemTime) -> Duration {
        self.now.duration_since(then).unwrap_or_default()
    }

    /// Whether the last use was too long ago.
    fn is_unused(&self, last_use: SystemTime) -> bool {
        self.age(last_use) > self.cache.config.age
    }

    fn remove_down_to(mut self, size: u64) {
        let mut removable = std::mem::take(&mut self.removable);
        removable.sort_by_key(|entry| entry.last_use);
        for entry in removable {
            if self.total > size || self.is_unused(entry.last_use) {
                tracing::debug!(files = ?entry.files, "removed compiled code from the cache");
                entry.files.iter().for_each(|file| delete(file));
                self.total = self.total.saturating_sub(entry.size);
            }
        }
    }
}

/// Whether no process has this file open. A file whose lock is unknown counts as locked.
fn is_unlocked(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| file.try_lock().is_ok())
}
