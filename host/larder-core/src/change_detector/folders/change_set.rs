//! The changes in folders since they were last taken: a bounded set of paths, or "everything".

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Instant;

use notify::event::{AccessKind, AccessMode, EventKind};
use parking_lot::Mutex;
use tokio::sync::Notify;

/// Limit of paths. Beyond it, the set becomes "everything".
const MAX_PATHS: usize = 256;

#[derive(Debug, Default)]
pub(super) struct ChangeSet {
    changes: Mutex<ChangedPaths>,
    wake: Notify,
}

/// The paths that changed.
#[derive(Debug, Default)]
pub(super) struct ChangedPaths {
    everything: bool,
    paths: BTreeSet<PathBuf>,
    since: Option<Instant>,
}

impl ChangedPaths {
    /// Returns when the first change was recorded.
    pub(super) fn since(&self) -> Option<Instant> {
        self.since
    }

    /// Returns whether something changed in this folder or below it.
    pub(super) fn affects(&self, folder: &Path) -> bool {
        self.everything || self.paths.iter().any(|path| path.starts_with(folder))
    }
}

impl ChangeSet {
    /// Records a file event.
    pub(super) fn handle_event(&self, event: notify::Result<notify::Event>) {
        match event {
            Ok(event) if event.need_rescan() => self.add_everything(),
            Ok(event) if is_change(event.kind) => {
                for path in event.paths {
                    self.add(path);
                }
            }
            Ok(_) => {}
            Err(error) => {
                tracing::debug!(%error, "file events of granted folders were lost");
                self.add_everything();
            }
        }
    }

    /// Records a change of this path.
    pub(super) fn add(&self, path: PathBuf) {
        self.record(|changes| {
            changes.paths.insert(path);
            if changes.paths.len() > MAX_PATHS {
                changes.everything = true;
                changes.paths = BTreeSet::new();
            }
        });
    }

    fn add_everything(&self) {
        self.record(|changes| changes.everything = true);
    }

    fn record(&self, change: impl FnOnce(&mut ChangedPaths)) {
        let mut changes = self.changes.lock();
        changes.since.get_or_insert_with(Instant::now);
        change(&mut changes);
        drop(changes);
        self.wake.notify_one();
    }

    /// Waits until there is a change.
    pub(super) async fn wait(&self) {
        self.wake.notified().await;
    }

    /// Returns the changes and clears the set.
    pub(super) fn take(&self) -> ChangedPaths {
        std::mem::take(&mut self.changes.lock())
    }
}

/// Whether an event is a change. A read is not a change: a provider that is called because of an event reads, and would
/// cause the next event.
fn is_change(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(access) => access == AccessKind::Close(AccessMode::Write),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_paths_become_everywhere() {
        let changes = ChangeSet::default();
        changes.add("/a/b".into());
        let few = changes.take();
        assert!(
            few.affects(Path::new("/a"))
                && few.affects(Path::new("/a/b"))
                && !few.affects(Path::new("/ab"))
        );
        for n in 0..1_000 {
            changes.add(format!("/a/{n}").into());
        }
        let many = changes.take();
        assert!(many.affects(Path::new("/other")) && many.paths.len() <= MAX_PATHS);
        assert!(!changes.take().affects(Path::new("/a")));
    }

    #[test]
    fn reading_is_not_a_change() {
        use notify::event::{CreateKind, ModifyKind};
        for kind in [
            EventKind::Access(AccessKind::Open(AccessMode::Read)),
            EventKind::Access(AccessKind::Close(AccessMode::Read)),
        ] {
            assert!(!is_change(kind), "{kind:?}");
        }
        for kind in [
            EventKind::Access(AccessKind::Close(AccessMode::Write)),
            EventKind::Create(CreateKind::File),
            EventKind::Modify(ModifyKind::Any),
        ] {
            assert!(is_change(kind), "{kind:?}");
        }
    }
}
