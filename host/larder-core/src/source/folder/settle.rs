//! Handles files that are still being written. A change counts once the file has stayed the same for a moment; until
//! then the previous state is reported. A removal also counts after that time, so that removing and recreating a file
//! is one change. A file that was renamed into place is complete, so it counts at once, unless another file of the same
//! component is still being written.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::time::{Duration, Instant};

use super::{File, SIGNATURE_EXTENSIONS};
use crate::source::Detection;

/// How long a file must stay the same.
pub const SETTLE_TIME: Duration = Duration::from_millis(100);
const TIMER_SLACK: Duration = Duration::from_millis(2);

/// The settled files of a folder.
#[derive(Debug, Default)]
pub(super) struct SettledFiles {
    /// Components by name.
    pub(super) components: Vec<SettledComponent>,
    /// The names of files that have changed and have not settled yet.
    pub(super) unsettled: Vec<String>,
    /// When to scan again, if files have not settled yet.
    pub(super) rescan_after: Option<Duration>,
}

/// A component with the files that belong to it.
#[derive(Debug)]
pub(super) struct SettledComponent {
    pub(super) file: File,
    pub(super) detection: Option<Detection>,
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
    /// The time from the latest change to the scan that found the change.
    delay: Duration,
    /// How the settled state was found. `None` for the first scan.
    detection: Option<Detection>,
}

impl SettleTracker {
    /// Updates the state with the files that are present now, and the names of those that were renamed into place. The
    /// first scan counts as settled, so that a start is not delayed.
    pub(super) fn update(
        &mut self,
        files: Vec<File>,
        unreadable: &BTreeMap<String, io::Error>,
        renamed: &BTreeSet<String>,
        now: Instant,
    ) -> SettledFiles {
        let first = !std::mem::replace(&mut self.scanned, true);
        let mut present: BTreeMap<_, _> = files
            .into_iter()
            .map(|file| (file.name.clone(), file))
            .collect();
        for (name, state) in self
            .files
            .iter_mut()
            .filter(|(name, _)| !unreadable.contains_key(*name))
        {
            state.observe(present.remove(name), now);
        }
        for (name, file) in present {
            self.files.insert(name, FileState::new(file, first, now));
        }
        self.settle_renamed(renamed, now);
        self.files
            .retain(|_, state| state.settled.is_some() || state.latest.is_some());
        let (unsettled, rescan_after) = self.unsettled(unreadable, now);
        SettledFiles {
            components: self.components(),
            unsettled,
            rescan_after,
        }
    }

    /// Removes all files. Files that the next scans find have to settle.
    pub(super) fn clear(&mut self) {
        self.files.clear();
    }

    /// Settles the files that were renamed into place. If another file of the same component was written in place, all
    /// of them wait, so that the component is not loaded with a part of its new files.
    fn settle_renamed(&mut self, renamed: &BTreeSet<String>, now: Instant) {
        let is_written =
            |(name, state): &(&String, &FileState)| !state.is_settled() && !renamed.contains(*name);
        let written = self.files.iter().filter(is_written);
        let written: BTreeSet<_> = written
            .map(|(name, _)| component_of(name).to_owned())
            .collect();
        for name in renamed
            .iter()
            .filter(|name| !written.contains(component_of(name)))
        {
            if let Some(state) = self.files.get_mut(name) {
                state.settle(now);
            }
        }
    }

    fn components(&self) -> Vec<SettledComponent> {
        let names = self.files.keys().filter(|name| name.ends_with(".wasm"));
        names.filter_map(|name| self.component(name)).collect()
    }

    fn component(&self, name: &str) -> Option<SettledComponent> {
        let file = self.settled(name)?;
        Some(SettledComponent {
            detection: self.files.get(&file.name).and_then(|state| state.detection),
            grant_request: self.settled(&format!("{}.toml", file.stem())),
            signatures: self.signatures_of(&file),
            file,
        })
    }

    /// Returns the settled state of a file.
    fn settled(&self, name: &str) -> Option<File> {
        self.files.get(name)?.settled.clone()
    }

    fn signatures_of(&self, component: &File) -> Vec<File> {
        SIGNATURE_EXTENSIONS
            .iter()
            .filter_map(|extension| self.settled(&format!("{}{extension}", component.name)))
            .collect()
    }

    /// Returns the names of the files that have not settled, and the time until the next of these files settles.
    fn unsettled(
        &self,
        unreadable: &BTreeMap<String, io::Error>,
        now: Instant,
    ) -> (Vec<String>, Option<Duration>) {
        // Another scan does not settle an unreadable file.
        let readable = self
            .files
            .iter()
            .filter(|(name, _)| !unreadable.contains_key(*name));
        let (names, waits): (Vec<_>, Vec<_>) = readable
            .filter(|(_, state)| !state.is_settled())
            // Adds some slack, because a timer may fire early.
            .map(|(name, state)| {
                (
                    name.clone(),
                    (SETTLE_TIME + TIMER_SLACK).saturating_sub(now - state.since),
                )
            })
            .unzip();
        (names, waits.into_iter().min())
    }
}

impl FileState {
    fn new(file: File, is_settled: bool, now: Instant) -> Self {
        let delay = file.fingerprint.age().unwrap_or_default();
        Self {
            settled: is_settled.then(|| file.clone()),
            latest: Some(file),
            since: now,
            delay,
            detection: None,
        }
    }

    fn observe(&mut self, file: Option<File>, now: Instant) {
        if self.latest != file {
            self.delay = file
                .as_ref()
                .and_then(|file| file.fingerprint.age())
                .unwrap_or_default();
            self.latest = file;
            self.since = now;
        } else if now - self.since >= SETTLE_TIME {
            self.settle(now);
        }
    }

    fn settle(&mut self, now: Instant) {
        if !self.is_settled() {
            self.settled.clone_from(&self.latest);
            let settling = now.saturating_duration_since(self.since);
            self.detection = Some(Detection {
                delay: self.delay,
                settling,
                at: now,
            });
        }
    }

    fn is_settled(&self) -> bool {
        self.settled == self.latest
    }
}

/// The part of a file name that all files of a component have.
fn component_of(name: &str) -> &str {
    let end = name
        .find(".wasm")
        .or_else(|| name.rfind(".toml"))
        .unwrap_or(name.len());
    &name[..end]
}

#[cfg(test)]
mod tests {
    use super::super::directory::{Directory, LinkPolicy};
    use super::*;

    /// Takes files by name and size for scans at intervals of 60 ms, and checks what is reported after each scan. `mv `
    /// before a name means that the file was renamed into place.
    fn check(scans: &[&[(&str, usize)]], expected: &[&str]) {
        let dir = tempfile::tempdir().unwrap();
        let mut tracker = SettleTracker::default();
        let begin = Instant::now();
        for ((at, files), expected) in scans.iter().enumerate().zip(expected) {
            let renamed = files
                .iter()
                .filter_map(|(name, _)| name.strip_prefix("mv ").map(str::to_owned));
            let renamed = renamed.collect();
            let files = files.iter().map(|(name, size)| {
                let name = name.trim_start_matches("mv ");
                // One fingerprint for each name and size, as if the file was not changed in between.
                let path = dir.path().join(format!("{name}-{size}"));
                if !path.exists() {
                    std::fs::write(&path, vec![0; *size]).unwrap();
                }
                let fingerprint =
                    larder_runtime::file_fingerprint::FileFingerprint::of(&path).unwrap();
                let directory = Directory {
                    path: dir.path().into(),
                    links: LinkPolicy::Follow,
                };
                File {
                    name: name.to_owned(),
                    directory,
                    fingerprint,
                }
            });
            let scan = tracker.update(
                files.collect(),
                &BTreeMap::new(),
                &renamed,
                begin + Duration::from_millis(60) * u32::try_from(at).unwrap(),
            );
            let shown: Vec<_> = scan
                .components
                .iter()
                .map(
                    |SettledComponent {
                         file,
                         grant_request: request_file,
                         ..
                     }| {
                        let size = |file: &File| file.fingerprint.size();
                        let request_file = request_file
                            .as_ref()
                            .map(|file| format!("+{}", size(file)))
                            .unwrap_or_default();
                        format!("{}={}{request_file}", file.stem(), size(file))
                    },
                )
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
        check(
            &[&[("a.wasm", 1)], &[], new, new, new],
            &["a=1", "a=1", "a=1", "a=1", "a=2"],
        );
    }

    #[test]
    fn a_removed_file_disappears_once_it_settles() {
        check(
            &[&[("a.wasm", 1)], &[], &[], &[]],
            &["a=1", "a=1", "a=1", ""],
        );
    }

    #[test]
    fn a_new_file_counts_once_it_settles() {
        let new: &[(&str, usize)] = &[("a.wasm", 1)];
        check(&[&[], new, new, new], &["", "", "", "a=1"]);
    }

    #[test]
    fn a_renamed_file_counts_at_once() {
        let scans: &[&[(&str, usize)]] = &[
            &[("a.wasm", 1)],
            &[("mv a.wasm", 2), ("mv b.wasm", 1)],
            &[("a.wasm", 2)],
        ];
        check(scans, &["a=1", "a=2 b=1", "a=2 b=1"]);
        // The event may be read after the scan that found the file.
        let late: &[&[(&str, usize)]] = &[&[("a.wasm", 1)], &[("a.wasm", 2)], &[("mv a.wasm", 2)]];
        check(late, &["a=1", "a=1", "a=2"]);
        // Then the file is written to.
        let written: &[&[(&str, usize)]] =
            &[&[("mv a.wasm", 1)], &[("a.wasm", 2)], &[("a.wasm", 2)]];
        check(written, &["a=1", "a=1", "a=1"]);
    }

    #[test]
    fn a_renamed_file_waits_for_the_others_of_its_component() {
        let before: &[(&str, usize)] = &[("a.toml", 1), ("a.wasm", 1)];
        let now: &[(&str, usize)] = &[("a.toml", 2), ("mv a.wasm", 2)];
        let after: &[(&str, usize)] = &[("a.toml", 2), ("a.wasm", 2)];
        check(
            &[before, now, after, after],
            &["a=1+1", "a=1+1", "a=1+1", "a=2+2"],
        );
        check(
            &[before, &[("mv a.toml", 2), ("mv a.wasm", 2)]],
            &["a=1+1", "a=2+2"],
        );
    }
}
