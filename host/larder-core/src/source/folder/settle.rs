//! Handles files that are still being written. A change counts once the file has stayed the same for a
//! moment; until then the previous state is reported. A removal counts the same way, so that removing and
//! recreating a file is one change.

use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

use super::{File, SIGNATURE_EXTENSIONS};

/// How long a file must stay the same.
pub const SETTLE_TIME: Duration = Duration::from_millis(100);
const TIMER_SLACK: Duration = Duration::from_millis(2);

/// The settled files of a folder.
#[derive(Debug, Default)]
pub(super) struct SettledFiles {
    /// Components by name.
    pub(super) components: Vec<SettledComponent>,
    /// The names of files that have changed and not settled yet.
    pub(super) unsettled: Vec<String>,
    /// When to scan again, if files have not settled yet.
    pub(super) rescan_after: Option<Duration>,
}

/// A component with the files that belong to it.
#[derive(Debug)]
pub(super) struct SettledComponent {
    pub(super) file: File,
    pub(super) grant_request: Option<File>,
    pub(super) signatures: Vec<File>,
}

/// The last settled state and the current state of all files.
#[derive(Debug, Default)]
pub(super) struct SettleTracker {
    files: BTreeMap<String, FileState>,
    scanned: bool,
}

#[derive(Debug)]
struct FileState {
    settled: Option<File>,
    latest: Option<File>,
    since: Instant,
}

impl SettleTracker {
    /// Updates the state with the files that are present now. The first scan counts as settled, so that a
    /// start is not delayed.
    pub(super) fn update(
        &mut self,
        files: Vec<File>,
        unreadable: &BTreeMap<String, io::Error>,
        now: Instant,
    ) -> SettledFiles {
        let first = !std::mem::replace(&mut self.scanned, true);
        let mut present: BTreeMap<_, _> = files.into_iter().map(|file| (file.name.clone(), file)).collect();
        for (name, state) in self.files.iter_mut().filter(|(name, _)| !unreadable.contains_key(*name)) {
            state.observe(present.remove(name), now);
        }
        for (name, file) in present {
            let settled = first.then(|| file.clone());
            self.files.insert(name, FileState { settled, latest: Some(file), since: now });
        }
        self.files.retain(|_, state| state.settled.is_some() || state.latest.is_some());
        let (unsettled, rescan_after) = self.unsettled(unreadable, now);
        SettledFiles { components: self.components(), unsettled, rescan_after }
    }

    /// Removes all files. What the next scans find has to settle.
    pub(super) fn clear(&mut self) {
        self.files.clear();
    }

    fn components(&self) -> Vec<SettledComponent> {
        let settled = |name: &str| self.files.get(name).and_then(|state| state.settled.clone());
        let components = self.files.keys().filter(|name| name.ends_with(".wasm"));
        components
            .filter_map(|name| settled(name))
            .map(|file| SettledComponent {
                grant_request: settled(&format!("{}.toml", file.stem())),
                signatures: SIGNATURE_EXTENSIONS
                    .iter()
                    .filter_map(|extension| settled(&format!("{}{extension}", file.name)))
                    .collect(),
                file,
            })
            .collect()
    }

    /// Returns the names of the files that have not settled, and the time until the next one will have.
    fn unsettled(
        &self,
        unreadable: &BTreeMap<String, io::Error>,
        now: Instant,
    ) -> (Vec<String>, Option<Duration>) {
        // An unreadable file does not settle by another scan.
        let readable = self.files.iter().filter(|(name, _)| !unreadable.contains_key(*name));
        let (names, waits): (Vec<_>, Vec<_>) = readable
            .filter(|(_, state)| state.settled != state.latest)
            // Adds some slack, because a timer may fire early.
            .map(|(name, state)| {
                (name.clone(), (SETTLE_TIME + TIMER_SLACK).saturating_sub(now - state.since))
            })
            .unzip();
        (names, waits.into_iter().min())
    }
}

impl FileState {
    fn observe(&mut self, file: Option<File>, now: Instant) {
        if self.latest != file {
            self.latest = file;
            self.since = now;
        } else if now - self.since >= SETTLE_TIME {
            self.settled.clone_from(&self.latest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::directory::{Directory, LinkPolicy};
    use super::*;

    /// Takes files by name and size for scans that are 60 ms apart, and checks what is reported after each.
    fn check(scans: &[&[(&str, usize)]], expected: &[&str]) {
        let dir = tempfile::tempdir().unwrap();
        let (mut tracker, begin) = (SettleTracker::default(), Instant::now());
        for ((at, files), expected) in scans.iter().enumerate().zip(expected) {
            let files = files.iter().map(|(name, size)| {
                // One fingerprint for each name and size, as if the file was not changed in between.
                let path = dir.path().join(format!("{name}-{size}"));
                if !path.exists() {
                    std::fs::write(&path, vec![0; *size]).unwrap();
                }
                let fingerprint = larder_runtime::file_fingerprint::FileFingerprint::of(&path).unwrap();
                let directory = Directory { path: dir.path().into(), links: LinkPolicy::Follow };
                File { name: (*name).to_owned(), directory, fingerprint }
            });
            let scan = tracker.update(
                files.collect(),
                &BTreeMap::new(),
                begin + Duration::from_millis(60) * u32::try_from(at).unwrap(),
            );
            let shown: Vec<_> = scan
                .components
                .iter()
                .map(|SettledComponent { file, grant_request: request_file, .. }| {
                    let size = |file: &File| file.fingerprint.size();
                    let request_file =
                        request_file.as_ref().map(|file| format!("+{}", size(file))).unwrap_or_default();
                    format!("{}={}{request_file}", file.stem(), size(file))
                })
                .collect();
            assert_eq!(shown.join(" "), *expected, "after scan {at}");
        }
    }

    #[test]
    fn the_first_scan_is_used_as_it_is() {
        check(&[&[("a.wasm", 1), ("a.toml", 2)]], &["a=1+2"]);
    }

    #[test]
    fn a_growing_file_counts_once_it_settles() {
        let grown: &[(&str, usize)] = &[("a.wasm", 3)];
        let scans: &[&[(&str, usize)]] = &[&[("a.wasm", 1)], &[("a.wasm", 2)], grown, grown, grown];
        check(scans, &["a=1", "a=1", "a=1", "a=1", "a=3"]);
    }

    #[test]
    fn removal_and_recreation_is_one_change() {
        let new: &[(&str, usize)] = &[("a.wasm", 2)];
        check(&[&[("a.wasm", 1)], &[], new, new, new], &["a=1", "a=1", "a=1", "a=1", "a=2"]);
    }

    #[test]
    fn a_removed_file_disappears_once_it_settles() {
        check(&[&[("a.wasm", 1)], &[], &[], &[]], &["a=1", "a=1", "a=1", ""]);
    }

    #[test]
    fn a_new_file_counts_once_it_settles() {
        let new: &[(&str, usize)] = &[("a.wasm", 1)];
        check(&[&[], new, new, new], &["", "", "", "a=1"]);
    }
}
