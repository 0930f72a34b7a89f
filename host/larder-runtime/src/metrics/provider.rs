//! Metrics of one provider.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;

use super::Outcome;
use super::call_totals::CallTotals;
use super::value::{Histogram, nanos, seconds};
use crate::history::ProviderHistory;

/// Metrics of one provider.
#[derive(Debug, Default)]
pub struct ProviderMetrics {
    outcomes: [Counter; Outcome::COUNT],
    cache_results: [Counter; CacheResult::ALL.len()],
    key_value_results: [Counter; KeyValueResult::ALL.len()],
    cpu_nanos: AtomicU64,
    /// Whether the last poll of a guest took long.
    long_polls: AtomicBool,
    memory: AtomicU64,
    largest_memory: AtomicU64,
    /// Duration of calls, from the opening of the guest.
    pub durations: Histogram,
    /// Time that calls spend queued.
    pub waits: Histogram,
    /// Calls that were moved to threads for long calls.
    pub moved_calls: Counter,
    connections: [Counter; ConnectOutcome::ALL.len()],
    credentials: [Counter; CredentialOutcome::ALL.len()],
    /// Open TCP connections of guests.
    pub open_connections: Gauge,
    /// Bytes that guests sent over TCP connections.
    pub tcp_sent: Counter,
    /// Bytes that guests received over TCP connections.
    pub tcp_received: Counter,
    /// Open guests.
    pub guests: Gauge<u64, AtomicU64>,
    last_error: Mutex<Option<LastError>>,
    /// The totals of the provider's calls when the last sample was taken.
    pub(super) sampled: Mutex<CallTotals>,
    /// The history of the provider.
    pub history: ProviderHistory,
}

/// Where the response to a read came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheResult {
    /// The cache, or a concurrent call for the same resource.
    Hit,
    /// A call into the provider.
    Miss,
}

impl CacheResult {
    pub(super) const ALL: [Self; 2] = [Self::Hit, Self::Miss];

    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Hit => "hit",
            Self::Miss => "miss",
        }
    }
}

/// How the attempt of a guest to open a TCP connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectOutcome {
    /// The connection was opened.
    Ok,
    /// The connection is not granted.
    Denied,
    /// The provider, its team or the server has too many connections.
    Busy,
    /// The host did not answer in time.
    Timeout,
    /// The connection failed for another reason.
    Failed,
}

impl ConnectOutcome {
    pub(super) const ALL: [Self; 5] = [
        Self::Ok,
        Self::Denied,
        Self::Busy,
        Self::Timeout,
        Self::Failed,
    ];

    /// The name in metrics and in the audit log.
    pub fn label(self) -> &'static str {
        ["ok", "denied", "busy", "timeout", "failed"][self as usize]
    }
}

/// How a request to which the host added a credential ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CredentialOutcome {
    /// A response arrived.
    Ok,
    /// The server refused the request with the status 401 or 403.
    Rejected,
    /// The host refused to add the credential, or to connect.
    Denied,
    /// No response arrived in time.
    Timeout,
    /// The request failed for another reason.
    Failed,
    /// The body of the response contained the secret. The response is counted twice.
    Echoed,
    /// An authorization server issued a token for the secret.
    Renewed,
}

impl CredentialOutcome {
    pub(super) const ALL: [Self; 7] = [
        Self::Ok,
        Self::Rejected,
        Self::Denied,
        Self::Timeout,
        Self::Failed,
        Self::Echoed,
        Self::Renewed,
    ];

    /// The name in metrics and in the audit log.
    pub fn label(self) -> &'static str {
        [
            "ok", "rejected", "denied", "timeout", "failed", "echoed", "renewed",
        ][self as usize]
    }
}

/// How an operation of the key-value store ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyValueResult {
    /// A value or a list was read.
    Read,
    /// A value was written.
    Written,
    /// The operation was not granted, or exceeded a limit.
    Refused,
    /// The store could not be used.
    Unavailable,
}

impl KeyValueResult {
    pub(super) const ALL: [Self; 4] = [Self::Read, Self::Written, Self::Refused, Self::Unavailable];

    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Written => "written",
            Self::Refused => "refused",
            Self::Unavailable => "unavailable",
        }
    }
}

/// The last call that failed because of the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastError {
    /// Time of the failure.
    pub at: SystemTime,
    /// The operation that was called.
    pub operation: &'static str,
    /// How the call ended.
    pub outcome: Outcome,
    /// The error message.
    pub message: String,
}

impl ProviderMetrics {
    /// Counts a call that ended.
    pub fn record_call(&self, outcome: Outcome) {
        self.outcomes[outcome.index()].inc();
    }

    /// Number of calls with this outcome.
    pub fn calls(&self, outcome: Outcome) -> u64 {
        self.outcomes[outcome.index()].get()
    }

    /// The totals of all calls so far.
    pub fn totals(&self) -> CallTotals {
        let count = |outcomes: &mut dyn Iterator<Item = &Outcome>| {
            outcomes.map(|one| self.calls(*one)).sum()
        };
        CallTotals {
            calls: count(&mut Outcome::ALL.iter()),
            errors: count(&mut Outcome::ALL.iter().filter(|one| one.is_server_failure())),
            durations: self.durations.counts(),
        }
    }

    /// Counts a read that was served.
    pub fn record_read(&self, result: CacheResult) {
        self.cache_results[result as usize].inc();
    }

    /// Number of reads with this result.
    pub fn reads(&self, result: CacheResult) -> u64 {
        self.cache_results[result as usize].get()
    }

    /// Counts an attempt to open a TCP connection.
    pub fn record_connection(&self, outcome: ConnectOutcome) {
        self.connections[outcome as usize].inc();
    }

    /// Number of attempts to open a TCP connection with this outcome.
    pub fn connections(&self, outcome: ConnectOutcome) -> u64 {
        self.connections[outcome as usize].get()
    }

    /// Counts a request to which the host added a credential.
    pub fn record_credential(&self, outcome: CredentialOutcome) {
        self.credentials[outcome as usize].inc();
    }

    /// Number of requests with a credential that ended in this way.
    pub fn credentials(&self, outcome: CredentialOutcome) -> u64 {
        self.credentials[outcome as usize].get()
    }

    /// Counts an operation of the key-value store.
    pub fn record_key_value(&self, result: KeyValueResult) {
        self.key_value_results[result as usize].inc();
    }

    /// Number of operations of the key-value store with this result.
    pub fn key_value_operations(&self, result: KeyValueResult) -> u64 {
        self.key_value_results[result as usize].get()
    }

    /// Adds CPU time of a guest.
    pub fn record_cpu_time(&self, time: Duration) {
        self.cpu_nanos.fetch_add(nanos(time), Relaxed);
    }

    /// Whether the last poll of a guest took long, so that the next poll should be measured with the thread's CPU
    /// clock.
    pub fn has_long_polls(&self) -> bool {
        self.long_polls.load(Relaxed)
    }

    /// Records whether a poll took long. Writes only changes, so that the cache line stays shared between
    /// threads.
    pub fn set_long_polls(&self, long: bool) {
        if self.has_long_polls() != long {
            self.long_polls.store(long, Relaxed);
        }
    }

    /// CPU time of all guests in seconds.
    pub fn cpu_seconds(&self) -> f64 {
        seconds(self.cpu_nanos.load(Relaxed))
    }

    /// Records that the memory of a guest grew by `by` bytes to `to` bytes.
    pub fn memory_grew(&self, by: u64, to: u64) {
        self.memory.fetch_add(by, Relaxed);
        self.largest_memory.fetch_max(to, Relaxed);
    }

    /// Records that a guest with this much memory was dropped.
    pub fn memory_freed(&self, memory: u64) {
        self.memory.fetch_sub(memory, Relaxed);
    }

    /// Memory of all open guests in bytes.
    pub fn memory(&self) -> u64 {
        self.memory.load(Relaxed)
    }

    /// Peak memory of a single guest in bytes.
    pub(crate) fn largest_memory(&self) -> u64 {
        self.largest_memory.load(Relaxed)
    }

    /// Stores the last error.
    pub fn record_error(&self, error: LastError) {
        *self.last_error.lock() = Some(error);
    }

    /// The last error; none if there was no error.
    pub fn last_error(&self) -> Option<LastError> {
        self.last_error.lock().clone()
    }
}
