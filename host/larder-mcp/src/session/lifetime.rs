//! The lifetime of one session: when it was used last, its notification stream, and its end.

use std::time::{Duration, Instant, SystemTime};

use parking_lot::{Mutex, MutexGuard};
use tokio_util::sync::CancellationToken;

use super::{MAX_REQUESTS, Session, Usage};
use crate::client_side::cancellation::CancellableRequests;
use crate::protocol::legacy::Client;
use crate::subscribe::replay::Replay;
use larder_model::resource::Caller;

impl<W> Session<W> {
    pub(super) fn new(id: String, client: Client<W>, caller: Caller, replay: Replay) -> Self {
        let now = Instant::now();
        let usage = Mutex::new(Usage {
            last_used: now,
            stored: now,
            stream: None,
        });
        Self {
            id,
            client,
            requests: CancellableRequests::new(MAX_REQUESTS),
            replay,
            caller,
            ended: CancellationToken::new(),
            usage,
        }
    }

    /// The time of the last use, if it differs from the stored time.
    pub(super) fn time_to_store(&self, was_written: bool) -> Option<SystemTime> {
        let now = Instant::now();
        let is_in_use = self.is_in_use();
        let mut usage = self.usage();
        if is_in_use {
            usage.last_used = now;
        }
        let last_used = usage.last_used;
        let is_newer = std::mem::replace(&mut usage.stored, last_used) != last_used;
        (is_newer || was_written)
            .then(|| SystemTime::now() - now.saturating_duration_since(last_used))
    }

    /// Begins a notification stream. The stream replaces the previous one.
    pub(crate) fn begin_stream(&self) -> CancellationToken {
        let token = self.ended.child_token();
        if let Some(previous) = self.usage().stream.replace(token.clone()) {
            previous.cancel();
        }
        token
    }

    /// Ends a notification stream, unless a newer one has replaced it.
    pub(crate) fn end_stream(&self, token: &CancellationToken) {
        token.cancel();
        let mut usage = self.usage();
        usage.last_used = Instant::now();
        if usage
            .stream
            .as_ref()
            .is_some_and(CancellationToken::is_cancelled)
        {
            usage.stream = None;
        }
    }

    pub(crate) fn touch(&self) {
        self.usage().last_used = Instant::now();
    }

    pub(super) fn is_in_use(&self) -> bool {
        self.usage().stream.is_some() || self.requests.len() > 0
    }

    pub(super) fn is_idle(&self, idle_timeout: Duration) -> bool {
        !self.is_in_use() && self.usage().last_used.elapsed() >= idle_timeout
    }

    pub(super) fn close(&self) {
        self.ended.cancel();
        self.requests.cancel_all();
    }

    pub(super) fn usage(&self) -> MutexGuard<'_, Usage> {
        self.usage.lock()
    }
}
