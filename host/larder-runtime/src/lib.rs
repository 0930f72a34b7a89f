//! The parts of the running process that do not depend on a protocol: supervised tasks, threads for blocking and long
//! work, timeouts, metrics, health, a history for operators, limits on the log and on memory, the shares of teams, file
//! fingerprints and trusted files, listeners, and their Host and Origin checks.

pub mod blocking_threads;
pub mod connection_slots;
pub mod deadline;
pub mod drain;
pub mod file_fingerprint;
pub mod health;
pub mod history;
pub mod host_policy;
pub mod ledger;
pub mod listener;
pub mod log_limit;
pub mod low_priority_threads;
pub mod memory_budget;
pub mod metrics;
pub mod private_files;
pub mod shares;
pub mod short_slice;
pub mod trusted_proxies;
pub mod turns;
pub mod yield_batch;
