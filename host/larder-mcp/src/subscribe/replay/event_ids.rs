//! The ids of events: the session, the run of the server, the stream, and a number. The part for the session stays the
//! same across restarts of the server, so that an id of an earlier run is recognised.

use serde::{Deserialize, Serialize};

/// Length of the part for the run.
pub(crate) const RUN_LENGTH: usize = 8;

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
        format!("{}{}-{stream}-{number}", self.session, self.run)
    }

    /// Parses an id. `None` if it is not an id of this session.
    pub(super) fn parse<'a>(&self, id: &'a str) -> Option<EventId<'a>> {
        let (rest, number) = id.strip_prefix(self.session.as_str())?.rsplit_once('-')?;
        let (run, stream) = rest.rsplit_once('-')?;
        if run.len() != RUN_LENGTH {
            return None;
        }
        Some(EventId {
            run,
            stream: stream.parse().ok()?,
            number: number.parse().ok()?,
        })
    }
}
