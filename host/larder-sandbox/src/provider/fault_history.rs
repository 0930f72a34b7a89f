//! The faults that operators see: the last faults of a provider, and events.

use std::time::{Duration, SystemTime};

use super::Provider;
use larder_provider::Fault;
use larder_runtime::history::{Event, EventKind, FaultRecord};

impl Provider {
    /// Stores a fault of a call about this subject.
    pub(super) fn keep_fault(&self, fault: &Fault, subject: &str) {
        self.facts.metrics.history.record_fault(FaultRecord {
            at: SystemTime::now(),
            subject: subject.to_owned(),
            kind: fault.kind.as_str(),
            message: fault.kind.to_string(),
            stderr: fault.stderr.clone(),
        });
    }

    /// Records an event about a fault. If faults repeat, only the first fault has an event of its own.
    pub(super) fn record_fault_event(&self, fault: &Fault, subject: &str) {
        let event = Event::new(
            EventKind::Fault,
            format!("{} failed: {}", self.facts.name, fault.kind),
        );
        let event = event
            .with("kind", fault.kind.as_str())
            .with("subject", subject);
        self.record_event(event.with("stderr", &*fault.stderr));
    }

    /// Records that such calls are not made for a time.
    pub(super) fn record_circuit_event(&self, calls: &str, time: Duration) {
        let text = format!(
            "{} is not called for {time:?} after repeated faults",
            self.facts.name
        );
        self.record_event(
            Event::new(EventKind::Fault, text)
                .with("kind", "circuit-open")
                .with("calls", calls),
        );
    }

    fn record_event(&self, event: Event) {
        let event = event
            .of_team(&self.facts.team)
            .of_provider(&self.facts.name);
        self.sandbox
            .metrics()
            .events()
            .record(event.with("digest", self.facts.digest.to_string()));
    }
}
