//! One binary for all tests that need real components in a real sandbox.
//! The components come from `cargo xtask guests` and `cargo xtask plugins`.

#![allow(clippy::unwrap_used, reason = "what a test does not get it fails for")]

mod house;
mod revision;
mod process;
mod wire;

mod caching;
mod catalog;
mod compiling;
mod commands;
mod contract;
mod ending;
mod grants;
mod hostile;
mod legacy;
mod listening;
mod live;
mod lookout;
mod misbehaviour;
mod modern;
mod reload;
mod stdio;
