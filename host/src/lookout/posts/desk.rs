//! Questions to one provider: how many at once, and how long it is left alone in between.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use crate::uri::Uri;

/// URIs in one question.
pub(super) const BATCH: usize = 256;
/// Batches in a row without any answer, after which the rest is left for another time.
const FAILURES: u32 = 8;
/// After a round of questions its provider is left alone for so many times as long as it took.
const REST: u32 = 3;
/// The longest rest of a provider that fails.
pub(super) const LONGEST_REST: Duration = Duration::from_secs(5 * 60);

#[derive(Debug, Default)]
pub(super) struct Desk {
    pub(super) due: HashSet<Uri>,
    pub(super) busy: bool,
    spent: Duration,
    pub(super) answered: bool,
    pub(super) failed: bool,
    /// Questions that were too much for one call are asked in smaller batches, each a quarter of the one before.
    quarters: u32,
    pub(super) too_much: bool,
    /// Batches in a row in which there was no answer to anything.
    failures: u32,
    pub(super) rests_until: Option<Instant>,
    /// What got no answer. It is due again at that time, and not only when there is a tick: there may be none.
    pub(super) left: HashSet<Uri>,
    pub(super) again_at: Option<Instant>,
    /// How often in a row something was left.
    tries: u32,
}

impl Desk {
    pub(super) fn batch(&self) -> usize {
        (BATCH >> (2 * self.quarters)).max(1)
    }

    /// A batch came to its end.
    pub(super) fn finish(&mut self, took: Duration, now: Instant) {
        self.busy = false;
        self.spent += took;
        self.note();
        if !self.due.is_empty() {
            return;
        }
        let rest = (self.spent * REST).max(doubled(self.failures)).min(LONGEST_REST);
        (self.rests_until, self.spent) = (Some(now + rest), Duration::ZERO);
        if self.left.is_empty() {
            (self.again_at, self.tries) = (None, 0);
        } else if self.again_at.is_none() {
            self.tries = self.tries.saturating_add(1);
            let wait = rest.max(doubled(self.tries) / 2).min(LONGEST_REST);
            self.again_at = Some(now + wait);
        }
    }

    /// Draws its conclusions.
    fn note(&mut self) {
        let (answered, failed) = (std::mem::take(&mut self.answered), std::mem::take(&mut self.failed));
        if std::mem::take(&mut self.too_much) {
            self.quarters = (self.quarters + 1).min(4);
        } else if answered && !failed {
            self.quarters = self.quarters.saturating_sub(1);
        }
        self.failures = match (answered, failed) {
            (true, _) => 0,
            (false, true) => self.failures.saturating_add(1),
            (false, false) => self.failures,
        };
        if self.failures >= FAILURES {
            self.left.extend(self.due.drain());
        }
    }
}

/// Seconds, twice as many each time.
fn doubled(times: u32) -> Duration {
    if times == 0 { Duration::ZERO } else { Duration::from_secs(1 << times.min(10)) }
}
