//! Changes of the database within a transaction. Limits are checked before anything is changed, so that a refused
//! change does not modify the transaction.

use redb::ReadableTable as _;

use super::bucket::{BucketName, MAX_KEY, MAX_VALUE};
use super::error::{KeyValueError, OperationError};
use super::tables::{Bucket, Tables, Usage};
use larder_model::policy::KeyValueLimits;

/// Bytes that count for each key in addition to the bytes of the key and of the value: about the size of its entries in
/// the tables.
pub const ENTRY_OVERHEAD: u64 = 64;

/// The change of one value.
#[derive(Debug, Clone)]
pub struct Write {
    /// The bucket.
    pub bucket: BucketName,
    /// The key.
    pub key: String,
    /// The value that the key must have now. `Some(None)` means that the key must not exist. With none, the value is
    /// changed in any case.
    pub expected: Option<Option<Vec<u8>>>,
    /// The new value; none removes the key.
    pub value: Option<Vec<u8>>,
    /// The limits of the provider.
    pub limits: KeyValueLimits,
}

impl Write {
    /// Checks the limits that do not depend on the database.
    pub(crate) fn check(&self) -> Result<(), KeyValueError> {
        let expected = self
            .expected
            .as_ref()
            .and_then(Option::as_ref)
            .map_or(0, Vec::len);
        let value = self.value.as_ref().map_or(0, Vec::len);
        if self.key.len() <= MAX_KEY && value.max(expected) <= MAX_VALUE {
            Ok(())
        } else {
            Err(KeyValueError::TooLarge)
        }
    }

    /// The maximum number of bytes that the change writes.
    pub(crate) fn size(&self) -> u64 {
        self.key.len() as u64
            + self.value.as_ref().map_or(0, |value| value.len() as u64)
            + ENTRY_OVERHEAD
    }

    /// Makes the change. Returns false if the current value is not the expected value.
    pub(crate) fn apply(&self, tables: &mut Tables<'_>, now: u64) -> Result<bool, OperationError> {
        let found = tables.bucket(&self.bucket)?;
        let (is_expected, old_size) = match found {
            Some(bucket) => self.compare(tables, bucket.id)?,
            None => (self.expected.as_ref().is_none_or(Option::is_none), None),
        };
        if !is_expected {
            return Ok(false);
        }
        match &self.value {
            Some(value) => self.put(tables, found, old_size, value, now)?,
            None => self.remove(tables, found, old_size, now)?,
        }
        Ok(true)
    }

    /// Whether the current value is the expected value, and the counted size of the current value.
    fn compare(
        &self,
        tables: &Tables<'_>,
        bucket: u64,
    ) -> Result<(bool, Option<u64>), OperationError> {
        let current = tables.values.get((bucket, self.key.as_str()))?;
        let current = current.as_ref().map(|value| value.value());
        let is_expected = self
            .expected
            .as_ref()
            .is_none_or(|expected| expected.as_deref() == current);
        Ok((
            is_expected,
            current.map(|value| entry_size(&self.key, value)),
        ))
    }

    fn put(
        &self,
        tables: &mut Tables<'_>,
        found: Option<Bucket>,
        old_size: Option<u64>,
        value: &[u8],
        now: u64,
    ) -> Result<(), OperationError> {
        let limits = &self.limits;
        let provider = self.bucket.provider.as_str();
        let is_new_caller = found.is_none() && self.bucket.is_of_caller();
        let mut usage = tables.usage(provider)?;
        if is_new_caller && usage.callers >= limits.callers {
            usage = expire(tables, provider, limits, now)?;
        }
        let mut bucket = found.unwrap_or(Bucket {
            id: 0,
            keys: 0,
            bytes: 0,
            last_used: now,
        });
        let new = entry_size(&self.key, value);
        let old = old_size.unwrap_or(0);
        let new_key = u64::from(old_size.is_none());
        let full = |bytes: u64, limit: u64| new > old && bytes - old + new > limit;
        if new_key == 1 && bucket.keys >= limits.bucket_keys {
            return Err(OperationError::Refused(KeyValueError::TooManyKeys));
        }
        if full(bucket.bytes, limits.bucket_bytes)
            || full(usage.bytes, limits.bytes)
            || (is_new_caller && usage.callers >= limits.callers)
        {
            return Err(OperationError::Refused(KeyValueError::Full));
        }
        if found.is_none() {
            bucket.id = tables.next_bucket()?;
            usage.callers += u64::from(is_new_caller);
        }
        (bucket.keys, bucket.bytes, bucket.last_used) =
            (bucket.keys + new_key, bucket.bytes - old + new, now);
        usage.keys += new_key;
        usage.bytes = usage.bytes - old + new;
        tables
            .values
            .insert((bucket.id, self.key.as_str()), value)?;
        tables.put_bucket(&self.bucket, &bucket)?;
        tables.put_usage(provider, usage)
    }

    fn remove(
        &self,
        tables: &mut Tables<'_>,
        found: Option<Bucket>,
        old_size: Option<u64>,
        now: u64,
    ) -> Result<(), OperationError> {
        let (Some(mut bucket), Some(old)) = (found, old_size) else {
            return Ok(());
        };
        tables.values.remove((bucket.id, self.key.as_str()))?;
        bucket.keys -= 1;
        bucket.bytes -= old;
        bucket.last_used = now;
        let provider = self.bucket.provider.as_str();
        let mut usage = tables.usage(provider)?;
        usage.keys -= 1;
        usage.bytes -= old;
        usage.callers -= u64::from(bucket.keys == 0 && self.bucket.is_of_caller());
        tables.put_bucket(&self.bucket, &bucket)?;
        tables.put_usage(provider, usage)
    }
}

/// Records that a bucket was used.
pub(crate) fn touch(
    tables: &mut Tables<'_>,
    name: &BucketName,
    now: u64,
) -> Result<(), OperationError> {
    match tables.bucket(name)? {
        Some(bucket) => tables.put_bucket(
            name,
            &Bucket {
                last_used: now,
                ..bucket
            },
        ),
        None => Ok(()),
    }
}

/// Removes the buckets of callers that were not used for long. Returns what the provider stores afterwards.
pub(crate) fn expire(
    tables: &mut Tables<'_>,
    provider: &str,
    limits: &KeyValueLimits,
    now: u64,
) -> Result<Usage, OperationError> {
    let oldest = now.saturating_sub(limits.expiry.as_secs());
    remove_buckets(tables, provider, |caller, bucket| {
        !caller.is_empty() && bucket.last_used < oldest
    })
}

/// Removes all values of a provider. Returns how much was removed.
pub(crate) fn forget(tables: &mut Tables<'_>, provider: &str) -> Result<Usage, OperationError> {
    let usage = tables.usage(provider)?;
    remove_buckets(tables, provider, |_, _| true)?;
    Ok(usage)
}

fn remove_buckets(
    tables: &mut Tables<'_>,
    provider: &str,
    is_removed: impl Fn(&[u8], &Bucket) -> bool,
) -> Result<Usage, OperationError> {
    let mut removed = Vec::new();
    for row in tables.buckets.range((provider, &[][..])..)? {
        let (key, bucket) = row?;
        let (owner, caller) = key.value();
        if owner != provider {
            break;
        }
        let bucket = Bucket::of_row(bucket.value());
        if is_removed(caller, &bucket) {
            removed.push((caller.to_vec(), bucket));
        }
    }
    let mut usage = tables.usage(provider)?;
    for (caller, bucket) in removed {
        tables
            .values
            .retain_in((bucket.id, "")..(bucket.id + 1, ""), |_, _| false)?;
        tables.buckets.remove((provider, &*caller))?;
        usage.keys -= bucket.keys;
        usage.bytes -= bucket.bytes;
        usage.callers -= u64::from(!caller.is_empty());
    }
    tables.put_usage(provider, usage)?;
    Ok(usage)
}

fn entry_size(key: &str, value: &[u8]) -> u64 {
    key.len() as u64 + value.len() as u64 + ENTRY_OVERHEAD
}
