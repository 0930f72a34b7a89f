//! Decides when to scan next: soon after a trigger, otherwise at the configured interval.

use std::time::Duration;

use tokio::time::Instant;

/// Triggers, such as file events, come in bursts. A scan waits this long for the end of a burst, such as the rename of
/// NAME.toml and the rename of its component.
const DEBOUNCE: Duration = Duration::from_millis(5);

pub(super) struct ScanSchedule {
    interval: Duration,
    next_scan: Instant,
    /// Whether the last scan could not read a source.
    last_scan_failed: bool,
}

impl ScanSchedule {
    pub(super) fn new(interval: Duration) -> Self {
        Self {
            interval,
            next_scan: Instant::now(),
            last_scan_failed: false,
        }
    }

    /// Schedules a scan soon, because something may have changed.
    pub(super) fn wake(&mut self) {
        self.scan_within(DEBOUNCE);
    }

    /// Records the start of a scan. Later events may concern changes that this scan does not find.
    pub(super) fn scan_started(&mut self) {
        self.next_scan = Instant::now() + self.interval;
    }

    /// Records the end of a scan. `rescan_after` is the delay until the files that are still changing can be complete.
    pub(super) fn scan_finished(&mut self, succeeded: bool, rescan_after: Option<Duration>) {
        self.last_scan_failed = !succeeded;
        self.scan_within(rescan_after.unwrap_or(self.interval));
    }

    /// Returns when to scan next. `retry` is the time until a failed load is due. A load cannot be retried without a
    /// successful scan. So after a failed scan, `retry` is ignored: it would only cause one scan immediately after
    /// another.
    pub(super) fn next_scan_at(&self, retry: Duration) -> Instant {
        if self.last_scan_failed {
            self.next_scan
        } else {
            self.next_scan.min(Instant::now() + retry)
        }
    }

    fn scan_within(&mut self, time: Duration) {
        self.next_scan = self.next_scan.min(Instant::now() + time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_failed_scan_is_not_repeated_immediately() {
        let interval = Duration::from_secs(60);
        let mut schedule = ScanSchedule::new(interval);
        let is_soon = |schedule: &ScanSchedule| {
            schedule.next_scan_at(Duration::ZERO) < Instant::now() + interval / 2
        };
        schedule.scan_started();
        schedule.scan_finished(true, None);
        assert!(
            is_soon(&schedule),
            "a failed load is retried when it is due"
        );
        schedule.scan_started();
        schedule.scan_finished(false, None);
        assert!(!is_soon(&schedule));
        schedule.wake();
        assert!(is_soon(&schedule), "events still trigger a scan");
    }
}
