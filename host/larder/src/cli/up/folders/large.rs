//! Finds folders that are too large to be watched. They are served, but a user has to know what is missing.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::super::super::out;

/// The maximum number of files and folders that the server watches in a granted folder.
const MAX_ENTRIES: usize = 100_000;
/// The maximum time for counting. A folder for which this is too short is large, or its disk is slow.
const MAX_TIME: Duration = Duration::from_secs(20);
/// The names that the provider `files` does not show.
const HIDDEN: [&str; 3] = ["target", "node_modules", "__pycache__"];

/// Counts the files in the folders in a thread of its own, and reports those that are too large.
pub(super) fn report(folders: Vec<PathBuf>) {
    // The thread ends with the process. Without the thread, only the report is missing.
    _ = thread::Builder::new()
        .name("count-files".into())
        .spawn(move || {
            for folder in folders {
                if is_large(&folder, MAX_ENTRIES) {
                    out::note(&format!(
                        "note: {} has more than {MAX_ENTRIES} files, or reading it takes long: changes in it are \
                         found late, and a search reads only a part of it; name smaller folders in it",
                        folder.display()
                    ));
                }
            }
        });
}

fn is_large(folder: &Path, max_entries: usize) -> bool {
    let deadline = Instant::now() + MAX_TIME;
    let mut folders = vec![folder.to_owned()];
    let mut entries = 0;
    while let Some(folder) = folders.pop() {
        // A folder in it that cannot be read is not in the lists either.
        for item in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            entries += 1;
            if entries > max_entries || Instant::now() > deadline {
                return true;
            }
            if item.file_type().is_ok_and(|kind| kind.is_dir()) && is_visible(&item.file_name()) {
                folders.push(item.path());
            }
        }
    }
    false
}

fn is_visible(name: &std::ffi::OsStr) -> bool {
    let name = name.to_string_lossy();
    !name.starts_with('.') && !HIDDEN.contains(&&*name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_what_the_providers_show() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path();
        for folder in ["a", ".git", "node_modules"] {
            std::fs::create_dir(path.join(folder)).unwrap();
            std::fs::write(path.join(folder).join("file"), "").unwrap();
        }
        assert!(!is_large(path, 4));
        assert!(is_large(path, 3));
        assert!(!is_large(&path.join("missing"), 0));
    }
}
