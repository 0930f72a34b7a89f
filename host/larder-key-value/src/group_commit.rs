//! Writes that wait at the same time are committed together, because a commit waits for the disk: for any number of
//! writes, the disk is synchronized once.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use redb::Database;
use tokio::sync::oneshot;

use super::bucket::BucketName;
use super::change::{Write, expire, forget, touch};
use super::database::DatabaseFile;
use super::error::{KeyValueError, OperationError};
use super::tables::{Tables, Usage};
use larder_model::name::ProviderName;
use larder_model::policy::KeyValueLimits;
use larder_runtime::metrics::process::thread_cpu_time;

/// Limits of one transaction.
const MAX_BATCH: usize = 256;
const MAX_BATCH_BYTES: u64 = 8 << 20;
/// Limits of the waiting changes.
const MAX_WAITING: usize = 1_024;
const MAX_WAITING_BYTES: u64 = 64 << 20;

/// Receives the CPU time of the work for a call.
pub type ChargeCpu = Arc<dyn Fn(Duration) + Send + Sync>;

/// A change of the database.
pub(crate) enum Change {
    Write(Write),
    /// Records that a bucket was used.
    Touch(BucketName),
    /// Removes the buckets of callers that were not used for long.
    Expire(ProviderName, KeyValueLimits),
    /// Removes all values of a provider.
    Forget(ProviderName),
}

/// The result of a successful change.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ChangeOutcome {
    /// Whether the value was changed.
    Written(bool),
    /// How much was removed.
    Forgotten(Usage),
}

pub(crate) type Answer = Result<ChangeOutcome, KeyValueError>;

/// A waiting change.
pub(crate) struct Job {
    pub(crate) change: Change,
    pub(crate) charge: Option<ChargeCpu>,
    /// None if the answer is not awaited.
    pub(crate) answer: Option<oneshot::Sender<Answer>>,
}

/// The waiting changes.
#[derive(Default)]
pub(crate) struct Queue(Mutex<WaitingJobs>);

#[derive(Default)]
struct WaitingJobs {
    jobs: VecDeque<Job>,
    bytes: u64,
    /// Whether a thread takes jobs.
    has_writer: bool,
}

/// The results of a batch, and what the providers in the batch store now.
struct CommitOutcome {
    answers: Vec<(Answer, Duration)>,
    usage: BTreeMap<ProviderName, Usage>,
}

impl Queue {
    /// Adds a change. Returns whether a thread has to be started that calls [`Self::take`] until no change waits.
    pub(crate) fn add(&self, job: Job) -> Result<bool, KeyValueError> {
        let mut waiting = self.lock();
        let bytes = job.change.size();
        if waiting.jobs.len() >= MAX_WAITING || waiting.bytes + bytes > MAX_WAITING_BYTES {
            return Err(KeyValueError::Unavailable(
                "too many values wait to be written".into(),
            ));
        }
        waiting.bytes += bytes;
        waiting.jobs.push_back(job);
        Ok(!std::mem::replace(&mut waiting.has_writer, true))
    }

    /// Takes the next changes. If there are none, the thread has to end.
    pub(crate) fn take(&self) -> Vec<Job> {
        let mut waiting = self.lock();
        let mut batch = Vec::new();
        let mut bytes = 0;
        while let Some(job) = waiting.jobs.front() {
            let size = job.change.size();
            if batch.len() >= MAX_BATCH || (bytes + size > MAX_BATCH_BYTES && !batch.is_empty()) {
                break;
            }
            bytes += size;
            batch.extend(waiting.jobs.pop_front());
        }
        waiting.bytes -= bytes;
        waiting.has_writer = !batch.is_empty();
        batch
    }

    fn lock(&self) -> MutexGuard<'_, WaitingJobs> {
        self.0.lock()
    }
}

impl Change {
    fn size(&self) -> u64 {
        match self {
            Self::Write(write) => write.size(),
            _ => 0,
        }
    }

    fn provider(&self) -> &ProviderName {
        match self {
            Self::Write(write) => &write.bucket.provider,
            Self::Touch(bucket) => &bucket.provider,
            Self::Expire(provider, _) | Self::Forget(provider) => provider,
        }
    }

    fn apply(&self, tables: &mut Tables<'_>, now: u64) -> Result<ChangeOutcome, OperationError> {
        match self {
            Self::Write(write) => write.apply(tables, now).map(ChangeOutcome::Written),
            Self::Touch(bucket) => {
                touch(tables, bucket, now).map(|()| ChangeOutcome::Written(true))
            }
            Self::Expire(provider, limits) => {
                expire(tables, provider.as_str(), limits, now).map(|_| ChangeOutcome::Written(true))
            }
            Self::Forget(provider) => {
                forget(tables, provider.as_str()).map(ChangeOutcome::Forgotten)
            }
        }
    }
}

impl Job {
    /// Whether the answer is still awaited, or was never to be awaited. If a call ends before its change begins, the
    /// change is not made.
    fn is_wanted(&self) -> bool {
        self.answer
            .as_ref()
            .is_none_or(|answer| !answer.is_closed())
    }
}

/// Makes the changes of a batch and answers them. Before the answers, `record` receives what the providers in the batch
/// store now.
pub(crate) fn commit(
    file: &DatabaseFile,
    batch: Vec<Job>,
    now: u64,
    record: impl FnOnce(BTreeMap<ProviderName, Usage>),
) {
    let batch: Vec<_> = batch.into_iter().filter(Job::is_wanted).collect();
    let bytes = batch.iter().map(|job| job.change.size()).sum();
    let committed = file
        .check_writable()
        .and_then(|()| file.check_space(bytes))
        .and_then(|()| file.run(|database| commit_in(database, &batch, now)));
    let answers = match committed {
        Ok(CommitOutcome { answers, usage }) => {
            record(usage);
            answers
        }
        Err(error) => vec![(Err(error), Duration::ZERO); batch.len()],
    };
    for (job, (answer, cpu_time)) in batch.into_iter().zip(answers) {
        if let Some(charge) = job.charge {
            charge(cpu_time);
        }
        // If the call has ended, the answer is not received.
        if let Some(sender) = job.answer {
            _ = sender.send(answer.clone());
        }
    }
}

/// A change that is refused is an answer. Other errors are those of the whole transaction.
fn answer(applied: Result<ChangeOutcome, OperationError>) -> Result<Answer, OperationError> {
    match applied {
        Ok(done) => Ok(Ok(done)),
        Err(OperationError::Refused(error)) => Ok(Err(error)),
        Err(failed @ OperationError::Storage(_)) => Err(failed),
    }
}

fn commit_in(
    database: &Database,
    batch: &[Job],
    now: u64,
) -> Result<CommitOutcome, OperationError> {
    let mut transaction = database.begin_write()?;
    // Two-phase commit is used because providers choose the content: with one phase, an attacker could cause a
    // transaction that is committed only in part.
    transaction.set_two_phase_commit(true);
    let mut answers = Vec::with_capacity(batch.len());
    let mut usage = BTreeMap::new();
    {
        let mut tables = Tables::open(&transaction)?;
        for job in batch {
            let start = thread_cpu_time();
            let answer = answer(job.change.apply(&mut tables, now))?;
            answers.push((answer, thread_cpu_time().saturating_sub(start)));
        }
        for job in batch {
            let provider = job.change.provider();
            usage.insert(provider.clone(), tables.usage(provider.as_str())?);
        }
    }
    let start = thread_cpu_time();
    if answers
        .iter()
        .any(|(answer, _)| !matches!(answer, Err(_) | Ok(ChangeOutcome::Written(false))))
    {
        transaction.commit()?
    } else {
        // No value was changed, so nothing needs to be written to the disk.
        transaction.abort()?
    }
    let share = thread_cpu_time().saturating_sub(start)
        / u32::try_from(batch.len().max(1)).unwrap_or(u32::MAX);
    answers
        .iter_mut()
        .for_each(|(_, cpu_time)| *cpu_time += share);
    Ok(CommitOutcome { answers, usage })
}
