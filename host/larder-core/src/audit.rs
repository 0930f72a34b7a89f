//! The audit log: one line of JSON for each read, whether a provider or the cache answered it. A slot in the
//! queue is reserved before anything is read, and one task writes the lines. The operator decides whether
//! reads wait or lines are dropped when the log cannot be written, or not fast enough.

mod log_file;
mod writer;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use tokio::sync::mpsc::{self, OwnedPermit};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use self::log_file::LogFile;
use self::writer::LogWriter;
use larder_model::name::{Digest, TeamName, Teams};
use larder_runtime::drain::Drain;
use larder_runtime::health::Health;
use larder_runtime::metrics::Metrics;

/// Capacity of the queue in lines.
const QUEUE_CAPACITY: usize = 1_024;

/// Configuration of the audit log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The target of the lines; none to disable the log.
    pub to: Option<Target>,
    /// What happens when lines cannot be written, or not fast enough.
    pub on_full: OnFull,
}

/// Where lines are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A file. It is created with access for its owner only.
    File(PathBuf),
    /// Stderr, mixed with the server's log.
    Stderr,
}

/// What happens when the queue is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnFull {
    /// Reads wait: nothing is read that is not recorded.
    Wait,
    /// Lines are dropped and counted, and the server's log contains a message: no read waits for a disk.
    Drop,
}

/// The record of one read.
#[derive(Debug, Serialize)]
pub struct AuditLine<'a> {
    /// The time at which the read ended.
    #[serde(serialize_with = "time")]
    pub time: SystemTime,
    /// The id of the request, as the client sent it.
    pub request: Option<&'a RawValue>,
    /// The subject of the credential.
    pub subject: Option<&'a str>,
    /// The team of the provider; if none was called, all teams of the caller, separated by commas.
    pub team: Cow<'a, str>,
    /// The requested URI.
    pub uri: &'a str,
    /// Whether the URI was truncated.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub uri_cut: bool,
    /// The provider that was called last.
    pub provider: Option<&'a str>,
    /// The digest of its component.
    #[serde(serialize_with = "digest")]
    pub digest: Option<Digest>,
    /// The outcome of the read.
    pub outcome: &'static str,
    /// Whether the response came from the cache.
    pub cached: bool,
    /// Bytes of content.
    pub bytes: u64,
    /// Duration in milliseconds.
    pub ms: f64,
}

fn time<S: Serializer>(time: &SystemTime, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(&humantime::format_rfc3339_millis(*time))
}

fn digest<S: Serializer>(digest: &Option<Digest>, to: S) -> Result<S::Ok, S::Error> {
    match digest {
        Some(digest) => to.collect_str(digest),
        None => to.serialize_none(),
    }
}

/// The audit log is closed, and reads that cannot be recorded are rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the audit log is closed: the server is shutting down")]
pub struct LogClosed;

/// Handle to the audit log. Clones share one log.
#[derive(Debug, Clone, Default)]
pub struct AuditLog(Option<Arc<Inner>>);

#[derive(Debug)]
struct Inner {
    lines: mpsc::Sender<QueuedLine>,
    /// The share of the queue for each team; empty if there is only one team.
    shares: BTreeMap<TeamName, Arc<Semaphore>>,
    on_full: OnFull,
    metrics: Metrics,
    /// Whether the message that lines are dropped was logged.
    is_dropping: Arc<AtomicBool>,
    reopen: Arc<Notify>,
}

/// A line in the queue, and the permit for its team's share, which is released when the line leaves the
/// queue.
#[derive(Debug)]
struct QueuedLine {
    bytes: Vec<u8>,
    _share: Option<OwnedSemaphorePermit>,
}

/// A reserved slot for one line.
#[derive(Debug)]
pub struct AuditSlot {
    permit: Option<OwnedPermit<QueuedLine>>,
    share: Option<OwnedSemaphorePermit>,
    audit: Arc<Inner>,
}

impl AuditLog {
    /// Opens the log, and starts the task that writes it. When the drain stops, the task writes what is left.
    /// Failures are reported to health. Each of several teams has a share of the queue, so that the reads of
    /// one never wait for those of another.
    pub fn open<'a>(
        config: &Config,
        teams: impl IntoIterator<Item = &'a TeamName>,
        (metrics, health): (Metrics, Health),
        drain: &Drain,
    ) -> io::Result<Self> {
        let Some(target) = &config.to else { return Ok(Self::default()) };
        let file = LogFile::open(target)?;
        let (lines, queue) = mpsc::channel(QUEUE_CAPACITY);
        let (is_dropping, reopen) = (Arc::<AtomicBool>::default(), Arc::<Notify>::default());
        let writer = LogWriter {
            file: Some(file),
            queue,
            on_full: config.on_full,
            metrics: metrics.clone(),
            health,
            has_failed: false,
            is_dropping: is_dropping.clone(),
            reopen: reopen.clone(),
            drain: drain.clone(),
        };
        drain.spawn(writer.run());
        let (shares, on_full) = (shares(teams), config.on_full);
        Ok(Self(Some(Arc::new(Inner { lines, shares, on_full, metrics, is_dropping, reopen }))))
    }

    /// Returns a signal that makes the task reopen the file at once, for log rotation.
    pub fn reopen_signal(&self) -> Option<Arc<Notify>> {
        self.0.as_ref().map(|audit| audit.reopen.clone())
    }

    /// Reserves a slot for a line about a caller of these teams, and may wait for one. Returns `None` without
    /// an audit log. With [`OnFull::Wait`] there is never a read without a slot, not even during shutdown.
    pub async fn reserve(&self, teams: Option<&Teams>) -> Result<Option<AuditSlot>, LogClosed> {
        let Some(audit) = self.0.clone() else { return Ok(None) };
        let reservation = match audit.on_full {
            OnFull::Wait => Some(audit.reserve(teams).await?),
            OnFull::Drop => audit.try_reserve(teams),
        };
        let (permit, share) = reservation.map_or((None, None), |(permit, share)| (Some(permit), share));
        Ok(Some(AuditSlot { permit, share, audit }))
    }
}

type Reservation = (OwnedPermit<QueuedLine>, Option<OwnedSemaphorePermit>);

impl Inner {
    /// Returns the shares of these teams.
    fn shares<'a>(&'a self, teams: Option<&'a Teams>) -> impl Iterator<Item = &'a Arc<Semaphore>> {
        teams.into_iter().flat_map(Teams::iter).filter_map(|team| self.shares.get(team))
    }

    async fn reserve(&self, teams: Option<&Teams>) -> Result<Reservation, LogClosed> {
        let free = self.shares(teams).find_map(|share| share.clone().try_acquire_owned().ok());
        let share = match (free, self.shares(teams).next()) {
            (None, Some(first)) => Some(first.clone().acquire_owned().await.map_err(|_| LogClosed)?),
            (free, _) => free,
        };
        Ok((self.lines.clone().reserve_owned().await.map_err(|_| LogClosed)?, share))
    }

    fn try_reserve(&self, teams: Option<&Teams>) -> Option<Reservation> {
        let share = match self.shares(teams).next() {
            Some(_) => Some(self.shares(teams).find_map(|share| share.clone().try_acquire_owned().ok())?),
            None => None,
        };
        Some((self.lines.clone().try_reserve_owned().ok()?, share))
    }
}

fn shares<'a>(teams: impl IntoIterator<Item = &'a TeamName>) -> BTreeMap<TeamName, Arc<Semaphore>> {
    let teams: Vec<_> = teams.into_iter().collect();
    if teams.len() < 2 {
        return BTreeMap::new();
    }
    let each = (QUEUE_CAPACITY / teams.len()).max(1);
    teams.into_iter().map(|team| (team.clone(), Arc::new(Semaphore::new(each)))).collect()
}

impl AuditSlot {
    /// Queues the line, without waiting.
    pub fn write(self, line: &AuditLine<'_>) {
        let bytes = serde_json::to_vec(line).map(|mut bytes| {
            bytes.push(b'\n');
            bytes
        });
        match (self.permit, bytes) {
            (Some(permit), Ok(bytes)) => {
                permit.send(QueuedLine { bytes, _share: self.share });
            }
            (_, Err(error)) => {
                self.audit.metrics.server().audit.failed.inc();
                tracing::error!(%error, "cannot serialize an audit log line");
            }
            (None, Ok(_)) => {
                self.audit.metrics.server().audit.dropped.inc();
                if !self.audit.is_dropping.swap(true, Ordering::Relaxed) {
                    tracing::error!("audit log lines are dropped; see larder_audit_lines_total");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use tokio::task::unconstrained;

    use super::*;

    async fn check(on_full: OnFull) {
        let names = ["a", "b", "c"].map(|name| TeamName::parse(name).unwrap());
        let [a, b, c] = names.clone().map(Teams::from);
        let both = Teams::of(names[..2].iter().cloned()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let to = Some(Target::File(folder.path().join("log")));
        let drain = Drain::new();
        let observers = (Metrics::default(), Health::default());
        let audit = AuditLog::open(&Config { to, on_full }, &names, observers, &drain).unwrap();
        // Reserves a slot and keeps it. Returns whether one was free.
        let mut slots = Vec::new();
        let mut reserves = |teams: &Teams| {
            let slot = unconstrained(audit.reserve(Some(teams))).now_or_never();
            let slot = slot.and_then(Result::ok).flatten();
            let has_permit = slot.as_ref().is_some_and(|slot| slot.permit.is_some());
            slots.extend(slot);
            has_permit
        };
        let own_share = (0..QUEUE_CAPACITY).take_while(|_| reserves(&a)).count();
        assert_eq!(own_share, QUEUE_CAPACITY / 3);
        assert!(reserves(&b) && reserves(&c), "a team cannot use the shares of others");
        // A member of both teams can use the share of either.
        assert_eq!((0..QUEUE_CAPACITY).take_while(|_| reserves(&both)).count(), QUEUE_CAPACITY / 3 - 1);
        assert!(!reserves(&b) && reserves(&c));
        slots.clear();
        let slot = unconstrained(audit.reserve(Some(&a))).now_or_never();
        let slot = slot.and_then(Result::ok).flatten();
        assert!(slot.is_some_and(|slot| slot.permit.is_some()));
    }

    #[tokio::test]
    async fn each_team_has_a_share_of_the_queue() {
        check(OnFull::Wait).await;
        check(OnFull::Drop).await;
    }
}
