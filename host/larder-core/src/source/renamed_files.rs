//! Which files were renamed into place since the last scan, according to the events of the file system. A program that
//! renames a file has written all of it before, so the file can be used at once. A file without such an event, and a
//! file that was written to after the event, must stay the same for a moment.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use notify::event::{AccessKind, ModifyKind, RenameMode};
use notify::{Event, EventKind};
use parking_lot::Mutex;

/// Maximum number of files. Files beyond it must stay the same for a moment.
const MAX_FILES: usize = 10_000;

/// The files that were renamed into place. Clones share the same set.
#[derive(Debug, Clone, Default)]
pub(crate) struct RenamedFiles(Arc<Mutex<BTreeSet<PathBuf>>>);

impl RenamedFiles {
    /// Applies an event. Events arrive in the order of the changes.
    pub(super) fn record(&self, event: &Event) {
        let mut files = self.0.lock();
        if event.need_rescan() {
            files.clear();
        }
        match event.kind {
            EventKind::Modify(ModifyKind::Name(RenameMode::To)) => {
                files.extend(event.paths.iter().cloned())
            }
            // This event follows `From` and `To`. If a component got another name, there is no file with the previous
            // name any more.
            EventKind::Modify(ModifyKind::Name(RenameMode::Both)) => {
                if let [from, to] = event.paths.as_slice()
                    && to.extension() == from.extension()
                {
                    files.extend([from.clone(), to.clone()]);
                }
            }
            // Reading and closing a file, and a change of its owner or mode, do not change its content.
            EventKind::Access(AccessKind::Read | AccessKind::Open(_) | AccessKind::Close(_))
            | EventKind::Modify(ModifyKind::Metadata(_)) => {}
            _ => event.paths.iter().for_each(|path| _ = files.remove(path)),
        }
        if files.len() > MAX_FILES {
            files.clear();
        }
    }

    /// Removes all files from the set, because events may have been lost.
    pub(super) fn clear(&self) {
        self.0.lock().clear();
    }

    /// Returns the names of the files that were renamed into this folder since the last call.
    pub(super) fn take(&self, folder: &Path) -> BTreeSet<String> {
        let mut files = self.0.lock();
        let taken = files.extract_if(.., |path| path.parent() == Some(folder));
        taken
            .filter_map(|path| path.file_name()?.to_str().map(str::to_owned))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use notify::event::{CreateKind, DataChange, MetadataKind, RemoveKind};

    use super::*;

    #[test]
    fn a_component_with_another_name_has_left_its_place() {
        let both = |to: &str| {
            let files = RenamedFiles::default();
            let event = Event::new(EventKind::Modify(ModifyKind::Name(RenameMode::Both)));
            files.record(&event.add_path("/plugins/a.wasm".into()).add_path(to.into()));
            Vec::from_iter(files.take(Path::new("/plugins")))
        };
        assert_eq!(both("/plugins/b.wasm"), ["a.wasm", "b.wasm"]);
        // Some editors rename the old file before they write a new file.
        assert_eq!(both("/plugins/a.wasm~"), [""; 0]);
    }

    #[test]
    fn a_renamed_file_counts_until_it_is_written_to() {
        const TO: EventKind = EventKind::Modify(ModifyKind::Name(RenameMode::To));
        let check = |after: EventKind, is_renamed: bool| {
            let files = RenamedFiles::default();
            for kind in [EventKind::Create(CreateKind::File), TO, after] {
                files.record(&Event::new(kind).add_path("/plugins/a.wasm".into()));
            }
            assert!(files.take(Path::new("/other")).is_empty());
            let taken = files.take(Path::new("/plugins"));
            assert_eq!(taken.contains("a.wasm"), is_renamed, "{after:?}");
            assert!(files.take(Path::new("/plugins")).is_empty());
        };
        check(TO, true);
        check(
            EventKind::Modify(ModifyKind::Metadata(MetadataKind::Any)),
            true,
        );
        check(EventKind::Access(AccessKind::Read), true);
        check(EventKind::Modify(ModifyKind::Data(DataChange::Any)), false);
        check(EventKind::Create(CreateKind::File), false);
        check(EventKind::Remove(RemoveKind::File), false);
        check(EventKind::Modify(ModifyKind::Name(RenameMode::From)), false);
    }
}
