//! The tables of the database.

use std::collections::BTreeMap;

use redb::{
    Database, ReadableDatabase as _, ReadableTable as _, Table, TableDefinition, WriteTransaction,
};

use super::bucket::BucketName;
use super::error::OperationError;

/// The values, by the number of the bucket and the key.
pub(crate) const VALUES: TableDefinition<'_, (u64, &str), &[u8]> = TableDefinition::new("values");
/// The buckets. The key is the provider and the digest of the caller, which is empty for the shared bucket.
pub(crate) const BUCKETS: TableDefinition<'_, (&str, &[u8]), BucketRow> =
    TableDefinition::new("buckets");
/// How much each provider stores.
pub(crate) const PROVIDERS: TableDefinition<'_, &str, UsageRow> = TableDefinition::new("providers");
/// The number of the next bucket.
pub(crate) const COUNTERS: TableDefinition<'_, &str, u64> = TableDefinition::new("counters");

const NEXT_BUCKET: &str = "next bucket";

/// The number, the keys, the bytes, and the second in which the bucket was last used.
pub(crate) type BucketRow = (u64, u64, u64, u64);
/// The keys, the bytes, and the buckets of callers.
pub(crate) type UsageRow = (u64, u64, u64);

/// How much a provider stores.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// The keys in all buckets of the provider.
    pub keys: u64,
    /// The bytes of keys and values in all buckets of the provider, counted as for the limits.
    pub bytes: u64,
    /// The number of buckets of callers.
    pub callers: u64,
}

/// A bucket in its stored form.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bucket {
    pub(crate) id: u64,
    pub(crate) keys: u64,
    pub(crate) bytes: u64,
    pub(crate) last_used: u64,
}

impl Bucket {
    pub(crate) fn of_row((id, keys, bytes, last_used): BucketRow) -> Self {
        Self {
            id,
            keys,
            bytes,
            last_used,
        }
    }
}

impl Usage {
    pub(crate) fn of_row((keys, bytes, callers): UsageRow) -> Self {
        Self {
            keys,
            bytes,
            callers,
        }
    }
}

/// The tables in a transaction that changes them.
pub(crate) struct Tables<'t> {
    pub(crate) values: Table<'t, (u64, &'static str), &'static [u8]>,
    pub(crate) buckets: Table<'t, (&'static str, &'static [u8]), BucketRow>,
    providers: Table<'t, &'static str, UsageRow>,
    counters: Table<'t, &'static str, u64>,
}

impl<'t> Tables<'t> {
    /// Opens the tables. If a table does not exist, creates it.
    pub(crate) fn open(transaction: &'t WriteTransaction) -> Result<Self, OperationError> {
        Ok(Self {
            values: transaction.open_table(VALUES)?,
            buckets: transaction.open_table(BUCKETS)?,
            providers: transaction.open_table(PROVIDERS)?,
            counters: transaction.open_table(COUNTERS)?,
        })
    }

    pub(crate) fn bucket(&self, name: &BucketName) -> Result<Option<Bucket>, OperationError> {
        Ok(self
            .buckets
            .get(name.row())?
            .map(|row| Bucket::of_row(row.value())))
    }

    /// Stores a bucket. If it has no keys, removes it.
    pub(crate) fn put_bucket(
        &mut self,
        name: &BucketName,
        bucket: &Bucket,
    ) -> Result<(), OperationError> {
        match bucket.keys {
            0 => _ = self.buckets.remove(name.row())?,
            _ => {
                let row = (bucket.id, bucket.keys, bucket.bytes, bucket.last_used);
                self.buckets.insert(name.row(), row)?;
            }
        }
        Ok(())
    }

    pub(crate) fn usage(&self, provider: &str) -> Result<Usage, OperationError> {
        Ok(self
            .providers
            .get(provider)?
            .map(|row| Usage::of_row(row.value()))
            .unwrap_or_default())
    }

    /// Stores the usage of a provider. If it has no keys, removes its row.
    pub(crate) fn put_usage(&mut self, provider: &str, usage: Usage) -> Result<(), OperationError> {
        match usage.keys {
            0 => _ = self.providers.remove(provider)?,
            _ => {
                _ = self
                    .providers
                    .insert(provider, (usage.keys, usage.bytes, usage.callers))?
            }
        }
        Ok(())
    }

    /// Returns a number that no bucket had before.
    pub(crate) fn next_bucket(&mut self) -> Result<u64, OperationError> {
        let id = self.counters.get(NEXT_BUCKET)?.map_or(0, |row| row.value());
        self.counters.insert(NEXT_BUCKET, id + 1)?;
        Ok(id)
    }
}

/// Creates the tables that do not exist.
pub(crate) fn create(database: &Database) -> Result<(), redb::Error> {
    let transaction = database.begin_write()?;
    transaction.open_table(VALUES)?;
    transaction.open_table(BUCKETS)?;
    transaction.open_table(PROVIDERS)?;
    transaction.open_table(COUNTERS)?;
    Ok(transaction.commit()?)
}

/// Returns what each provider stores.
pub(crate) fn usage(database: &Database) -> Result<BTreeMap<String, Usage>, OperationError> {
    let transaction = database.begin_read()?;
    let providers = transaction.open_table(PROVIDERS)?;
    let rows = providers.range::<&str>(..)?;
    rows.map(|row| {
        row.map(|(name, row)| (name.value().to_owned(), Usage::of_row(row.value())))
            .map_err(OperationError::from)
    })
    .collect()
}
