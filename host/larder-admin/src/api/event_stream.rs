//! The path `/api/events/stream`: current events, and the overview every two seconds.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State;
use axum::response::sse::{Event as SseEvent, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use http::StatusCode;
use http::header::HeaderMap;
use serde::{Deserialize, Serialize};
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::events::EventItem;
use super::overview::Overview;
use super::query::{self, ApiQuery};
use super::response::ApiError;
use crate::Admin;
use crate::response::with_retry;

/// The path.
pub(crate) const PATH: &str = "/api/events/stream";
/// Maximum number of streams.
pub(crate) const STREAMS: usize = 8;
/// The time between two overviews.
const OVERVIEW_INTERVAL: Duration = Duration::from_secs(2);
/// Maximum number of events that are sent at once. A client that needs more events reads `/api/events`.
const MAX_EVENTS: usize = 500;

#[derive(Debug, Deserialize)]
pub(super) struct StreamQuery {
    after: Option<String>,
}

/// The stream of one client.
struct EventStream {
    admin: Admin,
    last_id: watch::Receiver<u64>,
    /// The id of the last event that the client has.
    after: u64,
    /// Events that are sent next, newest first.
    queued: Vec<SseEvent>,
    overviews: Interval,
    _permit: OwnedSemaphorePermit,
}

/// Sends the events after the event that the client names, or the events from now on.
pub(super) async fn get(
    State(admin): State<Admin>,
    ApiQuery(query): ApiQuery<StreamQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok());
    let after = query::id("after", last.or(query.after.as_deref()))?;
    let Ok(permit) = admin.0.streams.clone().try_acquire_owned() else {
        return Ok(too_many());
    };
    let mut last_id = admin.0.sources.metrics.events().subscribe();
    let newest = *last_id.borrow_and_update();
    // If a client names an event of the future, the server was restarted since then.
    let after = after.filter(|after| *after <= newest).unwrap_or(newest);
    last_id.mark_changed();
    let state = EventStream {
        admin,
        last_id,
        after,
        queued: Vec::new(),
        overviews: overview_times(),
        _permit: permit,
    };
    let events = stream::unfold(state, |mut state| async move {
        let event = state.next().await?;
        Some((Ok::<_, Infallible>(event), state))
    });
    Ok(Sse::new(events)
        .keep_alive(KeepAlive::default())
        .into_response())
}

fn too_many() -> Response {
    let message =
        format!("there are {STREAMS} streams already, which is the maximum: close one of them");
    let error = ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "too-many-streams", message);
    with_retry(error.into_response(), 5)
}

fn overview_times() -> Interval {
    let mut overviews = interval(OVERVIEW_INTERVAL);
    overviews.set_missed_tick_behavior(MissedTickBehavior::Delay);
    overviews
}

impl EventStream {
    /// Returns the next event of the stream; none when the server stops.
    async fn next(&mut self) -> Option<SseEvent> {
        let own = self.admin.0.drain.clone();
        let server = self.admin.0.sources.server_drain.clone();
        loop {
            if let Some(event) = self.queued.pop() {
                return Some(event);
            }
            tokio::select! {
                biased;
                () = own.stopping() => return None,
                () = server.stopping() => return None,
                changed = self.last_id.changed() => {
                    changed.ok()?;
                    self.queue_events();
                }
                _ = self.overviews.tick() => {
                    let overview = Overview::of(&self.admin);
                    return Some(message("overview", &overview));
                }
            }
        }
    }

    fn queue_events(&mut self) {
        let after = self.after;
        let events = self
            .admin
            .0
            .sources
            .metrics
            .events()
            .newest(MAX_EVENTS, |id, _| id > after);
        self.after = events.first().map_or(after, |(id, _)| *id);
        let event = |id: u64, item: &EventItem| message("event", item).id(id.to_string());
        self.queued = events
            .iter()
            .map(|(id, found)| event(*id, &EventItem::of(*id, found)))
            .collect();
    }
}

fn message(name: &str, data: &impl Serialize) -> SseEvent {
    // The responses of the API can always be serialized.
    SseEvent::default()
        .event(name)
        .data(serde_json::to_string(data).unwrap_or_default())
}
