//! The interface `batch`: several values at once. As the proposal says, a batch is not atomic: if it fails, a part of it
//! may have been done.

use wasmtime::component::{ComponentType, Linker, Lower, Resource};

use super::{BucketHandle, StoreError, interface};
use crate::bindings::larder::provider::key_value::Host;
use crate::guest::state::GuestState;
use larder_key_value::MAX_VALUE;
use larder_runtime::memory_budget::MemoryUse;

/// Maximum number of keys in a batch.
const MAX_KEYS: usize = 1_000;
/// Maximum size of all values that a batch reads, in bytes.
const MAX_BYTES: usize = 8 << 20;

/// A key, and its value if it exists.
type KeyAndValue = (String, Option<Vec<u8>>);

/// An entry of the result of `get-many` in the first draft.
pub(super) fn optional_entry((key, value): KeyAndValue) -> Option<(String, Vec<u8>)> {
    Some((key, value?))
}

/// An entry of the result of `get-many` in the second draft, as Spin and wasmcp declare it.
pub(super) fn optional_value(found: KeyAndValue) -> KeyAndValue {
    found
}

pub(super) fn add_to_linker<T: ComponentType + Lower + 'static>(
    linker: &mut Linker<GuestState>,
    version: &str,
    entry: fn(KeyAndValue) -> T,
) -> wasmtime::Result<()> {
    let mut batch = linker.instance(&interface("batch", version))?;
    batch.func_wrap_async(
        "get-many",
        move |mut store, (bucket, keys): (Resource<BucketHandle>, Vec<String>)| {
            Box::new(async move {
                let found = store.data_mut().get_many(bucket, keys).await?;
                Ok((found.map(|found| found.into_iter().map(entry).collect::<Vec<_>>()),))
            })
        },
    )?;
    batch.func_wrap_async(
        "set-many",
        |mut store, (bucket, values): (Resource<BucketHandle>, Vec<(String, Vec<u8>)>)| {
            let changes = values.into_iter().map(|(key, value)| (key, Some(value)));
            let changes = changes.collect();
            Box::new(async move { Ok((store.data_mut().change_many(bucket, changes).await?,)) })
        },
    )?;
    batch.func_wrap_async(
        "delete-many",
        |mut store, (bucket, keys): (Resource<BucketHandle>, Vec<String>)| {
            let changes = keys.into_iter().map(|key| (key, None)).collect();
            Box::new(async move { Ok((store.data_mut().change_many(bucket, changes).await?,)) })
        },
    )
}

impl GuestState {
    async fn get_many(
        &mut self,
        bucket: Resource<BucketHandle>,
        keys: Vec<String>,
    ) -> wasmtime::Result<Result<Vec<KeyAndValue>, StoreError>> {
        let bucket = self.bucket(&bucket)?;
        if let Err(error) = check_count(keys.len()) {
            return Ok(Err(error));
        }
        let bytes = keys.len().saturating_mul(MAX_VALUE).min(MAX_BYTES) as u64;
        let Ok(_memory) = self.lease.charge(MemoryUse::Guests, bytes) else {
            let why = "the server has no memory for the values";
            return Ok(Err(StoreError::Other(why.to_owned())));
        };
        let mut bytes = 0;
        let mut found = Vec::with_capacity(keys.len());
        for key in keys {
            let value = match self.get(bucket, key.clone()).await? {
                Ok(value) => value,
                Err(failure) => return Ok(Err(self.store_error(failure))),
            };
            bytes += value.as_ref().map_or(0, Vec::len);
            if bytes > MAX_BYTES {
                let why = format!("the values have more than {MAX_BYTES} bytes: get fewer at once");
                return Ok(Err(StoreError::Other(why)));
            }
            found.push((key, value));
        }
        Ok(Ok(found))
    }

    /// Sets the values of keys, or deletes the keys without a value.
    async fn change_many(
        &mut self,
        bucket: Resource<BucketHandle>,
        changes: Vec<KeyAndValue>,
    ) -> wasmtime::Result<Result<(), StoreError>> {
        let bucket = self.bucket(&bucket)?;
        if let Err(error) = check_count(changes.len()) {
            return Ok(Err(error));
        }
        let changed = self.write_many(bucket, changes).await;
        Ok(changed.map_err(|failure| self.store_error(failure)))
    }
}

fn check_count(keys: usize) -> Result<(), StoreError> {
    if keys <= MAX_KEYS {
        return Ok(());
    }
    let why = format!("a batch has at most {MAX_KEYS} keys");
    Err(StoreError::Other(why))
}
