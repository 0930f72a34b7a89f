//! The audit log: one line of JSON for each operation of a caller, whether a provider or the cache answered it, and one
//! for each event of the server that changes what callers may do. A slot in the queue is reserved before anything is
//! read, and one task writes the lines, all that are waiting in one write. The operator decides what happens when the
//! log cannot be written, or is written too slowly: either answers wait until their lines are written, or lines are
//! dropped.

mod line;
mod log_file;
mod writer;

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use serde::Serialize;
use tokio::sync::mpsc::{self, OwnedPermit};
use tokio::sync::{Notify, oneshot};

pub use self::line::{AuditEvent, AuditLine};
use self::log_file::LogFile;
use self::writer::{HEALTH_KEY, LogWriter};
use larder_model::name::{TeamName, Teams};
use larder_runtime::deadline::with_deadline;
use larder_runtime::drain::{Drain, SupervisedTask};
use larder_runtime::health::{Health, Impact};
use larder_runtime::metrics::Metrics;
use larder_runtime::shares::{AUDIT_LINES, Resource, SharePermit, TeamShares};

/// Capacity of a part of the queue that is reserved for events of the server. Lines of callers never fill it.
const EVENT_CAPACITY: usize = 64;

/// Configuration of the audit log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The target of the lines; none to disable the log.
    pub to: Option<Target>,
    /// What happens when lines cannot be written, or are written too slowly.
    pub on_full: OnFull,
    /// Whether each write is followed by a sync, so that lines survive a crash of the machine.
    pub sync: bool,
}

/// Where lines are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// The log is a file. The file is created with access for its owner only.
    File(PathBuf),
    /// Stderr, mixed with the server's log.
    Stderr,
}

/// What happens when lines cannot be written, or are written too slowly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnFull {
    /// Answers wait until their lines are written, so each answer that leaves the server is recorded.
    Wait,
    /// Lines are dropped and counted, and the server's log contains a message. Answers do not wait for a disk.
    Drop,
}

/// Why the line of an operation cannot be written. An operation that cannot be recorded is not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AuditWriteError {
    /// The log does not exist any more.
    #[error("the audit log is closed: the server is shutting down")]
    Closed,
    /// The log was not written for some time.
    #[error("the audit log cannot be written: try again later")]
    Blocked,
}

/// How long an operation waits for the log: first for a place in the queue, then until its line is written. With a
/// longer wait, clients would time out without being told that the cause is the log.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// Waits for the log. The clock is read only if the operation has to wait.
async fn wait<T>(
    work: impl Future<Output = Result<T, AuditWriteError>>,
) -> Result<T, AuditWriteError> {
    with_deadline(|| Instant::now() + MAX_WAIT, work)
        .await
        .unwrap_or(Err(AuditWriteError::Blocked))
}

/// Handle to the audit log. Clones share one log.
#[derive(Debug, Clone, Default)]
pub struct AuditLog(Option<Arc<Inner>>);

#[derive(Debug)]
struct Inner {
    lines: mpsc::Sender<QueuedLine>,
    /// The share of the queue for each team.
    shares: ArcSwap<BTreeMap<TeamName, TeamShares>>,
    on_full: OnFull,
    metrics: Metrics,
    /// Whether a message has already been logged that lines are dropped.
    is_dropping: Arc<AtomicBool>,
    reopen: Arc<Notify>,
}

/// A line in the queue.
#[derive(Debug)]
struct QueuedLine {
    bytes: Vec<u8>,
    /// The slot in the team's share. It is returned when the line is written or given up.
    _share: Option<SharePermit>,
    /// Notifies the answer when its line is written. This sender is dropped if the line is given up.
    written: Option<oneshot::Sender<()>>,
}

/// A reserved slot for one line.
#[derive(Debug)]
pub struct AuditSlot {
    permit: Option<OwnedPermit<QueuedLine>>,
    share: Option<SharePermit>,
    audit: Arc<Inner>,
}

/// A line in the queue that an answer waits for.
#[derive(Debug)]
#[must_use = "an answer waits for its line"]
pub struct PendingLine(oneshot::Receiver<()>);

impl PendingLine {
    /// Waits until the line is written. After an error, the line may still be written later.
    pub async fn written(self) -> Result<(), AuditWriteError> {
        wait(async { self.0.await.map_err(|_| AuditWriteError::Closed) }).await
    }
}

impl AuditLog {
    /// Opens the log, and starts the task that writes it. When the drain stops, the task writes what is left. Failures
    /// are reported to health. Each team has a share of the queue, so that the reads of one team never wait for the
    /// reads of another team.
    pub fn open(
        config: &Config,
        shares: BTreeMap<TeamName, TeamShares>,
        metrics: Metrics,
        health: Health,
        drain: &Drain,
    ) -> io::Result<Self> {
        let Some(target) = &config.to else {
            return Ok(Self::default());
        };
        let file = LogFile::open(target, config.sync)?;
        register_gauge(&metrics, health.clone());
        let (lines, queue) = mpsc::channel(AUDIT_LINES + EVENT_CAPACITY);
        let is_dropping = Arc::<AtomicBool>::default();
        let reopen = Arc::<Notify>::default();
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
        drain.supervise(
            SupervisedTask::new("audit log", Impact::AllTeams),
            writer.run(),
        );
        let shares = ArcSwap::from_pointee(shares);
        let on_full = config.on_full;
        Ok(Self(Some(Arc::new(Inner {
            lines,
            shares,
            on_full,
            metrics,
            is_dropping,
            reopen,
        }))))
    }

    /// Divides the queue among these teams from now on.
    pub fn set_teams(&self, shares: BTreeMap<TeamName, TeamShares>) {
        if let Some(audit) = &self.0 {
            audit.shares.store(Arc::new(shares));
        }
    }

    /// Returns a signal that makes the task reopen the file at once, for log rotation.
    pub fn reopen_signal(&self) -> Option<Arc<Notify>> {
        self.0.as_ref().map(|audit| audit.reopen.clone())
    }

    /// Whether there is an audit log.
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Reserves a slot for a line about a caller of these teams, and may wait for one. Returns `None` without an audit
    /// log. With [`OnFull::Wait`], every operation has a slot, also during shutdown.
    pub async fn reserve(
        &self,
        teams: Option<&Teams>,
    ) -> Result<Option<AuditSlot>, AuditWriteError> {
        let Some(audit) = self.0.clone() else {
            return Ok(None);
        };
        let reservation = match audit.on_full {
            OnFull::Wait => Some(wait(audit.reserve(teams)).await?),
            OnFull::Drop => audit.try_reserve(teams),
        };
        let (permit, share) =
            reservation.map_or((None, None), |(permit, share)| (Some(permit), share));
        Ok(Some(AuditSlot {
            permit,
            share,
            audit,
        }))
    }

    /// Appends an event to the log of a server in another process.
    pub fn append(config: &Config, event: &AuditEvent<'_>) -> io::Result<()> {
        match &config.to {
            Some(target @ Target::File(_)) => {
                LogFile::open(target, config.sync)?.write(&mut line(event)?)
            }
            // The stderr of this test process differs from the stderr of a server process.
            Some(Target::Stderr) | None => Ok(()),
        }
    }

    /// Records what an operator does, before the action takes effect. Waits like the operation of a caller. If this
    /// fails, the action must not be carried out.
    pub async fn record_first(&self, event: &AuditEvent<'_>) -> Result<(), AuditWriteError> {
        let Some(slot) = self.reserve(None).await? else {
            return Ok(());
        };
        match slot.write_line(event) {
            Some(line) => line.written().await,
            None => Ok(()),
        }
    }

    /// Records an event of the server. It never waits, because the reload of a credential must not wait for a disk. If
    /// the queue is full, the line is dropped and counted, also with [`OnFull::Wait`].
    pub fn record(&self, event: &AuditEvent<'_>) {
        let Some(audit) = self.0.clone() else { return };
        let permit = audit.lines.clone().try_reserve_owned().ok();
        AuditSlot {
            permit,
            share: None,
            audit,
        }
        .queue(event, None);
    }
}

fn register_gauge(metrics: &Metrics, health: Health) {
    metrics.register_gauge(
        "larder_audit_writable",
        "1 if the audit log can be written, else 0",
        move || u64::from(!health.has_problem(HEALTH_KEY)),
    );
}

/// A part of the share of a team.
enum Share {
    /// The caller's first team has no share.
    Unlimited,
    Taken(SharePermit),
    /// The share of the caller's first team, which is used up.
    UsedUp(TeamShares),
}

type Reservation = (OwnedPermit<QueuedLine>, Option<SharePermit>);

impl Inner {
    /// Takes a slot from the share of the first of these teams.
    fn share(&self, teams: Option<&Teams>) -> Share {
        let shares = self.shares.load();
        let own = teams
            .and_then(Teams::first)
            .and_then(|team| shares.get(team));
        let Some(own) = own else {
            return Share::Unlimited;
        };
        match own.try_take(Resource::AuditLines, 1) {
            Some(taken) => Share::Taken(taken),
            None => Share::UsedUp(own.clone()),
        }
    }

    async fn reserve(&self, teams: Option<&Teams>) -> Result<Reservation, AuditWriteError> {
        let share = match self.share(teams) {
            Share::Unlimited => None,
            Share::Taken(taken) => Some(taken),
            Share::UsedUp(first) => Some(
                first
                    .take(Resource::AuditLines, 1)
                    .await
                    .ok_or(AuditWriteError::Closed)?,
            ),
        };
        Ok((
            self.lines
                .clone()
                .reserve_owned()
                .await
                .map_err(|_| AuditWriteError::Closed)?,
            share,
        ))
    }

    fn try_reserve(&self, teams: Option<&Teams>) -> Option<Reservation> {
        let share = match self.share(teams) {
            Share::Unlimited => None,
            Share::Taken(taken) => Some(taken),
            Share::UsedUp(first) => {
                first.count_refusal(Resource::AuditLines);
                return None;
            }
        };
        Some((self.lines.clone().try_reserve_owned().ok()?, share))
    }
}

impl AuditSlot {
    /// Queues the line of an operation. If this returns a line, the answer must wait until that line is written.
    pub fn write(self, line: &AuditLine<'_>) -> Option<PendingLine> {
        self.write_line(line)
    }

    fn write_line(self, line: &impl Serialize) -> Option<PendingLine> {
        match self.audit.on_full {
            OnFull::Drop => {
                self.queue(line, None);
                None
            }
            OnFull::Wait => {
                let (written, pending) = oneshot::channel();
                self.queue(line, Some(written));
                Some(PendingLine(pending))
            }
        }
    }

    fn queue(self, line: &impl Serialize, written: Option<oneshot::Sender<()>>) {
        match (self.permit, self::line(line)) {
            (Some(permit), Ok(bytes)) => {
                permit.send(QueuedLine {
                    bytes,
                    _share: self.share,
                    written,
                });
            }
            (_, Err(error)) => self.audit.report_invalid(&error),
            (None, Ok(_)) => self.audit.report_dropped(),
        }
    }
}

impl Inner {
    fn report_invalid(&self, error: &serde_json::Error) {
        self.metrics.server().audit.failed.inc();
        tracing::error!(%error, "cannot serialize an audit log line");
    }

    fn report_dropped(&self) {
        self.metrics.server().audit.dropped.inc();
        if !self.is_dropping.swap(true, Ordering::Relaxed) {
            tracing::error!("audit log lines are dropped; see larder_audit_lines_total");
        }
    }
}

fn line(line: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec(line)?;
    bytes.push(b'\n');
    Ok(bytes)
}

#[cfg(test)]
mod tests;
