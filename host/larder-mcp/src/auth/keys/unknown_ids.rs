//! The ids of keys that tokens named and that the issuer did not have. They are not verified: anybody can send them.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use larder_model::name::Digest;

/// Maximum number of ids. When it is exceeded, all ids are removed, and for a while tokens with such ids are answered
/// with "try again".
const MAX_IDS: usize = 1_000;

/// Ids of keys, with the time when a token first named the id.
#[derive(Debug, Default)]
pub(super) struct UnknownIds(HashMap<Digest, Instant>);

impl UnknownIds {
    /// Records that a token named this id.
    pub(super) fn add(&mut self, id: &str) {
        if self.0.len() >= MAX_IDS {
            self.0.clear();
        }
        self.0
            .entry(Digest::of(id.as_bytes()))
            .or_insert_with(Instant::now);
    }

    /// Removes an id, because the issuer has the key now.
    pub(super) fn remove(&mut self, id: &str) {
        self.0.remove(&Digest::of(id.as_bytes()));
    }

    /// Whether the issuer still did not have the key this long after a token had first named it.
    pub(super) fn was_missing_after(&self, id: &str, time: Duration, fetched_at: Instant) -> bool {
        let first = self.0.get(&Digest::of(id.as_bytes()));
        first.is_some_and(|first| {
            fetched_at
                .checked_duration_since(*first)
                .is_some_and(|after| after >= time)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remembers_when_an_id_was_first_named() {
        let mut ids = UnknownIds::default();
        let second = Duration::from_secs(1);
        ids.add("k");
        let now = Instant::now();
        ids.add("k");
        assert!(
            !ids.was_missing_after("k", Duration::ZERO, now - second),
            "the fetch was before"
        );
        assert!(
            !ids.was_missing_after("k", second, now)
                && ids.was_missing_after("k", second, now + second)
        );
        assert!(!ids.was_missing_after("other", second, now + second));
        ids.remove("k");
        assert!(!ids.was_missing_after("k", second, now + second));
    }

    #[test]
    fn the_number_of_ids_is_bounded() {
        let mut ids = UnknownIds::default();
        (0..10 * MAX_IDS).for_each(|n| ids.add(&n.to_string()));
        assert!(ids.0.len() <= MAX_IDS);
    }
}
