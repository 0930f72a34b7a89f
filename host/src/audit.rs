//! The audit log: one line of JSON for each read, whoever answered it. Room for a line is taken before anything is
//! read, and one task writes; what happens when it cannot keep up, or cannot write, is the operator's choice.

mod file;
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

use self::file::File;
use self::writer::Writer;
use crate::drain::Drain;
use crate::health::Health;
use crate::metrics::Metrics;
use crate::name::{Digest, TeamName, Teams};

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
    lines: mpsc::Sender<Waiting>,
    /// What each team may have of the places; empty where nobody is there to share with.
    shares: BTreeMap<TeamName, Arc<Semaphore>>,
    on_full: OnFull,
    metrics: Metrics,
    /// Whether it was said already that lines are left out.
    dropping: Arc<AtomicBool>,
    reopen: Arc<Notify>,
}

/// A line on its way, and what it takes of its team's share until it is taken out.
#[derive(Debug)]
struct Waiting {
    bytes: Vec<u8>,
    _share: Option<OwnedSemaphorePermit>,
}

/// Room for one line.
#[derive(Debug)]
pub struct Place {
    permit: Option<OwnedPermit<Waiting>>,
    share: Option<OwnedSemaphorePermit>,
    audit: Arc<Inner>,
}

impl Audit {
    /// Opens the log. Its task writes until this drain stops, and then what is left. Where it cannot, health tells. Of
    /// several teams each has a share of the room, so that the reads of one never wait for those of another.
    pub fn open<'a>(
        config: &Config,
        teams: impl IntoIterator<Item = &'a TeamName>,
        (metrics, health): (Metrics, Health),
        drain: &Drain,
    ) -> io::Result<Self> {
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
        let (shares, on_full) = (shares(teams), config.on_full);
        Ok(Self(Some(Arc::new(Inner { lines, shares, on_full, metrics, dropping, reopen }))))
    }

    /// Opens the file anew, at once: for one who has moved it.
    pub fn reopen(&self) -> Option<Arc<Notify>> {
        self.0.as_ref().map(|audit| audit.reopen.clone())
    }

    /// Takes room for a line about a caller of these teams, for which it may have to wait. None where nothing is
    /// audited. Where reads wait for the log, there is none without it: not at the end either.
    pub async fn place(&self, teams: Option<&Teams>) -> Result<Option<Place>, Closed> {
        let Some(audit) = self.0.clone() else { return Ok(None) };
        let room = match audit.on_full {
            OnFull::Wait => Some(audit.wait(teams).await?),
            OnFull::Drop => audit.at_once(teams),
        };
        let (permit, share) = room.map_or((None, None), |(permit, share)| (Some(permit), share));
        Ok(Some(Place { permit, share, audit }))
    }
}

type Room = (OwnedPermit<Waiting>, Option<OwnedSemaphorePermit>);

impl Inner {
    /// Of the caller's teams that have a share, with the shares.
    fn shares<'a>(&'a self, teams: Option<&'a Teams>) -> impl Iterator<Item = &'a Arc<Semaphore>> {
        teams.into_iter().flat_map(Teams::iter).filter_map(|team| self.shares.get(team))
    }

    async fn wait(&self, teams: Option<&Teams>) -> Result<Room, Closed> {
        let free = self.shares(teams).find_map(|share| share.clone().try_acquire_owned().ok());
        let share = match (free, self.shares(teams).next()) {
            (None, Some(first)) => Some(first.clone().acquire_owned().await.map_err(|_| Closed)?),
            (free, _) => free,
        };
        Ok((self.lines.clone().reserve_owned().await.map_err(|_| Closed)?, share))
    }

    fn at_once(&self, teams: Option<&Teams>) -> Option<Room> {
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
    let each = (WAITING / teams.len()).max(1);
    teams.into_iter().map(|team| (team.clone(), Arc::new(Semaphore::new(each)))).collect()
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
                permit.send(Waiting { bytes, _share: self.share });
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
        let seen = (Metrics::default(), Health::default());
        let audit = Audit::open(&Config { to, on_full }, &names, seen, &drain).unwrap();
        // Whether there is room now, which is kept.
        let mut kept = Vec::new();
        let mut has_room = |teams: &Teams| {
            let place = unconstrained(audit.place(Some(teams))).now_or_never();
            let place = place.and_then(Result::ok).flatten();
            let has = place.as_ref().is_some_and(|place| place.permit.is_some());
            kept.extend(place);
            has
        };
        let mine = (0..WAITING).take_while(|_| has_room(&a)).count();
        assert_eq!(mine, WAITING / 3);
        assert!(has_room(&b) && has_room(&c), "who has used up his share leaves the others theirs");
        // Who belongs to both has room where either has.
        assert_eq!((0..WAITING).take_while(|_| has_room(&both)).count(), WAITING / 3 - 1);
        assert!(!has_room(&b) && has_room(&c));
        kept.clear();
        let place = unconstrained(audit.place(Some(&a))).now_or_never();
        let place = place.and_then(Result::ok).flatten();
        assert!(place.is_some_and(|place| place.permit.is_some()));
    }

    #[tokio::test]
    async fn each_team_has_a_share_of_the_room() {
        check(OnFull::Wait).await;
        check(OnFull::Drop).await;
    }
}
