//! Compiles components in a child process, and keeps the compiled code in a cache. It creates no guests.

pub(crate) mod cache;
pub mod child;
pub(crate) mod compiled_code;
pub(crate) mod compiler;
mod function_list;
pub(crate) mod job;
pub(crate) mod libraries;
pub(crate) mod phases;
pub(crate) mod unsupported_features;
