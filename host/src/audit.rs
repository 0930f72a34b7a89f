//! The audit log: one line of JSON for each read, whoever answered it. Room for a line is taken before anything is
//! read, and one task writes; what happens when it cannot keep up, or cannot write, is the operator's choice.

mod file;
mod writer;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;
use serde_json::value::RawValue;
use tokio::sync::Notify;
use tokio::sync::mpsc::{self, OwnedPermit};

use self::file::File;
use self::writer::Writer;
use crate::drain::Drain;
use crate::metrics::Metrics;

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
    pub time: String,
    /// The request's id, as the client wrote it.
    pub request: Option<&'a RawValue>,
    /// The subject of the credential.
    pub subject: Option<&'a str>,
    /// The team of the provider; where none was asked, all teams of the caller, with commas between them.
    pub team: String,
    /// What was asked for.
    pub uri: &'a str,
    /// Whether the URI is longer than what stands here of it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub uri_cut: bool,
    /// The provider that answered, or that was asked last.
    pub provider: Option<String>,
    /// The digest of its component.
    pub digest: Option<String>,
    /// How it ended.
    pub outcome: &'static str,
    /// Whether the answer was known, and the provider not asked.
    pub cached: bool,
    /// Bytes of content.
    pub bytes: u64,
    /// How long it took, in milliseconds.
    pub ms: f64,
}

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
    /// Opens the log. Its task writes until this drain stops, and then what is left.
    pub fn open(config: &Config, metrics: Metrics, drain: &Drain) -> io::Result<Self> {
        let Some(target) = &config.to else { return Ok(Self::default()) };
        let file = File::open(target)?;
        let (lines, waiting) = mpsc::channel(WAITING);
        let (dropping, reopen) = (Arc::<AtomicBool>::default(), Arc::<Notify>::default());
        let writer = Writer {
            file: Some(file),
            waiting,
            on_full: config.on_full,
            metrics: metrics.clone(),
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

    /// Takes room for a line, for which it may have to wait. None where nothing is audited.
    pub async fn place(&self) -> Option<Place> {
        let audit = self.0.clone()?;
        let permit = match audit.on_full {
            OnFull::Wait => audit.lines.clone().reserve_owned().await.ok(),
            OnFull::Drop => audit.lines.clone().try_reserve_owned().ok(),
        };
        Some(Place { permit, audit })
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
