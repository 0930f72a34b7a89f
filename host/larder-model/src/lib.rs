//! Plain values that every other crate uses: names, URIs, resources, permissions and callers. No I/O, no protocol, no engine.

pub mod name;
pub mod policy;
pub mod resource;
pub mod trace;
pub mod uri;
