//! One binary for all tests that need real components in a real sandbox.
//! The components come from `cargo xtask guests` and `cargo xtask plugins`.

#![allow(clippy::unwrap_used, reason = "what a test does not get it fails for")]

mod house;
mod process;
mod revision;
mod wire;

mod admin;
mod approval;
mod audit;
mod auth;
mod author;
mod caching;
mod catalog;
mod change_detector;
mod client;
mod commands;
mod compiling;
mod contract;
mod crowd;
mod dev;
mod dialect;
mod ending;
mod eras;
mod fair;
mod filtering;
mod fixtures;
mod grants;
mod greedy;
mod hostile;
mod known;
mod legacy;
mod listening;
mod lists;
mod live;
mod misbehaviour;
mod modern;
mod multitude;
mod numbers;
mod overload;
mod reload;
mod resume;
mod reuse;
mod secrets;
mod stalled;
mod stdio;
mod teams;
mod telemetry;
mod trace;
