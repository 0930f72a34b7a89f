//! The history of one provider: its calls over time, its recent faults, and its log.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::SystemTime;

use parking_lot::Mutex;

use super::event_log::cut;
use super::{BoundedRing, CallSample, RingItem, RingLimits, SampleRing};

/// Maximum number of faults that are kept.
const MAX_FAULTS: usize = 20;
/// Maximum number of log lines that are kept.
const MAX_LOG_LINES: usize = 500;
/// Maximum bytes of faults, and of log lines, of one provider. With many providers the limit is lower.
const MAX_BYTES: usize = 64 << 10;
/// Minimum of [`MAX_BYTES`], so that some records are kept with very many providers.
const MIN_BYTES: usize = 1 << 10;
/// Bytes of faults, and of log lines, of all providers together.
const TOTAL_BYTES: usize = 8 << 20;
/// Maximum length of a subject or message in bytes.
const MAX_TEXT: usize = 1 << 10;
/// Maximum length of the stderr of a fault in bytes.
const MAX_STDERR: usize = 4 << 10;

/// A guest misbehaved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FaultRecord {
    /// When the fault happened.
    pub at: SystemTime,
    /// The subject of the call: mostly a URI. Empty if the call had no subject.
    pub subject: String,
    /// The kind: a fixed word.
    pub kind: &'static str,
    /// The description of the fault.
    pub message: String,
    /// The end of what the guest wrote to stderr, without secrets.
    pub stderr: String,
}

/// A line that a guest logged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// When the line was logged.
    pub at: SystemTime,
    /// The level: a fixed word.
    pub level: &'static str,
    /// The text, without secrets.
    pub text: String,
}

impl RingItem for FaultRecord {
    fn bytes(&self) -> usize {
        self.subject.len() + self.message.len() + self.stderr.len() + size_of::<Self>()
    }
}

impl RingItem for LogLine {
    fn bytes(&self) -> usize {
        self.text.len() + size_of::<Self>()
    }
}

/// The history of one provider. All of its current revisions share the history.
#[derive(Debug)]
pub struct ProviderHistory {
    calls: Mutex<SampleRing<CallSample>>,
    faults: Mutex<BoundedRing<FaultRecord>>,
    log: Mutex<BoundedRing<LogLine>>,
    /// How many bytes of faults, and of log lines, are kept.
    max_bytes: AtomicUsize,
}

impl Default for ProviderHistory {
    fn default() -> Self {
        Self {
            calls: Mutex::default(),
            faults: Mutex::default(),
            log: Mutex::default(),
            max_bytes: AtomicUsize::new(MAX_BYTES),
        }
    }
}

impl ProviderHistory {
    /// Sets how many providers share the memory for faults and log lines.
    pub(crate) fn set_sharing(&self, providers: usize) {
        let share = (TOTAL_BYTES / providers.max(1)).clamp(MIN_BYTES, MAX_BYTES);
        if self.max_bytes.swap(share, Relaxed) != share {
            self.faults.lock().shrink(self.limits(MAX_FAULTS));
            self.log.lock().shrink(self.limits(MAX_LOG_LINES));
        }
    }

    /// Adds a sample of its calls.
    pub(crate) fn record_calls(&self, number: u32, sample: CallSample, max: usize) {
        self.calls.lock().push(number, sample, max);
    }

    /// Removes old samples of its calls.
    pub(crate) fn trim_calls(&self, now: u32, max: usize) {
        self.calls.lock().trim(now, max);
    }

    /// Returns the samples of the provider's calls with these numbers.
    pub fn calls(&self, numbers: std::ops::RangeInclusive<u32>) -> Vec<Option<CallSample>> {
        self.calls.lock().range(numbers)
    }

    /// Keeps a fault.
    pub fn record_fault(&self, mut fault: FaultRecord) {
        fault.subject = cut(fault.subject, MAX_TEXT);
        fault.message = cut(fault.message, MAX_TEXT);
        // The end of stderr explains a fault.
        let begin = fault.stderr.len().saturating_sub(MAX_STDERR);
        fault.stderr.drain(..fault.stderr.ceil_char_boundary(begin));
        self.faults.lock().push(fault, self.limits(MAX_FAULTS));
    }

    /// Returns the recorded faults, newest first.
    pub fn faults(&self) -> Vec<FaultRecord> {
        self.faults
            .lock()
            .iter()
            .rev()
            .map(|(_, fault)| fault.clone())
            .collect()
    }

    /// Keeps a log line.
    pub fn record_line(&self, level: &'static str, text: &str) {
        let line = LogLine {
            at: SystemTime::now(),
            level,
            text: text.to_owned(),
        };
        self.log.lock().push(line, self.limits(MAX_LOG_LINES));
    }

    /// Returns the newest lines that `keep` accepts, at most `max`, with their numbers, in the order in which they were
    /// logged.
    pub fn log(&self, max: usize, keep: impl Fn(u64, &LogLine) -> bool) -> Vec<(u64, LogLine)> {
        let log = self.log.lock();
        let newest = log
            .iter()
            .rev()
            .filter(|(id, line)| keep(*id, line))
            .take(max);
        let mut lines: Vec<_> = newest.map(|(id, line)| (id, line.clone())).collect();
        lines.reverse();
        lines
    }

    fn limits(&self, items: usize) -> RingLimits {
        RingLimits {
            items,
            bytes: self.max_bytes.load(Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_less_if_there_are_many_providers() {
        let history = ProviderHistory::default();
        let size = |history: &ProviderHistory| {
            let faults: usize = history.faults().iter().map(RingItem::bytes).sum();
            faults
                + history
                    .log(usize::MAX, |_, _| true)
                    .iter()
                    .map(|(_, line)| line.bytes())
                    .sum::<usize>()
        };
        for n in 0..1_000 {
            let subject = n.to_string();
            let message = "ü".repeat(9_999);
            let stderr = "ü".repeat(9_999) + "end";
            let at = SystemTime::now();
            history.record_fault(FaultRecord {
                at,
                subject,
                kind: "trap",
                message,
                stderr,
            });
            history.record_line("info", &"x".repeat(400));
        }
        assert!(size(&history) <= 2 * MAX_BYTES && history.faults()[0].stderr.ends_with("end"));
        assert_eq!(
            (
                history.faults().len() <= MAX_FAULTS,
                &*history.faults()[0].subject
            ),
            (true, "999")
        );
        history.set_sharing(1_000);
        assert!(
            size(&history) <= 2 * TOTAL_BYTES / 1_000,
            "{}",
            size(&history)
        );
        let lines = history.log(3, |id, _| id > 2);
        assert_eq!(
            lines.iter().map(|(id, _)| *id).collect::<Vec<_>>(),
            [998, 999, 1_000]
        );
    }
}
