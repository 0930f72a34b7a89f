//! One binary for all tests that need real components in a real sandbox.
//! The components come from `cargo xtask guests` and `cargo xtask plugins`.

mod house;
mod wire;

mod catalog;
mod contract;
mod ending;
mod grants;
mod hostile;
mod legacy;
mod listening;
mod misbehaviour;
mod modern;
mod stdio;
