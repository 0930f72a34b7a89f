//! What happened in folders, until somebody asks: a bounded set of paths, or just "everything".

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use notify::event::{AccessKind, AccessMode, EventKind};
use tokio::sync::Notify;

/// Paths that are held one by one.
const PATHS: usize = 256;

#[derive(Debug, Default)]
pub(super) struct Bell {
    changes: Mutex<Changes>,
    rings: Notify,
}

/// Where something happened.
#[derive(Debug, Default)]
pub(super) struct Changes {
    everywhere: bool,
    paths: BTreeSet<PathBuf>,
}

impl Changes {
    /// Whether something happened in this folder or below it.
    pub(super) fn touch(&self, folder: &Path) -> bool {
        self.everywhere || self.paths.iter().any(|path| path.starts_with(folder))
    }
}

impl Bell {
    /// What the system tells.
    pub(super) fn heard(&self, event: notify::Result<notify::Event>) {
        match event {
            Ok(event) if event.need_rescan() => self.everywhere(),
            Ok(event) if counts(event.kind) => event.paths.into_iter().for_each(|path| self.changed(path)),
            Ok(_) => {}
            Err(error) => {
                tracing::debug!(%error, "the system's watch over granted folders has a gap");
                self.everywhere();
            }
        }
    }

    /// Something happened there.
    pub(super) fn changed(&self, path: PathBuf) {
        self.note(|changes| {
            changes.paths.insert(path);
            if changes.paths.len() > PATHS {
                *changes = Changes { everywhere: true, ..Changes::default() };
            }
        });
    }

    fn everywhere(&self) {
        self.note(|changes| changes.everywhere = true);
    }

    fn note(&self, note: impl FnOnce(&mut Changes)) {
        note(&mut self.changes.lock().unwrap_or_else(PoisonError::into_inner));
        self.rings.notify_one();
    }

    /// Waits until something happened.
    pub(super) async fn rung(&self) {
        self.rings.notified().await;
    }

    /// All that happened since.
    pub(super) fn take(&self) -> Changes {
        std::mem::take(&mut self.changes.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Reading is no change: what is asked because of an event must not cause the next one.
fn counts(kind: EventKind) -> bool {
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
        let bell = Bell::default();
        bell.changed("/a/b".into());
        let few = bell.take();
        assert!(few.touch(Path::new("/a")) && few.touch(Path::new("/a/b")) && !few.touch(Path::new("/ab")));
        for n in 0..1_000 {
            bell.changed(format!("/a/{n}").into());
        }
        let many = bell.take();
        assert!(many.touch(Path::new("/other")) && many.paths.len() <= PATHS);
        assert!(!bell.take().touch(Path::new("/a")));
    }

    #[test]
    fn reading_is_no_change() {
        use notify::event::{CreateKind, ModifyKind};
        for kind in [
            EventKind::Access(AccessKind::Open(AccessMode::Read)),
            EventKind::Access(AccessKind::Close(AccessMode::Read)),
        ] {
            assert!(!counts(kind), "{kind:?}");
        }
        for kind in [
            EventKind::Access(AccessKind::Close(AccessMode::Write)),
            EventKind::Create(CreateKind::File),
            EventKind::Modify(ModifyKind::Any),
        ] {
            assert!(counts(kind), "{kind:?}");
        }
    }
}
