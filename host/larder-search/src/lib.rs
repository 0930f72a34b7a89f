//! The full-text indexes of the content that providers return: one index for each team, in a folder on disk. The crate
//! does not use catalogs or callers: the code that uses a match decides which caller may see it.

#![cfg_attr(test, allow(clippy::too_many_lines, reason = "tables are long"))]

mod damage;
mod directory;
mod excerpt;
mod folder;
mod pausing;
mod query;
mod schema;
mod stored_index;
mod tantivy_index;
mod words;
mod writer;

pub use self::folder::folder_of;
pub use self::tantivy_index::{IndexThread, TantivyIndex};
