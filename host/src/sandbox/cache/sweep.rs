//! Makes room: what was not used for long goes, then the least recently used, but nothing that is in use.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use super::{Cache, DRAFT, delete, known};

/// Drafts and seals without code that are older were left behind: no compilation takes so long.
const LEFT_BEHIND: Duration = Duration::from_secs(24 * 3600);

/// An entry that nobody in this process uses.
struct Idle {
    name: String,
    used: SystemTime,
    size: u64,
}

impl Cache {
    /// Deletes what was not used for long, and what was left behind.
    pub(in crate::sandbox) fn tidy(&self) {
        self.sweep(u64::MAX);
    }

    /// Brings the entries below `size` bytes if it can.
    pub(super) fn sweep(&self, size: u64) {
        let now = SystemTime::now();
        let age = |then: SystemTime| now.duration_since(then).unwrap_or_default();
        let (mut idle, mut total) = (Vec::new(), 0);
        for (path, found) in self.files() {
            let Ok(changed) = found.modified() else { continue };
            let Some(name) = path.file_stem().and_then(|name| name.to_str()).map(str::to_owned) else {
                continue;
            };
            match path.extension().and_then(|ending| ending.to_str()) {
                Some("cwasm") => {
                    total += found.len();
                    if !self.is_used(&name) {
                        let used = std::fs::metadata(self.seal(&name)).and_then(|seal| seal.modified());
                        idle.push(Idle { used: used.unwrap_or(changed), name, size: found.len() });
                    }
                }
                Some("seal") if !self.code(&name).exists() && age(changed) > LEFT_BEHIND => delete(&path),
                Some(known::ENDING) if age(changed) > self.config.age => delete(&path),
                None if name.starts_with(DRAFT) && age(changed) > LEFT_BEHIND => delete(&path),
                _ => {}
            }
        }
        idle.sort_by_key(|entry| entry.used);
        for entry in idle {
            if total > size || age(entry.used) > self.config.age {
                tracing::debug!(entry = entry.name, "an old compiled component is deleted");
                self.remove(&entry.name);
                total = total.saturating_sub(entry.size);
            }
        }
    }

    fn files(&self) -> Vec<(PathBuf, std::fs::Metadata)> {
        let Ok(files) = std::fs::read_dir(&self.folder) else { return Vec::new() };
        files.flatten().filter_map(|file| Some((file.path(), file.metadata().ok()?))).collect()
    }
}
