//! The store of one team. The work of the store blocks threads: each provider has a few threads for its reads, and one
//! thread writes for all providers.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::bucket::{BucketName, MAX_KEY};
use super::change::Write;
use super::database::DatabaseFile;
use super::error::{KeyValueError, OperationError};
use super::group_commit::{Answer, Change, ChangeOutcome, ChargeCpu, Job, Queue, commit};
use super::read::{self, KeyPage, ListQuery};
use super::tables::{Usage, usage};
use larder_model::name::{ProviderName, TeamName};
use larder_model::policy::{KeyValueLimits, TokenBucket};
use larder_runtime::blocking_threads::BlockingThreads;
use larder_runtime::drain::Drain;
use larder_runtime::health::Health;
use larder_runtime::metrics::process::thread_cpu_time;

/// Number of threads for the concurrent reads of one provider.
const READ_THREADS: usize = 4;
/// Bytes that one provider may write per second. A provider that writes more has to wait.
const WRITES_PER_SECOND: u64 = 4 << 20;
/// Bytes that count for each write in addition to its own bytes, because it changes some pages of the database.
const WRITE_COST: u64 = 16 << 10;
/// How often the use of a bucket is recorded.
const TOUCH_INTERVAL: Duration = Duration::from_hours(24);
/// The interval in which the buckets of a provider are searched for buckets that were not used for long.
const EXPIRY_INTERVAL: Duration = Duration::from_hours(1);

/// The key-value store of a team. Clones share the same database, which is opened when it is first needed.
#[derive(Clone)]
pub struct KeyValueStore(Arc<Inner>);

struct Inner {
    file: DatabaseFile,
    queue: Queue,
    write_thread: BlockingThreads,
    providers: Mutex<HashMap<ProviderName, Arc<ProviderShare>>>,
    usage: Mutex<BTreeMap<ProviderName, Usage>>,
    drain: Drain,
}

/// The share of one provider.
struct ProviderShare {
    read_threads: BlockingThreads,
    write_rate: TokenBucket,
    next_expiry: Mutex<Option<Instant>>,
}

impl KeyValueStore {
    /// Creates the store of a team with this database file. Problems with the file are reported to health.
    pub fn new(path: PathBuf, team: &TeamName, health: Health, drain: &Drain) -> Self {
        Self(Arc::new(Inner {
            file: DatabaseFile::new(path, team, health),
            queue: Queue::default(),
            write_thread: BlockingThreads::new(1),
            providers: Mutex::default(),
            usage: Mutex::default(),
            drain: drain.clone(),
        }))
    }

    /// Opens the database if it exists, so that [`Self::usage`] is complete.
    pub async fn load(&self) -> Result<(), KeyValueError> {
        let inner = self.0.clone();
        let loaded = self.0.write_thread.run(move || {
            let loaded = inner.file.run_if_exists(usage)?;
            let mut current = inner.usage.lock();
            for (name, usage) in loaded {
                if let Ok(name) = ProviderName::parse(&name) {
                    current.entry(name).or_insert(usage);
                }
            }
            Ok(())
        });
        loaded
            .await
            .unwrap_or_else(|error| Err(KeyValueError::Unavailable(error.to_string())))
    }

    /// Returns what each provider stores. Providers without a component are included.
    pub fn usage(&self) -> BTreeMap<ProviderName, Usage> {
        self.0.usage.lock().clone()
    }

    /// Returns a value.
    pub async fn get(
        &self,
        bucket: &BucketName,
        key: String,
        limits: &KeyValueLimits,
        charge: ChargeCpu,
    ) -> Result<Option<Vec<u8>>, KeyValueError> {
        if key.len() > MAX_KEY {
            return Err(KeyValueError::TooLarge);
        }
        let name = bucket.clone();
        let (value, last_used) = self
            .read(bucket, charge, move |database| {
                read::get(database, &name, &key)
            })
            .await?;
        self.was_read(bucket, last_used, limits);
        Ok(value)
    }

    /// Returns keys that begin with a prefix, after the page that returned the cursor.
    pub async fn list(
        &self,
        bucket: &BucketName,
        prefix: String,
        cursor: Option<String>,
        limit: u32,
        limits: &KeyValueLimits,
        charge: ChargeCpu,
    ) -> Result<KeyPage, KeyValueError> {
        let name = bucket.clone();
        let query = ListQuery {
            prefix,
            cursor,
            limit,
        };
        query.check()?;
        let (page, last_used) = self
            .read(bucket, charge, move |database| {
                read::list(database, &name, &query)
            })
            .await?;
        self.was_read(bucket, last_used, limits);
        Ok(page)
    }

    /// Changes a value. Returns false if the current value is not the expected value. The change is on the disk when
    /// this returns.
    pub async fn write(&self, write: Write, charge: ChargeCpu) -> Result<bool, KeyValueError> {
        write.check()?;
        let share = self.share(&write.bucket.provider);
        while let Err(wait) = share.write_rate.take(write.size() + WRITE_COST) {
            tokio::time::sleep(wait).await;
        }
        self.expire_sometimes(&share, &write.bucket.provider, &write.limits);
        match self.change(Change::Write(write), Some(charge)).await? {
            ChangeOutcome::Written(is_written) => Ok(is_written),
            ChangeOutcome::Forgotten(_) => Ok(true),
        }
    }

    /// Deletes all values of a provider. Returns how much was deleted.
    pub async fn forget(&self, provider: &ProviderName) -> Result<Usage, KeyValueError> {
        match self.change(Change::Forget(provider.clone()), None).await? {
            ChangeOutcome::Forgotten(usage) => Ok(usage),
            ChangeOutcome::Written(_) => Ok(Usage::default()),
        }
    }

    async fn read<T: Default + Send + 'static>(
        &self,
        bucket: &BucketName,
        charge: ChargeCpu,
        work: impl FnOnce(&redb::Database) -> Result<T, OperationError> + Send + 'static,
    ) -> Result<T, KeyValueError> {
        let inner = self.0.clone();
        let share = self.share(&bucket.provider);
        let read = share.read_threads.run(move || {
            let start = thread_cpu_time();
            let result = inner.file.run_if_exists(work);
            charge(thread_cpu_time().saturating_sub(start));
            result
        });
        read.await
            .unwrap_or_else(|error| Err(KeyValueError::Unavailable(error.to_string())))
    }

    /// Records that a bucket was used, if the last record is old.
    fn was_read(&self, bucket: &BucketName, last_used: Option<u64>, limits: &KeyValueLimits) {
        let is_old = |last_used: u64| last_used + TOUCH_INTERVAL.as_secs() < now();
        if bucket.is_of_caller() && last_used.is_some_and(is_old) {
            self.change_later(Change::Touch(bucket.clone()));
            self.expire_sometimes(&self.share(&bucket.provider), &bucket.provider, limits);
        }
    }

    fn expire_sometimes(
        &self,
        share: &ProviderShare,
        provider: &ProviderName,
        limits: &KeyValueLimits,
    ) {
        let now = Instant::now();
        let mut next = share.next_expiry.lock();
        if next.is_none_or(|next| next <= now) {
            *next = Some(now + EXPIRY_INTERVAL);
            drop(next);
            self.change_later(Change::Expire(provider.clone(), *limits));
        }
    }

    /// Makes a change whose result is not awaited. If too many changes wait already, the change is omitted now and made
    /// at a later time.
    fn change_later(&self, change: Change) {
        if let Err(error) = self.submit(Job {
            change,
            charge: None,
            answer: None,
        }) {
            tracing::debug!(%error, "a change of the key-value store was omitted");
        }
    }

    async fn change(&self, change: Change, charge: Option<ChargeCpu>) -> Answer {
        let (answer, answered) = oneshot::channel();
        self.submit(Job {
            change,
            charge,
            answer: Some(answer),
        })?;
        answered
            .await
            .unwrap_or_else(|_| Err(KeyValueError::Unavailable("the server is stopping".into())))
    }

    fn submit(&self, job: Job) -> Result<(), KeyValueError> {
        if self.0.queue.add(job)? {
            let inner = self.0.clone();
            // The commit runs in a separate task, because the call whose change is the first of a batch may end
            // earlier.
            self.0.drain.spawn(async move {
                let writer = inner.clone();
                let ended = inner
                    .write_thread
                    .run(move || writer.commit_waiting())
                    .await;
                ended.inspect_err(|error| tracing::error!(%error, "the writer of values failed"))
            });
        }
        Ok(())
    }

    fn share(&self, provider: &ProviderName) -> Arc<ProviderShare> {
        let mut providers = self.0.providers.lock();
        providers
            .entry(provider.clone())
            .or_insert_with(|| Arc::new(ProviderShare::new()))
            .clone()
    }
}

impl Inner {
    /// Makes the waiting changes, until no change waits.
    fn commit_waiting(&self) {
        loop {
            let batch = self.queue.take();
            if batch.is_empty() {
                return;
            }
            commit(&self.file, batch, now(), |changed| self.record(changed));
        }
    }

    fn record(&self, changed: BTreeMap<ProviderName, Usage>) {
        let mut current = self.usage.lock();
        for (provider, usage) in changed {
            match usage.keys {
                0 => _ = current.remove(&provider),
                _ => _ = current.insert(provider, usage),
            }
        }
    }
}

impl ProviderShare {
    fn new() -> Self {
        Self {
            read_threads: BlockingThreads::new(READ_THREADS),
            write_rate: TokenBucket::new(WRITES_PER_SECOND),
            next_expiry: Mutex::default(),
        }
    }
}

impl std::fmt::Debug for KeyValueStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeyValueStore").finish_non_exhaustive()
    }
}

/// Seconds since 1970.
fn now() -> u64 {
    SystemTime::UNIX_EPOCH
        .elapsed()
        .map_or(0, |time| time.as_secs())
}
