//! The full-text index of what providers return, one for each team, in a folder on disk. The crate knows neither catalogs
//! nor callers: who may see a match is decided where it is used.

#![cfg_attr(test, allow(clippy::too_many_lines, reason = "tables are long"))]

mod damage;
mod directory;
mod excerpt;
mod folder;
mod pausing;
mod query;
mod schema;
mod stored;
mod tantivy_index;
mod words;
mod writer;

pub use self::folder::folder_of;
pub use self::tantivy_index::{IndexThread, TantivyIndex};
