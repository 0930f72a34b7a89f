//! Tests with a real `nats-server`, which is skipped where it is not installed, except in CI. Each test has a server of its
//! own, on a free port of the loopback interface.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

#[path = "nats/failures.rs"]
mod failures;
#[path = "nats/forged.rs"]
mod forged;
#[path = "nats/jwt.rs"]
mod jwt;
#[path = "nats/members.rs"]
mod members;
#[path = "nats/replica.rs"]
mod replica;
#[path = "nats/security.rs"]
mod security;
#[path = "nats/server.rs"]
mod server;
