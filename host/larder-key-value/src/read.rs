//! Reads of the database.

use redb::{Database, ReadTransaction, ReadableDatabase as _};

use super::bucket::{BucketName, MAX_KEY};
use super::error::{KeyValueError, OperationError};
use super::tables::{BUCKETS, Bucket, VALUES};

/// Maximum number of keys on one page.
pub const MAX_PAGE: u32 = 1_000;

/// A page of keys.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyPage {
    /// The keys, in ascending order.
    pub keys: Vec<String>,
    /// Where the next page begins; none at the end.
    pub next: Option<String>,
}

/// A query for keys of a bucket.
#[derive(Debug, Clone)]
pub(crate) struct ListQuery {
    pub(crate) prefix: String,
    pub(crate) cursor: Option<String>,
    pub(crate) limit: u32,
}

/// Returns the value of a key, and the second in which its bucket was last used.
pub(crate) fn get(
    database: &Database,
    name: &BucketName,
    key: &str,
) -> Result<(Option<Vec<u8>>, Option<u64>), OperationError> {
    let transaction = database.begin_read()?;
    let Some(bucket) = bucket(&transaction, name)? else {
        return Ok((None, None));
    };
    let value = transaction
        .open_table(VALUES)?
        .get((bucket.id, key))?
        .map(|value| value.value().to_vec());
    Ok((value, Some(bucket.last_used)))
}

/// Returns a page of keys, and the second in which the bucket was last used.
pub(crate) fn list(
    database: &Database,
    name: &BucketName,
    query: &ListQuery,
) -> Result<(KeyPage, Option<u64>), OperationError> {
    let transaction = database.begin_read()?;
    let Some(bucket) = bucket(&transaction, name)? else {
        return Ok((KeyPage::default(), None));
    };
    let limit = query.limit.clamp(1, MAX_PAGE) as usize;
    let cursor = query.cursor.as_deref().unwrap_or_default();
    let start = query.prefix.as_str().max(cursor);
    let mut page = KeyPage::default();
    for row in transaction
        .open_table(VALUES)?
        .range((bucket.id, start)..(bucket.id + 1, ""))?
    {
        let (key, _) = row?;
        let (_, key) = key.value();
        if !key.starts_with(&query.prefix) {
            break;
        }
        // The cursor is the last key of the page before.
        if query.cursor.as_deref() == Some(key) {
            continue;
        }
        if page.keys.len() == limit {
            page.next = page.keys.last().cloned();
            break;
        }
        page.keys.push(key.to_owned());
    }
    Ok((page, Some(bucket.last_used)))
}

impl ListQuery {
    pub(crate) fn check(&self) -> Result<(), KeyValueError> {
        let is_short = self.prefix.len() <= MAX_KEY
            && self.cursor.as_ref().is_none_or(|key| key.len() <= MAX_KEY);
        is_short.then_some(()).ok_or(KeyValueError::TooLarge)
    }
}

fn bucket(
    transaction: &ReadTransaction,
    name: &BucketName,
) -> Result<Option<Bucket>, OperationError> {
    Ok(transaction
        .open_table(BUCKETS)?
        .get(name.row())?
        .map(|row| Bucket::of_row(row.value())))
}
