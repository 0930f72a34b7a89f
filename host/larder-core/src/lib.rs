//! The server without a protocol and without an engine: the catalog of what providers offer, the gateway that answers
//! requests from it, and the reconciler that keeps it up to date.

#![cfg_attr(test, allow(clippy::too_many_lines, reason = "tables are long"))]

pub mod audit;
pub mod catalog;
pub mod change_detector;
pub mod gateway;
mod host_reads;
pub mod reconcile;
pub mod replicas;
mod retry;
pub mod search_index;
pub mod skill_snapshots;
pub mod source;
pub mod telemetry;
#[cfg(any(test, feature = "test-util"))]
pub mod test_team;
