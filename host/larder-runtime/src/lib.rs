//! What the running process consists of below any protocol: supervised tasks, timeouts, metrics, health, file fingerprints,
//! and the Host and Origin checks of its listeners.

pub mod deadline;
pub mod drain;
pub mod file_fingerprint;
pub mod health;
pub mod host_policy;
pub mod metrics;
pub mod yield_batch;
