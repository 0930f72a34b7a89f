//! One binary for all tests that need real components in a real sandbox.
//! The components come from `cargo xtask guests` and `cargo xtask plugins`.

mod house;

mod catalog;
mod contract;
mod grants;
mod misbehaviour;
