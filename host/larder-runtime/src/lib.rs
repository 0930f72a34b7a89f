//! What the running process consists of below any protocol: supervised tasks, timeouts, metrics, health and file fingerprints.

pub mod deadline;
pub mod drain;
pub mod file_fingerprint;
pub mod health;
pub mod metrics;
pub mod yield_batch;
