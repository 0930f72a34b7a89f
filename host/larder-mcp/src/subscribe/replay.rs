//! Replay of event streams. A client whose connection broke names the last event that it received (`Last-Event-ID`) and
//! gets the later events. The memory is bounded: if events were dropped, all notifications are sent again, or the
//! client is told to repeat its request.

mod budget;
mod event_ids;
mod notification_log;
mod request_stream;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::wire::message::Id;
use crate::wire::rpc_error::{INVALID_REQUEST, RpcError};
pub(crate) use budget::ReplayBudget;
use event_ids::EventId;
pub(crate) use event_ids::{EventIds, RUN_LENGTH};
use larder_model::resource::Caller;
use larder_model::uri::Uri;
pub(crate) use notification_log::{LogPosition, LoggedEvents, NotificationLog};
use parking_lot::Mutex;
pub(crate) use request_stream::{RequestStream, StreamReader};

/// Number of the notification stream. The streams of requests have numbers from one on.
const NOTIFICATIONS: u64 = 0;
/// Maximum number of ended request streams that are kept for clients that missed the end.
const MAX_ENDED: usize = 8;

/// The streams of one session.
pub(crate) struct Replay {
    /// Distinguishes the events of this session from the events of other sessions.
    ids: EventIds,
    /// The events of the last run of the server, if the session is older than this run.
    earlier: Option<EarlierEvents>,
    notifications: Arc<NotificationLog>,
    streams: Mutex<RequestStreams>,
    budget: Arc<ReplayBudget>,
}

#[derive(Default)]
struct RequestStreams {
    opened: u64,
    recent: VecDeque<Arc<RequestStream>>,
}

/// Where a client resumes.
pub(crate) enum ResumePoint {
    Notifications {
        position: LogPosition,
        missed: MissedNotifications,
    },
    Request(StreamReader),
}

/// Why a stream cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NoStream {
    /// The named event does not exist.
    Unknown,
    NotKept,
}

/// Earlier notifications that may not have arrived.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum MissedNotifications {
    Nothing,
    /// Updates of these URIs.
    Updates(Vec<Uri>),
    /// Everything counts as changed.
    Anything,
}

/// The notifications of an earlier run of the server.
pub(crate) struct EarlierEvents {
    pub(crate) ids: EventIds,
    /// For each URI: the number of its last update.
    pub(crate) updated: HashMap<Uri, u64>,
}

impl Replay {
    /// Creates the streams of a session. All sessions share the budget for ended streams.
    pub(crate) fn new(
        ids: EventIds,
        notifications: Arc<NotificationLog>,
        budget: Arc<ReplayBudget>,
    ) -> Self {
        Self {
            ids,
            earlier: None,
            notifications,
            streams: Mutex::default(),
            budget,
        }
    }

    /// Continues a session of an earlier run of the server.
    pub(crate) fn after(self, earlier: EarlierEvents) -> Self {
        Self {
            earlier: Some(earlier),
            ..self
        }
    }

    /// The ids of the events, without the number of the last event.
    pub(crate) fn ids(&self) -> &EventIds {
        &self.ids
    }

    /// The log of the session's notifications.
    #[cfg(test)]
    pub(crate) fn notifications(&self) -> &NotificationLog {
        &self.notifications
    }

    /// The event id of a notification.
    pub(crate) fn notification_event_id(&self, number: u64) -> String {
        self.event_id(NOTIFICATIONS, number)
    }

    /// The event id of a message in a request's stream.
    pub(crate) fn request_event_id(&self, stream: &RequestStream, number: u64) -> String {
        self.event_id(stream.number(), number)
    }

    fn event_id(&self, stream: u64, number: u64) -> String {
        self.ids.format(stream, number)
    }

    /// Opens the stream of a request.
    pub(crate) fn open(&self, request: Id, caller: Caller) -> Arc<RequestStream> {
        let mut streams = self.streams.lock();
        let ended = streams
            .recent
            .iter()
            .filter(|stream| stream.has_ended())
            .count();
        let mut surplus = (ended + 1).saturating_sub(MAX_ENDED);
        streams.recent.retain(|stream| {
            let remove = surplus > 0 && stream.has_ended();
            surplus -= usize::from(remove);
            !remove
        });
        streams.opened += 1;
        let stream = Arc::new(RequestStream::new(
            streams.opened,
            request,
            caller,
            self.budget.clone(),
        ));
        streams.recent.push_back(stream.clone());
        stream
    }

    /// Where a client begins that names no event.
    pub(crate) fn now(&self) -> ResumePoint {
        let position = self.notifications.now();
        let were_sent = position != LogPosition::default()
            || self
                .earlier
                .as_ref()
                .is_some_and(|earlier| earlier.ids.last > 0);
        let missed = if were_sent {
            MissedNotifications::Anything
        } else {
            MissedNotifications::Nothing
        };
        ResumePoint::Notifications { position, missed }
    }

    /// Finds the event that a client received last. The stream of a request is only for the caller that made the
    /// request, with the same scopes.
    pub(crate) fn find(&self, last: &str, caller: &Caller) -> Result<ResumePoint, RpcError> {
        let unknown = || RpcError::from(NoStream::Unknown);
        let event = self.ids.parse(last).ok_or_else(unknown)?;
        if event.run != self.ids.run {
            return Ok(self.resume_earlier(&event)?);
        }
        if event.stream == NOTIFICATIONS {
            let position = self
                .notifications
                .position(event.number)
                .ok_or_else(unknown)?;
            return Ok(ResumePoint::Notifications {
                position,
                missed: MissedNotifications::Nothing,
            });
        }
        Ok(ResumePoint::Request(self.reader(
            event.stream,
            event.number,
            caller,
        )?))
    }

    /// Reads the stream of a request, beginning after this event.
    fn reader(
        &self,
        stream_number: u64,
        event_number: u64,
        caller: &Caller,
    ) -> Result<StreamReader, NoStream> {
        let streams = self.streams.lock();
        if stream_number > streams.opened {
            return Err(NoStream::Unknown);
        }
        let matches = |stream: &&Arc<RequestStream>| {
            stream.number() == stream_number && !stream.is_discarded()
        };
        let stream = streams
            .recent
            .iter()
            .find(matches)
            .ok_or(NoStream::NotKept)?;
        if !stream.belongs_to(caller) {
            return Err(NoStream::Unknown);
        }
        RequestStream::subscribe(stream, event_number).ok_or(NoStream::Unknown)
    }

    /// Resumes after an event of an earlier run of the server. All notifications of this run follow. The subscriptions
    /// were compared with the state that the client had after the last stored event.
    fn resume_earlier(&self, event: &EventId<'_>) -> Result<ResumePoint, NoStream> {
        let earlier = self.earlier.as_ref().ok_or(NoStream::Unknown)?;
        if event.stream != NOTIFICATIONS {
            return Err(NoStream::NotKept);
        }
        Ok(ResumePoint::Notifications {
            position: LogPosition::default(),
            missed: earlier.missed_after(event),
        })
    }
}

impl EarlierEvents {
    fn missed_after(&self, event: &EventId<'_>) -> MissedNotifications {
        if event.run != self.ids.run || event.number.saturating_add(1) < self.ids.oldest {
            return MissedNotifications::Anything;
        }
        let later = self
            .updated
            .iter()
            .filter(|(_, number)| **number > event.number);
        MissedNotifications::Updates(later.map(|(uri, _)| uri.clone()).collect())
    }
}

impl From<NoStream> for RpcError {
    fn from(reason: NoStream) -> Self {
        let why = match reason {
            NoStream::Unknown => {
                "`Last-Event-ID` names no event of this session: omit it, and read the subscribed resources again"
            }
            NoStream::NotKept => {
                "the stream of `Last-Event-ID` has ended and is not kept: send the request again"
            }
        };
        Self::bad_request(INVALID_REQUEST, why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::raw_json::RawJson;
    use larder_core::catalog::Change;
    use larder_model::name::Teams;

    fn request() -> Id {
        Id::read(RawJson::read("1").unwrap()).unwrap()
    }

    fn caller(scope: &str) -> Caller {
        Caller {
            subject: None,
            issuer: None,
            teams: Teams::default_team(),
            scopes: vec![scope.into()],
        }
    }

    fn ids(session: &str) -> EventIds {
        EventIds::new(session, "run-one0")
    }

    #[test]
    fn resumes_after_events_of_an_earlier_run() {
        let earlier = EventIds {
            last: 5,
            oldest: 3,
            ..ids("a1")
        };
        let updated = HashMap::from([(Uri::parse("x:1").unwrap(), 4)]);
        let replay = Replay::new(earlier.in_run("run-two0"), Arc::default(), Arc::default());
        let replay = replay.after(EarlierEvents {
            ids: earlier,
            updated,
        });
        for (last, expected) in [
            ("a1run-one0-0-6", "notifications"),
            ("a1run-one0-0-4", "notifications"),
            ("a1run-one0-0-3", "updates"),
            ("a1run-one0-0-2", "updates"),
            ("a1run-one0-0-1", "anything"),
            ("a1run-zero-0-5", "anything"),
            ("a1run-two0-0-0", "notifications"),
        ] {
            assert_eq!(find_event(&replay, last), Ok(expected), "{last}");
        }
        assert!(matches!(
            replay.now(),
            ResumePoint::Notifications {
                missed: MissedNotifications::Anything,
                ..
            }
        ));
        let stream = find_event(&replay, "a1run-one0-1-1").unwrap_err();
        assert!(stream.contains("send the request again"), "{stream}");
        assert!(
            find_event(&replay, "a1run-two0-0-1").is_err()
                && find_event(&replay, "b2run-one0-0-3").is_err()
        );
    }

    fn find_event(replay: &Replay, last: &str) -> Result<&'static str, String> {
        match replay.find(last, &caller("read")) {
            Ok(ResumePoint::Notifications {
                missed: MissedNotifications::Anything,
                ..
            }) => Ok("anything"),
            Ok(ResumePoint::Notifications {
                missed: MissedNotifications::Updates(uris),
                ..
            }) if !uris.is_empty() => Ok("updates"),
            Ok(ResumePoint::Notifications { .. }) => Ok("notifications"),
            Ok(ResumePoint::Request(_)) => Ok("stream"),
            Err(rpc_error) => Err(rpc_error.message.to_string()),
        }
    }

    #[test]
    fn finds_only_events_of_this_session() {
        let replay = Replay::new(ids("a1"), Arc::default(), Arc::default());
        let other = Replay::new(ids("b2"), Arc::default(), Arc::default());
        for replay in [&replay, &other] {
            replay
                .notifications()
                .append(&mut LogPosition::default(), vec![Change::List]);
        }
        let stream = replay.open(request(), caller("read"));
        stream.push_message(b"progress".to_vec());
        assert_eq!(
            find_event(&replay, &replay.notification_event_id(1)),
            Ok("notifications")
        );
        assert_eq!(
            find_event(&replay, &replay.request_event_id(&stream, 1)),
            Ok("stream")
        );
        let other_scopes = replay.find(&replay.request_event_id(&stream, 1), &caller("less"));
        assert!(
            other_scopes.is_err(),
            "a response is only for the same caller with the same scopes"
        );
        for bad in [
            &other.notification_event_id(1),
            &replay.notification_event_id(2),
            &replay.request_event_id(&stream, 2),
            "a1run-one0-2-1",
            "a1run-one0-0-",
            "a1run-one0-0-1-1",
            "a1run-one0-0--1",
            "a1run-two0-0-1",
            "a1run-one0",
            "a1",
            "1",
            "a10-1",
        ] {
            assert!(
                find_event(&replay, bad)
                    .unwrap_err()
                    .contains("no event of this session"),
                "{bad}"
            );
        }
    }

    #[test]
    fn forgets_the_oldest_ended_streams() {
        let replay = Replay::new(ids("a"), Arc::default(), Arc::default());
        let running = replay.open(request(), caller("read"));
        let ended: Vec<_> = (0..2 * MAX_ENDED)
            .map(|_| {
                let stream = replay.open(request(), caller("read"));
                stream.push_message(b"progress".to_vec());
                stream.end();
                stream
            })
            .collect();
        assert_eq!(
            find_event(&replay, &replay.request_event_id(&running, 0)),
            Ok("stream")
        );
        let error = find_event(&replay, &replay.request_event_id(&ended[0], 1)).unwrap_err();
        assert!(error.contains("send the request again"), "{error}");
        assert_eq!(
            find_event(
                &replay,
                &replay.request_event_id(&ended[2 * MAX_ENDED - 1], 1)
            ),
            Ok("stream")
        );
        assert!(replay.streams.lock().recent.len() <= MAX_ENDED + 1);
    }
}
