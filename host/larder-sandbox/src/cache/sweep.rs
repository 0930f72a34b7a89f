//! Removes entries and functions that were not used for long, then the least recently used ones while the cache is too
//! large. Entries that this process uses are kept.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::{Cache, TEMP_PREFIX, delete, file_digests, functions};

/// Age after which temporary files, and seals without code, are orphans: no compilation takes that long.
const ORPHAN_AGE: Duration = Duration::from_secs(24 * 3600);
/// Age after which a temporary file without a lock is an orphan: a process locks its files when it creates them.
const UNLOCKED_AGE: Duration = Duration::from_secs(5);

/// An entry that this process does not use, or the functions of a provider.
struct Removable {
    files: Vec<PathBuf>,
    last_use: SystemTime,
    size: u64,
}

impl Cache {
    /// Removes entries that were not used for long, what is too much since the size was configured, and orphaned files.
    pub(crate) fn remove_unused(&self) {
        self.sweep(self.config.size);
    }

    /// Also removes the least recently used entries until the total is at most `size` bytes.
    pub(super) fn sweep(&self, size: u64) {
        let now = SystemTime::now();
        let age = |then: SystemTime| now.duration_since(then).unwrap_or_default();
        // Temporary files count too, because they use the same space.
        let mut unused = Vec::new();
        let mut total = 0;
        for (path, metadata) in self.files() {
            let Ok(modified) = metadata.modified() else {
                continue;
            };
            let Some(name) = path
                .file_stem()
                .and_then(|name| name.to_str())
                .map(str::to_owned)
            else {
                continue;
            };
            match path.extension().and_then(|ending| ending.to_str()) {
                Some("cwasm") => {
                    total += metadata.len();
                    if !self.is_pinned(&name) {
                        let last_use = std::fs::metadata(self.seal_path(&name))
                            .and_then(|seal| seal.modified());
                        unused.push(Removable {
                            last_use: last_use.unwrap_or(modified),
                            files: vec![path, self.seal_path(&name)],
                            size: metadata.len(),
                        });
                    }
                }
                Some(functions::EXTENSION) => {
                    total += metadata.len();
                    unused.push(Removable {
                        files: vec![path],
                        last_use: modified,
                        size: metadata.len(),
                    });
                }
                Some("seal") if !self.code_path(&name).exists() && age(modified) > ORPHAN_AGE => {
                    delete(&path)
                }
                Some(file_digests::EXTENSION) if age(modified) > self.config.age => delete(&path),
                None if name.starts_with(TEMP_PREFIX) => {
                    let age = age(modified);
                    if age > ORPHAN_AGE || (age > UNLOCKED_AGE && is_unlocked(&path)) {
                        delete(&path);
                    } else {
                        total += metadata.len();
                    }
                }
                _ => {}
            }
        }
        unused.sort_by_key(|entry| entry.last_use);
        for entry in unused {
            if total > size || age(entry.last_use) > self.config.age {
                tracing::debug!(files = ?entry.files, "removed compiled code from the cache");
                entry.files.iter().for_each(|file| delete(file));
                total = total.saturating_sub(entry.size);
            }
        }
    }

    fn files(&self) -> Vec<(PathBuf, std::fs::Metadata)> {
        let Ok(files) = std::fs::read_dir(&self.folder) else {
            return Vec::new();
        };
        files
            .flatten()
            .filter_map(|file| Some((file.path(), file.metadata().ok()?)))
            .collect()
    }
}

/// Whether no process has this file open. A file whose lock is unknown counts as locked.
fn is_unlocked(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| file.try_lock().is_ok())
}
