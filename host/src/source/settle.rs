//! Half-written files: a change counts once it has been the same for a moment. Until then the folder is
//! shown as it was. What vanished counts the same way, so that "removed and made again" is one change.

use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

use super::File;

/// For how long a file must have been the same.
pub const REST: Duration = Duration::from_millis(100);
const EARLY: Duration = Duration::from_millis(2);

/// What a look saw.
#[derive(Debug, Default)]
pub struct Seen {
    /// Components by name, each with the `.toml` beside it.
    pub components: Vec<(File, Option<File>)>,
    /// When to look again, where something is not at rest yet.
    pub again: Option<Duration>,
    /// Files of which it cannot be told whether they are there, by name, and why. They are shown as they were.
    pub unclear: BTreeMap<String, io::Error>,
}

/// Files as they were when they were last at rest, and as they are.
#[derive(Debug, Default)]
pub(super) struct Settling {
    files: BTreeMap<String, Settle>,
    looked: bool,
}

#[derive(Debug)]
struct Settle {
    shown: Option<File>,
    latest: Option<File>,
    since: Instant,
}

impl Settling {
    /// Takes what is there now. The very first look is taken as it is: whoever starts wants to be served.
    pub(super) fn take(
        &mut self,
        files: Vec<File>,
        unclear: &BTreeMap<String, io::Error>,
        now: Instant,
    ) -> Seen {
        let first = !std::mem::replace(&mut self.looked, true);
        let mut there: BTreeMap<_, _> = files.into_iter().map(|file| (file.name.clone(), file)).collect();
        for (name, settle) in self.files.iter_mut().filter(|(name, _)| !unclear.contains_key(*name)) {
            settle.look(there.remove(name), now);
        }
        for (name, file) in there {
            let shown = first.then(|| file.clone());
            self.files.insert(name, Settle { shown, latest: Some(file), since: now });
        }
        self.files.retain(|_, settle| settle.shown.is_some() || settle.latest.is_some());
        Seen { components: self.components(), again: self.again(unclear, now), unclear: BTreeMap::new() }
    }

    fn components(&self) -> Vec<(File, Option<File>)> {
        let shown = |name: &str| self.files.get(name).and_then(|settle| settle.shown.clone());
        let components = self.files.keys().filter(|name| name.ends_with(".wasm"));
        components
            .filter_map(|name| shown(name))
            .map(|file| {
                let companion = shown(&format!("{}.toml", file.stem()));
                (file, companion)
            })
            .collect()
    }

    fn again(&self, unclear: &BTreeMap<String, io::Error>, now: Instant) -> Option<Duration> {
        // What cannot be looked at will not come to rest by being looked at.
        let clear = self.files.iter().filter(|(name, _)| !unclear.contains_key(*name));
        let restless = clear.filter(|(_, settle)| settle.shown != settle.latest);
        // A little later than that, for a timer may be early.
        restless.map(|(_, settle)| (REST + EARLY).saturating_sub(now - settle.since)).min()
    }
}

impl Settle {
    fn look(&mut self, file: Option<File>, now: Instant) {
        if self.latest != file {
            self.latest = file;
            self.since = now;
        } else if now - self.since >= REST {
            self.shown.clone_from(&self.latest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files by name and size; looks 60 ms apart; what is shown after each.
    fn check(looks: &[&[(&str, usize)]], expected: &[&str]) {
        let dir = tempfile::tempdir().unwrap();
        let (mut settling, begin) = (Settling::default(), Instant::now());
        for ((at, files), expected) in looks.iter().enumerate().zip(expected) {
            let files = files.iter().map(|(name, size)| {
                // The stamp is made once for each name and size, as if nobody touched the file in between.
                let path = dir.path().join(format!("{name}-{size}"));
                if !path.exists() {
                    std::fs::write(&path, vec![0; *size]).unwrap();
                }
                let stamp = crate::stamp::Stamp::of(&path).unwrap();
                File { name: (*name).to_owned(), path, stamp }
            });
            let seen = settling.take(
                files.collect(),
                &BTreeMap::new(),
                begin + Duration::from_millis(60) * u32::try_from(at).unwrap(),
            );
            let shown: Vec<_> = seen
                .components
                .iter()
                .map(|(file, beside)| {
                    let size =
                        |file: &File| file.path.to_string_lossy().rsplit('-').next().unwrap().to_owned();
                    let beside = beside.as_ref().map(|file| format!("+{}", size(file))).unwrap_or_default();
                    format!("{}={}{beside}", file.stem(), size(file))
                })
                .collect();
            assert_eq!(shown.join(" "), *expected, "after look {at}");
        }
    }

    #[test]
    fn the_first_look_is_taken_as_it_is() {
        check(&[&[("a.wasm", 1), ("a.toml", 2)]], &["a=1+2"]);
    }

    #[test]
    fn a_file_that_grows_is_shown_when_it_rests() {
        let grown: &[(&str, usize)] = &[("a.wasm", 3)];
        let looks: &[&[(&str, usize)]] = &[&[("a.wasm", 1)], &[("a.wasm", 2)], grown, grown, grown];
        check(looks, &["a=1", "a=1", "a=1", "a=1", "a=3"]);
    }

    #[test]
    fn removed_and_made_again_is_one_change() {
        let new: &[(&str, usize)] = &[("a.wasm", 2)];
        check(&[&[("a.wasm", 1)], &[], new, new, new], &["a=1", "a=1", "a=1", "a=1", "a=2"]);
    }

    #[test]
    fn what_stays_away_is_gone() {
        check(&[&[("a.wasm", 1)], &[], &[], &[]], &["a=1", "a=1", "a=1", ""]);
    }

    #[test]
    fn a_new_file_is_shown_when_it_rests() {
        let new: &[(&str, usize)] = &[("a.wasm", 1)];
        check(&[&[], new, new, new], &["", "", "", "a=1"]);
    }
}
