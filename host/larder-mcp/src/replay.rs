//! Replay of event streams. A client whose connection broke names the last event that it received
//! (`Last-Event-ID`) and gets the later events. Everything here is bounded: where events were dropped, all
//! notifications are sent again, or the client is told to repeat its request.

mod budget;
mod notification_log;
mod request_stream;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use super::message::Id;
use super::rpc_error::{INVALID_REQUEST, RpcError};
pub(super) use budget::ReplayBudget;
use larder_model::resource::Caller;
pub(super) use notification_log::{LogPosition, NotificationLog};
pub(super) use request_stream::{RequestStream, StreamReader};

/// Number of the notification stream. The streams of requests are numbered from one.
const NOTIFICATIONS: u64 = 0;
/// Maximum number of ended request streams that are kept for clients that missed the end.
const MAX_ENDED: usize = 8;

/// The streams of one session.
pub(super) struct Replay {
    /// Distinguishes the events of this session from those of other sessions.
    event_prefix: String,
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
pub(super) enum ResumePoint {
    Notifications(LogPosition),
    Request(StreamReader),
}

impl Replay {
    /// Creates the streams of a session. All sessions share the budget for ended streams.
    pub(super) fn new(
        event_prefix: String,
        notifications: Arc<NotificationLog>,
        budget: Arc<ReplayBudget>,
    ) -> Self {
        Self { event_prefix, notifications, streams: Mutex::default(), budget }
    }

    /// The log of the session's notifications.
    pub(super) fn notifications(&self) -> &NotificationLog {
        &self.notifications
    }

    /// The event id of a notification.
    pub(super) fn notification_event_id(&self, number: u64) -> String {
        self.event_id(NOTIFICATIONS, number)
    }

    /// The event id of a message in a request's stream.
    pub(super) fn request_event_id(&self, stream: &RequestStream, number: u64) -> String {
        self.event_id(stream.number(), number)
    }

    fn event_id(&self, stream: u64, number: u64) -> String {
        format!("{}-{stream}-{number}", self.event_prefix)
    }

    /// Opens the stream of a request.
    pub(super) fn open(&self, request: Id, caller: Caller) -> Arc<RequestStream> {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        let ended = streams.recent.iter().filter(|stream| stream.has_ended()).count();
        let mut surplus = (ended + 1).saturating_sub(MAX_ENDED);
        streams.recent.retain(|stream| {
            let remove = surplus > 0 && stream.has_ended();
            surplus -= usize::from(remove);
            !remove
        });
        streams.opened += 1;
        let stream = Arc::new(RequestStream::new(streams.opened, request, caller, self.budget.clone()));
        streams.recent.push_back(stream.clone());
        stream
    }

    /// Finds the event that a client received last. A request's stream is only for the caller that made the
    /// request, with the same scopes.
    pub(super) fn find(&self, last: &str, caller: &Caller) -> Result<ResumePoint, RpcError> {
        let unknown = || {
            RpcError::bad_request(
                INVALID_REQUEST,
                "`Last-Event-ID` names no event of this session: omit it, and read the subscribed resources again",
            )
        };
        let (stream_number, event_number) = self.parse(last).ok_or_else(unknown)?;
        if stream_number == NOTIFICATIONS {
            return self
                .notifications
                .position(event_number)
                .map(ResumePoint::Notifications)
                .ok_or_else(unknown);
        }
        let streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        if stream_number > streams.opened {
            return Err(unknown());
        }
        let matches =
            |stream: &&Arc<RequestStream>| stream.number() == stream_number && !stream.is_discarded();
        let stream = streams.recent.iter().find(matches).ok_or_else(|| {
            RpcError::bad_request(
                INVALID_REQUEST,
                "the stream of `Last-Event-ID` has ended and is not kept: send the request again",
            )
        })?;
        if !stream.belongs_to(caller) {
            return Err(unknown());
        }
        RequestStream::subscribe(stream, event_number).map(ResumePoint::Request).ok_or_else(unknown)
    }

    fn parse(&self, last: &str) -> Option<(u64, u64)> {
        let (stream, number) = last.strip_prefix(&self.event_prefix)?.strip_prefix('-')?.split_once('-')?;
        Some((stream.parse().ok()?, number.parse().ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw_json::RawJson;
    use larder_core::catalog::Change;
    use larder_model::name::Teams;

    fn request() -> Id {
        Id::read(RawJson::read("1").unwrap()).unwrap()
    }

    fn caller(scope: &str) -> Caller {
        Caller { subject: None, issuer: None, teams: Teams::default_team(), scopes: vec![scope.into()] }
    }

    fn find_event(replay: &Replay, last: &str) -> Result<&'static str, String> {
        match replay.find(last, &caller("read")) {
            Ok(ResumePoint::Notifications(_)) => Ok("notifications"),
            Ok(ResumePoint::Request(_)) => Ok("stream"),
            Err(rpc_error) => Err(rpc_error.message.to_string()),
        }
    }

    #[test]
    fn finds_only_events_of_this_session() {
        let (replay, other) = (
            Replay::new("a1".into(), Arc::default(), Arc::default()),
            Replay::new("b2".into(), Arc::default(), Arc::default()),
        );
        for replay in [&replay, &other] {
            replay.notifications().append(&mut LogPosition::default(), vec![Change::List]);
        }
        let stream = replay.open(request(), caller("read"));
        stream.push_progress(b"progress".to_vec());
        assert_eq!(find_event(&replay, &replay.notification_event_id(1)), Ok("notifications"));
        assert_eq!(find_event(&replay, &replay.request_event_id(&stream, 1)), Ok("stream"));
        let other_scopes = replay.find(&replay.request_event_id(&stream, 1), &caller("less"));
        assert!(other_scopes.is_err(), "a response is only for the same caller with the same scopes");
        for bad in [
            &other.notification_event_id(1),
            &replay.notification_event_id(2),
            &replay.request_event_id(&stream, 2),
            "a1-2-1",
            "a1-0-",
            "a1-0-1-1",
            "a1-0--1",
            "a1",
            "1",
            "a10-1",
        ] {
            assert!(find_event(&replay, bad).unwrap_err().contains("no event of this session"), "{bad}");
        }
    }

    #[test]
    fn forgets_the_oldest_ended_streams() {
        let replay = Replay::new("a".into(), Arc::default(), Arc::default());
        let running = replay.open(request(), caller("read"));
        let ended: Vec<_> = (0..2 * MAX_ENDED)
            .map(|_| {
                let stream = replay.open(request(), caller("read"));
                stream.push_progress(b"progress".to_vec());
                stream.end();
                stream
            })
            .collect();
        assert_eq!(find_event(&replay, &replay.request_event_id(&running, 0)), Ok("stream"));
        let error = find_event(&replay, &replay.request_event_id(&ended[0], 1)).unwrap_err();
        assert!(error.contains("send the request again"), "{error}");
        assert_eq!(find_event(&replay, &replay.request_event_id(&ended[2 * MAX_ENDED - 1], 1)), Ok("stream"));
        assert!(replay.streams.lock().unwrap().recent.len() <= MAX_ENDED + 1);
    }
}
