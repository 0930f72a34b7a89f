//! Plain values that every other crate uses: names, URIs, resources, tools, prompts, permissions and callers. This
//! crate has no I/O, no protocol and no engine.

#![cfg_attr(test, allow(clippy::too_many_lines, reason = "tables are long"))]

pub mod address;
pub mod format;
pub mod input;
pub mod interaction;
pub mod message;
pub mod name;
pub mod policy;
pub mod prompt;
pub mod resource;
pub mod search;
pub mod settings;
pub mod signature;
pub mod size;
pub mod state_key;
pub mod text_index;
pub mod toml_depth;
pub mod tool;
pub mod trace;
pub mod uri;
