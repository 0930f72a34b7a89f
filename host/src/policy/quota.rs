//! What one team may use up in all, whatever its providers may use up each.

use std::time::Duration;

/// What one team may use up. There is no "unlimited".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quota {
    /// Bytes of linear memory of all its guests together.
    pub memory: u64,
    /// Time on processors in each second: more than a second of it is more than one processor.
    pub cpu: Duration,
    /// Calls that run at the same time.
    pub calls: u32,
    /// Requests in each second.
    pub requests: u32,
    /// Bytes of answers in each second.
    pub bytes: u64,
    /// Providers in its folder.
    pub providers: u32,
    /// Bytes of the largest component that it may bring, whatever the limits of a provider say.
    pub component: u64,
    /// Clients that listen at the same time.
    pub watchers: u32,
}

impl Default for Quota {
    fn default() -> Self {
        Self {
            memory: 2 << 30,
            cpu: half_of_all(),
            calls: 64,
            requests: 500,
            bytes: 64 << 20,
            providers: 100,
            component: 64 << 20,
            watchers: 500,
        }
    }
}

/// Half of the machine's processors: what is left is for the others, and for the host.
fn half_of_all() -> Duration {
    let processors = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    Duration::from_millis(500) * u32::try_from(processors).unwrap_or(u32::MAX)
}
