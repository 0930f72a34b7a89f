//! What is counted of one provider.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, SystemTime};

use super::number::{Count, Level, Times, seconds};
use super::{Outcome, lock};

/// What is counted of one provider.
#[derive(Debug, Default)]
pub struct Tally {
    outcomes: [Count; Outcome::COUNT],
    kept: [Count; Kept::ALL.len()],
    cpu: Count,
    /// Whether its last stretch on a processor was a long one.
    long: AtomicBool,
    memory: Level,
    largest: AtomicU64,
    /// How long calls take, from the start of the guest.
    pub durations: Times,
    /// How long calls wait for their turn.
    pub waits: Times,
    /// Guests that are open.
    pub guests: Level,
    last_error: Mutex<Option<LastError>>,
}

/// Where the answer to a read came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// It was known, or another's call gave it.
    Hit,
    /// The provider was asked.
    Miss,
}

impl Kept {
    pub(super) const ALL: [Self; 2] = [Self::Hit, Self::Miss];

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Hit => "hit",
            Self::Miss => "miss",
        }
    }
}

/// The last call that told of trouble.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastError {
    /// When.
    pub at: SystemTime,
    /// What the provider was asked to do.
    pub asked: &'static str,
    /// The kind.
    pub outcome: Outcome,
    /// In a sentence.
    pub message: String,
}

impl Tally {
    /// A call ended.
    pub fn ended(&self, outcome: Outcome) {
        self.outcomes[outcome.index()].one();
    }

    /// How many calls ended so.
    pub fn calls(&self, outcome: Outcome) -> u64 {
        self.outcomes[outcome.index()].get()
    }

    /// A read was answered.
    pub fn answered(&self, from: Kept) {
        self.kept[from as usize].one();
    }

    /// How many reads were answered so.
    pub fn reads(&self, from: Kept) -> u64 {
        self.kept[from as usize].get()
    }

    /// A guest ran on a processor.
    pub fn ran(&self, time: Duration) {
        self.cpu.add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    }

    /// Whether a guest, once it runs, does so for long, as far as is known.
    pub fn runs_long(&self) -> bool {
        self.long.load(Relaxed)
    }

    /// A guest ran for long, or not. What is known already is not written again, as others look at it.
    pub fn takes(&self, long: bool) {
        if self.runs_long() != long {
            self.long.store(long, Relaxed);
        }
    }

    /// Seconds on a processor, of all guests.
    pub fn cpu_seconds(&self) -> f64 {
        seconds(self.cpu.get())
    }

    /// A guest's memory grew by this, to that.
    pub fn grew(&self, by: u64, to: u64) {
        self.memory.up(by);
        self.largest.fetch_max(to, Relaxed);
    }

    /// A guest with this much memory is gone.
    pub fn freed(&self, memory: u64) {
        self.memory.down(memory);
    }

    /// Bytes of memory of the guests that are open.
    pub fn memory(&self) -> u64 {
        self.memory.get()
    }

    /// The most bytes of memory that one guest had.
    pub fn largest_memory(&self) -> u64 {
        self.largest.load(Relaxed)
    }

    /// Remembers what went wrong.
    pub fn trouble(&self, error: LastError) {
        *lock(&self.last_error) = Some(error);
    }

    /// What went wrong last.
    pub fn last_error(&self) -> Option<LastError> {
        lock(&self.last_error).clone()
    }
}
