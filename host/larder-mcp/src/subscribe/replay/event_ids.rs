//! The ids of events: the session, the run of the server, the stream, and a number. The part for the session stays the
//! same across restarts of the server, so that an id of an earlier run is recognised.

use serde::{Deserialize, Serialize};

/// Length of the part for the run, without the name of a replica that may follow.
pub(crate) const RUN_LENGTH: usize = 8;
/// Length of the name of a replica.
const REPLICA_LENGTH: usize = 16;

/// The events that one run of the server has sent to a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct EventIds {
    /// The part for the session.
    pub(crate) session: String,
    /// The part for the run of the server.
    pub(crate) run: String,
    /// The number of the last notification.
    pub(crate) last: u64,
    /// The number of the oldest notification whose subject is still known.
    pub(crate) oldest: u64,
}

/// A parsed id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EventId<'a> {
    pub(super) run: &'a str,
    pub(super) stream: u64,
    pub(super) number: u64,
}

impl EventIds {
    /// Creates the ids of a new session from random text.
    pub(crate) fn new(session: &str, run: &str) -> Self {
        Self {
            session: session.to_owned(),
            run: run.to_owned(),
            last: 0,
            oldest: 1,
        }
    }

    /// The ids of the same session in another run of the server.
    pub(crate) fn in_run(&self, run: &str) -> Self {
        Self::new(&self.session, run)
    }

    pub(super) fn format(&self, stream: u64, number: u64) -> String {
        self.format_in_run(&self.run, stream, number)
    }

    /// The id of an event of another run.
    pub(crate) fn format_in_run(&self, run: &str, stream: u64, number: u64) -> String {
        format!("{}{run}-{stream}-{number}", self.session)
    }

    /// Parses an id. `None` if it is not an id of this session.
    pub(super) fn parse<'a>(&self, id: &'a str) -> Option<EventId<'a>> {
        let (rest, number) = id.strip_prefix(self.session.as_str())?.rsplit_once('-')?;
        let (run, stream) = rest.rsplit_once('-')?;
        let has_replica = run
            .split_at_checked(RUN_LENGTH)
            .map(|(_, replica)| !replica.is_empty());
        has_replica.filter(|has_replica| !has_replica || replica_of(run).is_some())?;
        Some(EventId {
            run,
            stream: stream.parse().ok()?,
            number: number.parse().ok()?,
        })
    }
}

impl EventId<'_> {
    /// The replica that sent the event.
    pub(super) fn replica(&self) -> Option<&str> {
        replica_of(self.run)
    }
}

/// The name of the replica in the part for the run.
pub(crate) fn replica_of(run: &str) -> Option<&str> {
    let (_, replica) = run.split_at_checked(RUN_LENGTH)?;
    let is_name = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    (replica.len() == REPLICA_LENGTH && replica.bytes().all(is_name)).then_some(replica)
}
