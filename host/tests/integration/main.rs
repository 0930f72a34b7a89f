//! All tests that need real components in a real sandbox, as one binary.
//! `cargo xtask guests plugins` builds the components.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod harness;
mod http_server;
mod process;
mod revision;

mod across_slashes;
mod admin;
mod approval;
mod audit;
mod auth;
mod author;
mod caching;
mod cancellation;
mod catalog;
mod change_detector;
mod changelog;
mod check_configurations;
mod client;
mod client_addresses;
mod client_certificates;
mod commands;
mod compiling;
mod component_rejection;
mod dev;
mod eras;
mod excess;
mod extension;
mod file_digests;
mod filtering;
mod fixtures;
mod full_capacity;
mod grants;
mod guest_stderr;
mod interfaces;
mod legacy;
mod list_changes;
mod live_reload;
mod log_limits;
mod malformed_requests;
mod many_listeners;
mod metrics;
mod misbehaviour;
mod modern;
mod outgoing_http;
mod overload;
mod panics;
mod quotas;
mod reconcile;
mod reload_under_load;
mod request_log;
mod resume;
mod reuse;
mod secrets;
mod shutdown;
mod slow_lists;
mod stalled;
mod stdio;
mod subscriptions;
mod teams;
mod telemetry;
mod trace_context;
mod unix_socket;
