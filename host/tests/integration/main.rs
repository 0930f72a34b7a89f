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
mod client;
mod commands;
mod compiling;
mod component_rejection;
mod dev;
mod eras;
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
mod resume;
mod reuse;
mod secrets;
mod shutdown;
mod stalled;
mod stdio;
mod subscriptions;
mod teams;
mod telemetry;
mod trace_context;
mod unix_socket;
