//! Limits of one team, summed over its providers.

use std::time::Duration;

/// Limits of one team. Each limit has a value: there is no "unlimited".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    /// Bytes of linear memory of all guests of the team.
    pub memory: u64,
    /// CPU time in each second. More than a second means more than one processor.
    pub cpu: Duration,
    /// Calls that run at the same time.
    pub calls: u32,
    /// Requests in each second.
    pub requests: u32,
    /// Bytes of responses in each second.
    pub bytes: u64,
    /// Providers in the team's folder.
    pub providers: u32,
    /// Maximum size of a component of the team in bytes. It also bounds the limit of each provider.
    pub component: u64,
    /// Notification streams that are open at the same time.
    pub watchers: u32,
    /// TCP connections of all guests of the team at the same time.
    pub connections: u32,
}

impl Default for Quota {
    fn default() -> Self {
        Self {
            memory: 2 << 30,
            cpu: half_of_all_processors(),
            calls: 64,
            requests: 500,
            bytes: 64 << 20,
            providers: 100,
            component: 64 << 20,
            watchers: 500,
            connections: 128,
        }
    }
}

/// Half of the machine's processors, so that other teams and the server have the rest.
fn half_of_all_processors() -> Duration {
    let processors = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    Duration::from_millis(500) * u32::try_from(processors).unwrap_or(u32::MAX)
}
