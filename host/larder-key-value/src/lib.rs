//! Stores the values that providers keep between calls: one database file for each team, with a bucket that all callers
//! of a provider share, and a bucket for each caller. All sizes and numbers are limited. A value is on the disk when
//! its write returns. Writes that wait at the same time are committed together.

mod bucket;
mod change;
mod database;
mod error;
mod group_commit;
mod location;
mod read;
mod read_only;
mod store;
mod tables;

pub use self::bucket::{BucketName, MAX_KEY, MAX_VALUE};
pub use self::change::{ENTRY_OVERHEAD, Write};
pub use self::database::verify_database;
pub use self::error::KeyValueError;
pub use self::group_commit::ChargeCpu;
pub use self::location::{all_databases, copy_database, database_path, move_database};
pub use self::read::{KeyPage, MAX_PAGE};
pub use self::store::KeyValueStore;
pub use self::tables::Usage;
