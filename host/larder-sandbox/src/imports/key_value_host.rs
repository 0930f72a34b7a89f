//! Implements the interface `key-value` of the contract with the store of the team.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};

use crate::bindings::larder::provider::key_value::{Bucket, Failure, Host, KeyPage};
use crate::guest::state::GuestState;
use crate::guest_config::Lease;
use larder_key_value::{BucketName, ChargeCpu, KeyValueError, KeyValueStore, MAX_VALUE, Write};
use larder_model::policy::KeyValueLimits;
use larder_runtime::memory_budget::{MemoryCharge, MemoryUse};
use larder_runtime::metrics::KeyValueResult;

/// How many writes of a batch are made at the same time.
const CONCURRENT_WRITES: usize = 64;

/// A bucket that this call may use.
struct OpenBucket {
    store: KeyValueStore,
    name: BucketName,
    limits: KeyValueLimits,
    charge: ChargeCpu,
    /// For the value, which the host holds during the operation.
    _memory: MemoryCharge,
}

/// A write whose grant was checked, and whose value is charged.
struct PreparedWrite {
    open: OpenBucket,
    write: Write,
}

impl PreparedWrite {
    async fn run(self) -> Result<bool, Failure> {
        let Self { open, write } = self;
        open.store.write(write, open.charge).await.map_err(failure)
    }
}

impl Host for GuestState {
    async fn get(
        &mut self,
        bucket: Bucket,
        key: String,
    ) -> wasmtime::Result<Result<Option<Vec<u8>>, Failure>> {
        let result = async {
            let open = self.open_bucket(bucket, MAX_VALUE)?;
            let value = open.store.get(&open.name, key, &open.limits, open.charge);
            value.await.map_err(failure)
        };
        let result = result.await;
        Ok(self.record(KeyValueResult::Read, result))
    }

    async fn set(
        &mut self,
        bucket: Bucket,
        key: String,
        value: Vec<u8>,
    ) -> wasmtime::Result<Result<(), Failure>> {
        Ok(self.write(bucket, key, None, Some(value)).await.map(drop))
    }

    async fn delete(
        &mut self,
        bucket: Bucket,
        key: String,
    ) -> wasmtime::Result<Result<(), Failure>> {
        Ok(self.write(bucket, key, None, None).await.map(drop))
    }

    async fn compare_and_swap(
        &mut self,
        bucket: Bucket,
        key: String,
        expected: Option<Vec<u8>>,
        value: Option<Vec<u8>>,
    ) -> wasmtime::Result<Result<bool, Failure>> {
        Ok(self.write(bucket, key, Some(expected), value).await)
    }

    async fn list_keys(
        &mut self,
        bucket: Bucket,
        prefix: String,
        cursor: Option<String>,
        limit: u32,
    ) -> wasmtime::Result<Result<KeyPage, Failure>> {
        let result = async {
            let open = self.open_bucket(bucket, MAX_VALUE)?;
            let page =
                open.store
                    .list(&open.name, prefix, cursor, limit, &open.limits, open.charge);
            let page = page.await.map_err(failure)?;
            Ok(KeyPage {
                keys: page.keys,
                next_cursor: page.next,
            })
        };
        let result = result.await;
        Ok(self.record(KeyValueResult::Read, result))
    }
}

impl GuestState {
    async fn write(
        &mut self,
        bucket: Bucket,
        key: String,
        expected: Option<Option<Vec<u8>>>,
        value: Option<Vec<u8>>,
    ) -> Result<bool, Failure> {
        let result = match self.prepare_write(bucket, key, expected, value) {
            Ok(write) => write.run().await,
            Err(failure) => Err(failure),
        };
        self.record(KeyValueResult::Written, result)
    }

    /// Writes several values at the same time, so that they are committed together. If a write fails, others may have
    /// been made.
    pub(super) async fn write_many(
        &mut self,
        bucket: Bucket,
        changes: Vec<(String, Option<Vec<u8>>)>,
    ) -> Result<(), Failure> {
        let writes = changes
            .into_iter()
            .map(|(key, value)| self.prepare_write(bucket, key, None, value));
        let writes: Vec<_> = writes.collect::<Result<_, _>>()?;
        let mut results = stream::iter(writes)
            .map(PreparedWrite::run)
            .buffer_unordered(CONCURRENT_WRITES);
        while let Some(result) = results.next().await {
            self.record(KeyValueResult::Written, result)?;
        }
        Ok(())
    }

    fn prepare_write(
        &mut self,
        bucket: Bucket,
        key: String,
        expected: Option<Option<Vec<u8>>>,
        value: Option<Vec<u8>>,
    ) -> Result<PreparedWrite, Failure> {
        let size = |value: &Option<Vec<u8>>| value.as_ref().map_or(0, Vec::len);
        let bytes = size(&value) + expected.as_ref().map_or(0, size);
        let open = self.open_bucket(bucket, bytes)?;
        let write = Write {
            bucket: open.name.clone(),
            key,
            expected,
            value,
            limits: open.limits,
        };
        Ok(PreparedWrite { open, write })
    }

    /// Checks that the operator granted the bucket, and that the bucket exists for this call.
    fn open_bucket(&mut self, bucket: Bucket, bytes: usize) -> Result<OpenBucket, Failure> {
        let is_of_caller = matches!(bucket, Bucket::Caller);
        // From here on, the answer may depend on the caller, also if there is no bucket.
        self.used_caller_bucket |= is_of_caller;
        let lease = &self.lease;
        check_granted(lease, is_of_caller)?;
        let name = bucket_name(lease, is_of_caller).ok_or(Failure::NoCaller)?;
        let unavailable = |why: &str| Failure::Unavailable(why.to_owned());
        let store = lease
            .key_value
            .as_ref()
            .ok_or_else(|| unavailable("this process keeps no values"))?;
        let memory = lease.charge(MemoryUse::Guests, bytes as u64);
        Ok(OpenBucket {
            store: store.clone(),
            name,
            limits: lease.grant.limits.key_value,
            charge: self.charge_cpu(),
            _memory: memory.map_err(|_| unavailable("the server has no memory for the value"))?,
        })
    }

    /// Checks that this call may use a bucket, before the first operation.
    pub(super) fn check_bucket(&mut self, bucket: Bucket) -> Result<(), Failure> {
        self.open_bucket(bucket, 0).map(drop)
    }

    /// The work of the store counts as CPU time of the call.
    fn charge_cpu(&self) -> ChargeCpu {
        let meter = self.meter.clone();
        Arc::new(move |cpu_time: Duration| meter.iter().for_each(|meter| meter.charge(cpu_time)))
    }

    fn record<T>(&self, done: KeyValueResult, result: Result<T, Failure>) -> Result<T, Failure> {
        self.lease.metrics.record_key_value(match &result {
            Ok(_) => done,
            Err(Failure::Unavailable(_)) => KeyValueResult::Unavailable,
            Err(_) => KeyValueResult::Refused,
        });
        result
    }
}

fn check_granted(lease: &Lease, is_of_caller: bool) -> Result<(), Failure> {
    let grant = lease.grant.key_value;
    let (is_granted, name) = if is_of_caller {
        (grant.caller, "caller")
    } else {
        (grant.shared, "shared")
    };
    if is_granted {
        return Ok(());
    }
    let why = format!("it needs the grant `key_value = [\"{name}\"]`");
    Err(Failure::NotGranted(why))
}

/// The name of the bucket. `None` if the call has no caller.
fn bucket_name(lease: &Lease, is_of_caller: bool) -> Option<BucketName> {
    if !is_of_caller {
        return Some(BucketName::shared(&lease.provider));
    }
    let caller = lease.permit.caller()?;
    let team = lease.permit.team()?;
    BucketName::of_caller(&lease.provider, team, caller)
}

fn failure(error: KeyValueError) -> Failure {
    match error {
        KeyValueError::TooLarge => Failure::TooLarge,
        KeyValueError::TooManyKeys => Failure::TooManyKeys,
        KeyValueError::Full => Failure::Full,
        KeyValueError::InUse => Failure::Unavailable(error.to_string()),
        KeyValueError::Unavailable(why) => Failure::Unavailable(why),
    }
}
