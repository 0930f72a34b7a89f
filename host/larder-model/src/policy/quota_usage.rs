//! Current use of a team's quota. Each operation for a team is charged here before it begins.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::permits::Permits;
use super::{Quota, TokenBucket};

/// For each call that the team may make at the same time: the number of requests that may be in flight. The requests
/// without a call wait. More requests are rejected at once, so that the waiting requests of one team never exhaust the
/// limits that all teams share.
const REQUESTS_PER_CALL: usize = 4;

/// The quota usage of one team. While no quota is exhausted, a request costs one or two atomic operations, and no lock.
#[derive(Debug)]
pub struct QuotaUsage {
    quota: Mutex<Quota>,
    requests: TokenBucket,
    bytes: TokenBucket,
    cpu: TokenBucket,
    memory: AtomicU64,
    max_memory: AtomicU64,
    in_flight: Permits,
    calls: Permits,
    streams: Permits,
    connections: Permits,
    refusals: AtomicU64,
}

/// A quota of the team is exhausted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the team has exhausted its quota of {what}: try again in {} ms", retry.as_millis())]
pub struct QuotaExceeded {
    /// The name of the quota.
    pub what: &'static str,
    /// The time until the client should try again.
    pub retry: Duration,
}

/// One of the quotas of a team, and its current use.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QuotaUse {
    /// The name of the quota in the configuration.
    pub name: &'static str,
    /// The current use. For a rate, the use in the last second. The use can exceed the limit, because some costs are
    /// known only afterwards.
    pub used: f64,
    /// The limit.
    pub limit: f64,
    /// The unit.
    pub unit: &'static str,
}

/// Upper bound for the CPU time debt: several guests of a team can use much CPU time before they are stopped.
const MAX_CPU_DEBT: Duration = Duration::from_secs(600);

/// The retry delay if the actual delay is unknown.
const DEFAULT_RETRY: Duration = Duration::from_secs(1);

/// Memory that a guest of the team reserved. It is released on drop.
#[derive(Debug)]
pub struct MemoryReservation {
    usage: Arc<QuotaUsage>,
    bytes: u64,
}

impl MemoryReservation {
    /// Creates an empty reservation.
    pub fn new(usage: Arc<QuotaUsage>) -> Self {
        Self { usage, bytes: 0 }
    }

    /// Reserves more. Returns whether the quota allows it.
    pub fn grow(&mut self, bytes: u64) -> bool {
        let max = self.usage.max_memory.load(Relaxed);
        let more = |used: u64| used.checked_add(bytes).filter(|used| *used <= max);
        let fits = self
            .usage
            .memory
            .fetch_update(Relaxed, Relaxed, more)
            .is_ok();
        if fits {
            self.bytes += bytes;
        }
        fits
    }
}

impl Drop for MemoryReservation {
    fn drop(&mut self) {
        self.usage.memory.fetch_sub(self.bytes, Relaxed);
    }
}

impl QuotaUsage {
    /// Creates the usage of an unused quota.
    pub fn new(quota: Quota) -> Self {
        Self {
            requests: TokenBucket::new(quota.requests.into()),
            bytes: TokenBucket::new(quota.bytes),
            cpu: TokenBucket::new(cpu_nanos(&quota)).with_max_debt(MAX_CPU_DEBT),
            memory: AtomicU64::new(0),
            max_memory: AtomicU64::new(quota.memory),
            in_flight: Permits::new(max_in_flight(&quota)),
            calls: Permits::new(quota.calls as usize),
            streams: Permits::new(quota.watchers as usize),
            connections: Permits::new(quota.connections as usize),
            refusals: AtomicU64::new(0),
            quota: Mutex::new(quota),
        }
    }

    /// The quota.
    pub fn quota(&self) -> Quota {
        *self.quota.lock()
    }

    /// Changes the quota. What is in use beyond a lower limit stays in use: the future waits until permits of calls,
    /// streams and connections are returned that do not exist any more.
    pub fn set(&self, quota: Quota) -> impl Future<Output = ()> + Send + use<> {
        *self.quota.lock() = quota;
        self.requests.set_rate(quota.requests.into());
        self.bytes.set_rate(quota.bytes);
        self.cpu.set_rate(cpu_nanos(&quota));
        self.max_memory.store(quota.memory, Relaxed);
        let in_flight = self.in_flight.resize(max_in_flight(&quota));
        let calls = self.calls.resize(quota.calls as usize);
        let streams = self.streams.resize(quota.watchers as usize);
        let connections = self.connections.resize(quota.connections as usize);
        async move {
            tokio::join!(in_flight, calls, streams, connections);
        }
    }

    /// The use of each quota. The number of providers is counted elsewhere.
    pub fn uses(&self) -> Vec<QuotaUse> {
        let Quota {
            memory,
            cpu,
            calls,
            requests,
            bytes,
            watchers,
            connections,
            ..
        } = self.quota();
        let one = |name, used, limit, unit| QuotaUse {
            name,
            used,
            limit,
            unit,
        };
        let memory_used = self.memory.load(Relaxed) as f64;
        let cpu_used = self.cpu.used() as f64 / 1e9;
        let requests_used = self.requests.used() as f64;
        let bytes_used = self.bytes.used() as f64;
        let calls_used = self.calls.taken() as f64;
        let watchers_used = self.streams.taken() as f64;
        let connections_used = self.connections.taken() as f64;
        vec![
            one("memory", memory_used, memory as f64, "bytes"),
            one("cpu", cpu_used, cpu.as_secs_f64(), "seconds per second"),
            one("calls", calls_used, calls.into(), ""),
            one("requests", requests_used, requests.into(), "per second"),
            one("bytes", bytes_used, bytes as f64, "bytes per second"),
            one("watchers", watchers_used, watchers.into(), ""),
            one("connections", connections_used, connections.into(), ""),
        ]
    }

    /// The number of rejected operations.
    pub fn refusals(&self) -> u64 {
        self.refusals.load(Relaxed)
    }

    /// Counts an operation that no team of the caller allowed.
    pub fn count_refusal(&self) {
        self.refusals.fetch_add(1, Relaxed);
    }

    /// Admits a request, or rejects it at once, before any part of it is parsed.
    pub fn admit_request(&self) -> Result<(), QuotaExceeded> {
        self.check_byte_quota()?;
        self.requests.take(1).map_err(|retry| QuotaExceeded {
            what: "requests",
            retry,
        })
    }

    /// Acquires a permit for a request in flight, after it was parsed.
    pub fn request_permit(&self) -> Result<OwnedSemaphorePermit, QuotaExceeded> {
        self.in_flight.try_take().ok_or(QuotaExceeded {
            what: "concurrent requests",
            retry: DEFAULT_RETRY,
        })
    }

    /// Acquires a permit for a notification stream.
    pub fn stream_permit(&self) -> Result<OwnedSemaphorePermit, QuotaExceeded> {
        self.streams.try_take().ok_or(QuotaExceeded {
            what: "notification streams",
            retry: DEFAULT_RETRY,
        })
    }

    /// Acquires a permit for a TCP connection of a guest.
    pub fn connection_permit(&self) -> Result<OwnedSemaphorePermit, QuotaExceeded> {
        self.connections.try_take().ok_or(QuotaExceeded {
            what: "TCP connections",
            retry: DEFAULT_RETRY,
        })
    }

    /// Whether the team's providers may return more bytes.
    pub fn check_byte_quota(&self) -> Result<(), QuotaExceeded> {
        self.bytes.empty_for().map_or(Ok(()), |retry| {
            Err(QuotaExceeded {
                what: "response bytes",
                retry,
            })
        })
    }

    /// Charges the bytes of a response.
    pub fn charge_bytes(&self, bytes: u64) {
        self.bytes.charge(bytes);
    }

    /// Waits, for `timeout` at most, until the team may make one more call and has CPU time left.
    pub async fn call_permit(
        &self,
        timeout: Duration,
    ) -> Result<OwnedSemaphorePermit, QuotaExceeded> {
        let timed_out = QuotaExceeded {
            what: "concurrent calls",
            retry: DEFAULT_RETRY,
        };
        let permit = async {
            let permit = self.calls.take().await.ok_or(timed_out)?;
            while let Some(wait) = self.cpu.empty_for() {
                if wait > timeout {
                    return Err(QuotaExceeded {
                        what: "CPU time",
                        retry: wait,
                    });
                }
                tokio::time::sleep(wait).await;
            }
            Ok(permit)
        };
        let result = tokio::time::timeout(timeout, permit)
            .await
            .unwrap_or(Err(timed_out));
        result.inspect_err(|_| self.count_refusal())
    }

    /// Charges CPU time.
    pub fn charge_cpu(&self, time: Duration) {
        self.cpu
            .charge(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    }

    /// How long the team has to wait for CPU time; none if CPU time is left.
    pub fn cpu_wait(&self) -> Option<Duration> {
        self.cpu.empty_for()
    }
}

fn cpu_nanos(quota: &Quota) -> u64 {
    u64::try_from(quota.cpu.as_nanos()).unwrap_or(u64::MAX)
}

fn max_in_flight(quota: &Quota) -> usize {
    (quota.calls as usize)
        .saturating_mul(REQUESTS_PER_CALL)
        .min(Semaphore::MAX_PERMITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(quota: Quota) -> Arc<QuotaUsage> {
        Arc::new(QuotaUsage::new(quota))
    }

    #[test]
    fn a_request_permit_is_released_on_drop() {
        let usage = usage(Quota {
            calls: 1,
            ..Quota::default()
        });
        let mut permits: Vec<_> = (0..REQUESTS_PER_CALL)
            .map(|_| usage.request_permit().unwrap())
            .collect();
        assert_eq!(
            usage.request_permit().unwrap_err().what,
            "concurrent requests"
        );
        permits.pop();
        assert!(usage.request_permit().is_ok());
    }

    #[test]
    fn shows_how_much_is_used() {
        let usage = usage(Quota {
            requests: 1_000_000,
            watchers: 3,
            ..Quota::default()
        });
        let _streams = [usage.stream_permit(), usage.stream_permit()];
        (0..500_000).for_each(|_| usage.admit_request().unwrap());
        let mut reservation = MemoryReservation::new(usage.clone());
        assert!(reservation.grow(7));
        let uses = usage.uses();
        let used = |name| uses.iter().find(|one| one.name == name).unwrap().used;
        assert_eq!(
            (used("watchers"), used("memory"), used("calls")),
            (2.0, 7.0, 0.0)
        );
        assert!(
            used("requests") > 0.0 && used("requests") <= 500_000.0,
            "{}",
            used("requests")
        );
    }

    #[test]
    fn requests_and_bytes_are_limited_independently() {
        let few = usage(Quota {
            requests: 2,
            ..Quota::default()
        });
        let refused = (0..10).find_map(|_| few.admit_request().err()).unwrap();
        assert_eq!(refused.what, "requests");
        assert!(
            refused.retry > Duration::ZERO && refused.retry < Duration::from_secs(2),
            "{refused}"
        );
        let small = usage(Quota {
            bytes: 1_000,
            ..Quota::default()
        });
        small.charge_bytes(5_000);
        assert_eq!(small.admit_request().unwrap_err().what, "response bytes");
        assert_eq!(small.check_byte_quota().unwrap_err().what, "response bytes");
    }

    #[test]
    fn memory_is_shared_by_all_guests_and_released() {
        let usage = usage(Quota {
            memory: 100,
            ..Quota::default()
        });
        let [mut one, mut other] = [(); 2].map(|()| MemoryReservation::new(usage.clone()));
        assert!(one.grow(60) && other.grow(40));
        assert!(!other.grow(1) && !other.grow(u64::MAX));
        drop(one);
        assert!(other.grow(60) && !other.grow(1));
    }

    #[tokio::test]
    async fn each_limit_can_change() {
        let usage = usage(Quota {
            requests: 1,
            memory: 100,
            ..Quota::default()
        });
        while usage.admit_request().is_ok() {}
        let mut memory = MemoryReservation::new(usage.clone());
        assert!(!memory.grow(101));
        let quota = Quota {
            requests: 1_000_000,
            memory: 200,
            watchers: 1,
            calls: 1,
            ..Quota::default()
        };
        usage.set(quota).await;
        assert_eq!(usage.quota(), quota);
        assert!(memory.grow(101));
        assert!(usage.stream_permit().is_ok());
        let _stream = usage.stream_permit().unwrap();
        assert!(usage.stream_permit().is_err());
        let requests: Vec<_> = (0..=REQUESTS_PER_CALL)
            .map(|_| usage.request_permit())
            .collect();
        assert!(requests[REQUESTS_PER_CALL].is_err());
        assert_eq!(
            requests.iter().filter(|one| one.is_ok()).count(),
            REQUESTS_PER_CALL
        );
    }

    #[tokio::test]
    async fn cpu_debt_delays_or_rejects_calls() {
        let usage = usage(Quota {
            cpu: Duration::from_millis(100),
            ..Quota::default()
        });
        assert!(usage.call_permit(Duration::ZERO).await.is_ok());
        usage.charge_cpu(Duration::from_secs(1));
        let refused = usage
            .call_permit(Duration::from_millis(10))
            .await
            .unwrap_err();
        assert_eq!(refused.what, "CPU time");
        assert!(usage.cpu_wait().is_some());
    }

    #[tokio::test]
    async fn limits_concurrent_calls() {
        let usage = usage(Quota {
            calls: 1,
            ..Quota::default()
        });
        let permit = usage.call_permit(Duration::from_secs(60)).await.unwrap();
        assert_eq!(
            usage
                .call_permit(Duration::from_millis(5))
                .await
                .unwrap_err()
                .what,
            "concurrent calls"
        );
        drop(permit);
        assert!(usage.call_permit(Duration::from_secs(60)).await.is_ok());
    }
}
