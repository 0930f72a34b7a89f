//! The interface `atomics`: counters and compare-and-swap. Both compare the value, so a value that was changed and
//! changed back counts as not changed.

use std::fmt::Display;

use wasmtime::component::{ComponentType, Lift, Linker, Lower, Resource, ResourceType};

use super::{BucketHandle, StoreError, interface};
use crate::bindings::larder::provider::key_value::{Bucket, Host};
use crate::guest::state::GuestState;
use larder_runtime::memory_budget::{MemoryCharge, MemoryUse};

/// A value that a guest wants to replace.
struct Cas {
    bucket: Bucket,
    key: String,
    value: Option<Vec<u8>>,
    /// The guest can hold many of these values.
    _memory: MemoryCharge,
}

/// Why a value was not replaced.
#[derive(ComponentType, Lower)]
#[component(variant)]
enum CasError {
    #[component(name = "store-error")]
    Store(StoreError),
    /// The value was changed. The handle has the new value.
    #[component(name = "cas-failed")]
    Failed(Resource<Cas>),
}

/// A number of a counter.
pub(super) trait Number:
    ComponentType + Lift + Lower + Into<i128> + TryFrom<i128> + Copy + Display + Send + Sync + 'static
{
}

impl Number for u64 {}
impl Number for i64 {}

pub(super) fn add_increment<N: Number>(
    linker: &mut Linker<GuestState>,
    version: &str,
) -> wasmtime::Result<()> {
    let mut atomics = linker.instance(&interface("atomics", version))?;
    atomics.func_wrap_async(
        "increment",
        |mut store, (bucket, key, delta): (Resource<BucketHandle>, String, N)| {
            Box::new(async move { Ok((store.data_mut().increment(bucket, key, delta).await?,)) })
        },
    )
}

pub(super) fn add_compare_and_swap(
    linker: &mut Linker<GuestState>,
    version: &str,
) -> wasmtime::Result<()> {
    let mut atomics = linker.instance(&interface("atomics", version))?;
    atomics.resource("cas", ResourceType::host::<Cas>(), |mut store, index| {
        let handle = Resource::<Cas>::new_own(index);
        store.data_mut().table().delete(handle)?;
        Ok(())
    })?;
    atomics.func_wrap_async(
        "[static]cas.new",
        |mut store, (bucket, key): (Resource<BucketHandle>, String)| {
            Box::new(async move {
                let state = store.data_mut();
                let bucket = state.bucket(&bucket)?;
                Ok((state.read_for_swap(bucket, key).await?,))
            })
        },
    )?;
    atomics.func_wrap(
        "[method]cas.current",
        |mut store, (cas,): (Resource<Cas>,)| {
            let cas = store.data_mut().table().get(&cas)?;
            Ok((Ok::<_, StoreError>(cas.value.clone()),))
        },
    )?;
    atomics.func_wrap_async(
        "swap",
        |mut store, (cas, value): (Resource<Cas>, Vec<u8>)| {
            Box::new(async move { Ok((store.data_mut().swap(cas, value).await?,)) })
        },
    )
}

impl GuestState {
    /// Adds to a number, until no other call changed it in between.
    async fn increment<N: Number>(
        &mut self,
        bucket: Resource<BucketHandle>,
        key: String,
        delta: N,
    ) -> wasmtime::Result<Result<N, StoreError>> {
        let bucket = self.bucket(&bucket)?;
        loop {
            let current = match self.get(bucket, key.clone()).await? {
                Ok(current) => current,
                Err(failure) => return Ok(Err(self.store_error(failure))),
            };
            let Some(sum) = sum(current.as_deref(), delta) else {
                let why = "the value is not a number, or the sum is too large";
                return Ok(Err(StoreError::Other(why.to_owned())));
            };
            let text = sum.to_string().into_bytes();
            let swapped = self.compare_and_swap(bucket, key.clone(), current, Some(text));
            match swapped.await? {
                Ok(true) => return Ok(Ok(sum)),
                Ok(false) => {}
                Err(failure) => return Ok(Err(self.store_error(failure))),
            }
        }
    }

    async fn read_for_swap(
        &mut self,
        bucket: Bucket,
        key: String,
    ) -> wasmtime::Result<Result<Resource<Cas>, StoreError>> {
        let value = match self.get(bucket, key.clone()).await? {
            Ok(value) => value,
            Err(failure) => return Ok(Err(self.store_error(failure))),
        };
        let bytes = value.as_ref().map_or(0, Vec::len) as u64;
        let Ok(memory) = self.lease.charge(MemoryUse::Guests, bytes) else {
            return Ok(Err(StoreError::Other(NO_MEMORY.to_owned())));
        };
        let cas = Cas {
            bucket,
            key,
            value,
            _memory: memory,
        };
        Ok(self.new_handle(cas))
    }

    async fn swap(
        &mut self,
        cas: Resource<Cas>,
        value: Vec<u8>,
    ) -> wasmtime::Result<Result<(), CasError>> {
        let Cas {
            bucket,
            key,
            value: expected,
            _memory,
        } = self.table().delete(cas)?;
        let swapped = self.compare_and_swap(bucket, key.clone(), expected, Some(value));
        match swapped.await? {
            Ok(true) => Ok(Ok(())),
            Ok(false) => Ok(Err(match self.read_for_swap(bucket, key).await? {
                Ok(current) => CasError::Failed(current),
                Err(error) => CasError::Store(error),
            })),
            Err(failure) => Ok(Err(CasError::Store(self.store_error(failure)))),
        }
    }
}

/// Adds to a stored number. None if the value is not a number, or the sum is not a number of the type.
fn sum<N: Number>(current: Option<&[u8]>, delta: N) -> Option<N> {
    let current = current.map_or(Some(0), number)?;
    N::try_from(current.checked_add(delta.into())?).ok()
}

/// Reads a number: decimal digits, as this host, wasmtime and Redis write it, or the eight bytes of Spin and wasmCloud.
fn number(bytes: &[u8]) -> Option<i128> {
    let text = str::from_utf8(bytes).ok();
    if let Some(number) = text.and_then(|text| text.parse().ok()) {
        return Some(number);
    }
    Some(i64::from_le_bytes(bytes.try_into().ok()?).into())
}

const NO_MEMORY: &str = "the server has no memory for the value";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_numbers_of_the_type() {
        assert_eq!(sum(None, 2_u64), Some(2));
        assert_eq!(sum(Some(b"40"), 2_i64), Some(42));
        assert_eq!(sum(Some(b"1"), -2_i64), Some(-1));
        assert_eq!(sum(Some(&3_i64.to_le_bytes()), 1_u64), Some(4));
        let max = u64::MAX.to_string();
        assert_eq!(sum(Some(max.as_bytes()), 0_u64), Some(u64::MAX));
        assert_eq!(sum(Some(max.as_bytes()), 1_u64), None);
        assert_eq!(sum(Some(max.as_bytes()), 0_i64), None);
        assert_eq!(sum(Some(b"-1"), 0_u64), None);
        assert_eq!(sum(Some(b"x"), 1_u64), None);
        assert_eq!(sum(Some(&[b'9'; 500]), 1_u64), None);
    }
}
