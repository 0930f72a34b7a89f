//! Limits on the log: lines that repeat are counted, and logged together. The first line of a kind is logged at once,
//! and after that at most one summary per interval. Long lists are shortened.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::time::Instant;

use crate::drain::Drain;

/// The time between two summaries of one kind.
pub const SUMMARY_INTERVAL: Duration = Duration::from_secs(10);
/// Maximum number of characters of a subject in a summary.
const MAX_SUBJECT: usize = 400;

/// Returns the first `max` of these lines, and a line that counts the others: "and 3 more WHAT".
pub fn shorten<T: ToString>(
    lines: impl ExactSizeIterator<Item = T>,
    max: usize,
    what: &str,
) -> Vec<String> {
    let others = lines.len().saturating_sub(max);
    let mut shown: Vec<_> = lines.take(max).map(|line| line.to_string()).collect();
    if others > 0 {
        shown.push(format!("and {others} more {what}"));
    }
    shown
}

/// Decides which lines are logged. There must be few kinds, such as the reason of a refusal and a team. A kind must not
/// contain text that clients or providers choose, because every kind is stored, and logged separately.
///
/// ```ignore
/// let refusals = Suppressor::new(&drain, |reason: &Reason, repeats: &Repeats| {
///     tracing::warn!(reason = reason.as_str(), times = repeats.times, last = ?repeats.last, "refused again");
/// });
/// if refusals.is_first(reason, uri) {
///     tracing::warn!(reason = reason.as_str(), uri, "refused");
/// }
/// ```
pub struct Suppressor<K: Eq + Hash + Clone + Send + 'static>(Arc<Inner<K>>);

/// The repeated lines since the last logged line of their kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Repeats {
    /// The number of repeated lines.
    pub times: u64,
    /// The subject of the last line. It is text that others chose, so it must be escaped.
    pub last: String,
}

/// Logs the summary of a kind.
type Summarize<K> = dyn Fn(&K, &Repeats) + Send + Sync;

struct Inner<K: Eq + Hash + Clone + Send + 'static> {
    drain: Drain,
    summarize: Box<Summarize<K>>,
    state: Mutex<State<K>>,
}

struct State<K> {
    kinds: HashMap<K, Kind>,
    /// Whether a task will log the summaries.
    has_task: bool,
}

struct Kind {
    logged_at: Instant,
    repeats: Repeats,
}

impl<K: Eq + Hash + Clone + Send + 'static> Suppressor<K> {
    /// Creates a suppressor that logs summaries with `summarize`.
    pub fn new(drain: &Drain, summarize: impl Fn(&K, &Repeats) + Send + Sync + 'static) -> Self {
        let state = State {
            kinds: HashMap::new(),
            has_task: false,
        };
        let drain = drain.clone();
        let summarize = Box::new(summarize);
        Self(Arc::new(Inner {
            drain,
            summarize,
            state: Mutex::new(state),
        }))
    }

    /// Counts a line about this subject. Returns whether the caller must log the line; otherwise the line becomes part
    /// of a summary.
    pub fn is_first(&self, kind: K, subject: &str) -> bool {
        self.is_first_of(1, kind, subject)
    }

    /// Like [`Self::is_first`], for several lines at once.
    pub fn is_first_of(&self, times: u64, kind: K, subject: &str) -> bool {
        let mut state = self.0.state.lock();
        let now = Instant::now();
        match state.kinds.get_mut(&kind) {
            Some(known) if !known.is_quiet(now) => {
                known.add(times, subject);
                if !state.has_task {
                    state.has_task = self.0.spawn_summaries(Arc::downgrade(&self.0));
                }
                false
            }
            _ => {
                state.kinds.insert(kind, Kind::new(now));
                true
            }
        }
    }
}

impl Kind {
    fn new(now: Instant) -> Self {
        Self {
            logged_at: now,
            repeats: Repeats::default(),
        }
    }

    /// Whether the next line is logged.
    fn is_quiet(&self, now: Instant) -> bool {
        let elapsed = now.saturating_duration_since(self.logged_at);
        self.repeats.times == 0 && elapsed >= SUMMARY_INTERVAL
    }

    fn add(&mut self, times: u64, subject: &str) {
        self.repeats.times += times;
        self.repeats.last = subject.chars().take(MAX_SUBJECT).collect();
    }
}

impl<K: Eq + Hash + Clone + Send + 'static> Inner<K> {
    /// Starts a task that logs the summaries until nothing is repeated any more. Returns false if the task cannot
    /// start, because the server stops or the thread has no runtime. Then a later line starts the task, or the drop
    /// logs the summaries.
    fn spawn_summaries(&self, suppressor: Weak<Self>) -> bool {
        if self.drain.is_stopping() || Handle::try_current().is_err() {
            return false;
        }
        let drain = self.drain.clone();
        self.drain.spawn(async move {
            loop {
                let is_stopping = drain
                    .run_until_stopping(tokio::time::sleep(SUMMARY_INTERVAL))
                    .await
                    .is_none();
                let Some(suppressor) = suppressor.upgrade() else {
                    return;
                };
                if !suppressor.log_summaries() || is_stopping {
                    return;
                }
            }
        });
        true
    }

    /// Logs the summaries. Returns false if there are no summaries, so that the task ends.
    fn log_summaries(&self) -> bool {
        let mut summaries = Vec::new();
        let mut state = self.state.lock();
        for (kind, known) in &mut state.kinds {
            if known.repeats.times > 0 {
                summaries.push((kind.clone(), std::mem::take(&mut known.repeats)));
                known.logged_at = Instant::now();
            }
        }
        state.has_task = !summaries.is_empty();
        drop(state);
        summaries
            .iter()
            .for_each(|(kind, repeats)| (self.summarize)(kind, repeats));
        !summaries.is_empty()
    }
}

impl<K: Eq + Hash + Clone + Send + 'static> Drop for Inner<K> {
    fn drop(&mut self) {
        self.log_summaries();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Log = Arc<Mutex<Vec<(char, u64, String)>>>;

    fn suppressor(drain: &Drain) -> (Suppressor<char>, Log) {
        let log = Log::default();
        let summaries = log.clone();
        let summarize = move |kind: &char, repeats: &Repeats| {
            summaries
                .lock()
                .push((*kind, repeats.times, repeats.last.clone()));
        };
        (Suppressor::new(drain, summarize), log)
    }

    fn take(log: &Log) -> Vec<(char, u64, String)> {
        let mut taken = std::mem::take(&mut *log.lock());
        taken.sort();
        taken
    }

    #[tokio::test(start_paused = true)]
    async fn logs_the_first_line_and_one_summary_per_interval() {
        let (suppressor, log) = suppressor(&Drain::new());
        let firsts: Vec<_> = (0..1_000)
            .filter(|n| suppressor.is_first('a', &format!("{n}")))
            .collect();
        assert_eq!(firsts, [0]);
        assert!(suppressor.is_first('b', "") && !suppressor.is_first_of(7, 'b', "x"));
        assert_eq!(take(&log), []);
        tokio::time::sleep(SUMMARY_INTERVAL * 3 / 2).await;
        assert_eq!(take(&log), [('a', 999, "999".into()), ('b', 7, "x".into())]);
        // The line is repeated within the next interval.
        assert!(!suppressor.is_first('a', &"y".repeat(1_000)));
        tokio::time::sleep(SUMMARY_INTERVAL).await;
        assert_eq!(take(&log), [('a', 1, "y".repeat(MAX_SUBJECT))]);
        tokio::time::sleep(SUMMARY_INTERVAL * 2).await;
        assert_eq!(take(&log), []);
        assert!(
            suppressor.is_first('a', "") && !suppressor.is_first('a', ""),
            "it was quiet for an interval"
        );
        tokio::time::sleep(SUMMARY_INTERVAL * 2).await;
        assert_eq!(take(&log).len(), 1, "another task logs the next summary");
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_lost_at_the_end() {
        let drain = Drain::new();
        let (suppressor, log) = suppressor(&drain);
        assert!(suppressor.is_first('a', "") && !suppressor.is_first('a', "before the stop"));
        assert!(drain.finish(Duration::from_secs(1)).await);
        assert_eq!(take(&log), [('a', 1, "before the stop".into())]);
        assert!(!suppressor.is_first('a', "") && !suppressor.is_first('a', "after it"));
        assert_eq!(take(&log), []);
        drop(suppressor);
        assert_eq!(take(&log), [('a', 2, "after it".into())]);
    }

    #[test]
    fn needs_no_runtime() {
        let (suppressor, log) = suppressor(&Drain::new());
        assert!(suppressor.is_first('a', "") && !suppressor.is_first('a', ""));
        drop(suppressor);
        assert_eq!(take(&log).len(), 1);
    }
}
