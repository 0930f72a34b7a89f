//! The audit log: one line of JSON for each read, whoever answered it. Room for a line is taken before anything is
//! read, and one task writes; what happens when it cannot keep up, or cannot write, is the operator's choice.

mod file;
mod writer;

use std::borrow::Cow;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use tokio::sync::Notify;
use tokio::sync::mpsc::{self, OwnedPermit};

use self::file::File;
use self::writer::Writer;
use crate::drain::Drain;
use crate::health::Health;
use crate::metrics::Metrics;
use crate::name::Digest;

/// Lines that wait to be written.
const WAITING: usize = 1_024;

/// What the operator decides about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Where the lines go; none for nowhere.
    pub to: Option<Target>,
    /// What happens when lines cannot be written as fast as they come, or not at all.
    pub on_full: OnFull,
}

/// Where lines go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// To a file, which is made if it is not there, for its owner only.
    File(PathBuf),
    /// To stderr, between the lines of the log.
    Stderr,
}

/// What happens when there is no room for another line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnFull {
    /// Reads wait: nothing is read that does not stand in the log.
    Wait,
    /// Lines are left out, counted, and the log says so: no read waits for a disk.
    Drop,
}

/// One read.
#[derive(Debug, Serialize)]
pub struct Line<'a> {
    /// When it was answered.
    #[serde(serialize_with = "time")]
    pub time: SystemTime,
    /// The request's id, as the client wrote it.
    pub request: Option<&'a RawValue>,
    /// The subject of the credential.
    pub subject: Option<&'a str>,
    /// The team of the provider; where none was asked, all teams of the caller, with commas between them.
    pub team: Cow<'a, str>,
    /// What was asked for.
    pub uri: &'a str,
    /// Whether the URI is longer than what stands here of it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub uri_cut: bool,
    /// The provider that answered, or that was asked last.
    pub provider: Option<&'a str>,
    /// The digest of its component.
    #[serde(serialize_with = "digest")]
    pub digest: Option<Digest>,
    /// How it ended.
    pub outcome: &'static str,
    /// Whether the answer was known, and the provider not asked.
    pub cached: bool,
    /// Bytes of content.
    pub bytes: u64,
    /// How long it took, in milliseconds.
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

/// The log takes no more lines, and reads are to leave one each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the audit log is closed: the server is ending")]
pub struct Closed;

/// The way to the log. Clones are the same log.
#[derive(Debug, Clone, Default)]
pub struct Audit(Option<Arc<Inner>>);

#[derive(Debug)]
struct Inner {
    lines: mpsc::Sender<Vec<u8>>,
    on_full: OnFull,
    metrics: Metrics,
    /// Whether it was said already that lines are left out.
    dropping: Arc<AtomicBool>,
    reopen: Arc<Notify>,
}

/// Room for one line.
#[derive(Debug)]
pub struct Place {
    permit: Option<OwnedPermit<Vec<u8>>>,
    audit: Arc<Inner>,
}

impl Audit {
    /// Opens the log. Its task writes until this drain stops, and then what is left. Where it cannot, `health` tells.
    pub fn open(config: &Config, metrics: Metrics, health: Health, drain: &Drain) -> io::Result<Self> {
        let Some(target) = &config.to else { return Ok(Self::default()) };
        let file = File::open(target)?;
        let (lines, waiting) = mpsc::channel(WAITING);
        let (dropping, reopen) = (Arc::<AtomicBool>::default(), Arc::<Notify>::default());
        let writer = Writer {
            file: Some(file),
            waiting,
            on_full: config.on_full,
            metrics: metrics.clone(),
            health,
            is_wrong: false,
            dropping: dropping.clone(),
            reopen: reopen.clone(),
            drain: drain.clone(),
        };
        drain.spawn(writer.run());
        Ok(Self(Some(Arc::new(Inner { lines, on_full: config.on_full, metrics, dropping, reopen }))))
    }

    /// Opens the file anew, at once: for one who has moved it.
    pub fn reopen(&self) -> Option<Arc<Notify>> {
        self.0.as_ref().map(|audit| audit.reopen.clone())
    }

    /// Takes room for a line, for which it may have to wait. None where nothing is audited. Where reads wait for the
    /// log, there is none without it: not at the end either.
    pub async fn place(&self) -> Result<Option<Place>, Closed> {
        let Some(audit) = self.0.clone() else { return Ok(None) };
        let permit = match audit.on_full {
            OnFull::Wait => Some(audit.lines.clone().reserve_owned().await.map_err(|_| Closed)?),
            OnFull::Drop => audit.lines.clone().try_reserve_owned().ok(),
        };
        Ok(Some(Place { permit, audit }))
    }
}

impl Place {
    /// Hands the line over. It waits for nothing.
    pub fn write(self, line: &Line<'_>) {
        let bytes = serde_json::to_vec(line).map(|mut bytes| {
            bytes.push(b'\n');
            bytes
        });
        match (self.permit, bytes) {
            (Some(permit), Ok(bytes)) => {
                permit.send(bytes);
            }
            (_, Err(error)) => {
                self.audit.metrics.house().audit.failed.one();
                tracing::error!(%error, "a line of the audit log cannot be written as JSON");
            }
            (None, Ok(_)) => {
                self.audit.metrics.house().audit.dropped.one();
                if !self.audit.dropping.swap(true, Ordering::Relaxed) {
                    tracing::error!(
                        "the audit log cannot keep up: lines are left out, and counted in larder_audit_lines_total"
                    );
                }
            }
        }
    }
}
