//! Calls in flight that other reads wait for. A call belongs to the request that makes it, the leader: no task is
//! spawned, and the caller of that request still waits for the result. When the leader is cancelled, one of the waiting
//! reads becomes the leader.

use std::collections::HashMap;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;

use super::{CacheKey, CacheMode, CachedResponse};
use crate::catalog::LogicalTime;

/// None until the call completed. Then the response, if it may be shared.
type Response = Option<Option<CachedResponse>>;

#[derive(Debug, Default)]
pub(super) struct SingleFlight(Mutex<Calls>);

#[derive(Debug, Default)]
struct Calls {
    next_id: u64,
    by_key: HashMap<CacheKey, SharedCall>,
}

#[derive(Debug, Clone)]
pub(super) struct SharedCall {
    id: u64,
    since: LogicalTime,
    response: watch::Receiver<Response>,
}

/// What a read does on a cache miss.
pub(super) enum Role<'a> {
    /// Makes a call that others may wait for.
    Lead(Lead<'a>),
    /// Waits for a call in flight.
    Wait(SharedCall),
    /// Makes a call of its own.
    Independent,
}

/// How a shared call ended.
pub(super) enum Outcome {
    /// The call completed; with its response, if that response may be shared.
    Completed(Option<CachedResponse>),
    /// The request that made the call was cancelled.
    Abandoned,
}

/// Obligation to complete a shared call. Dropping it abandons the call.
#[derive(Debug)]
pub(super) struct Lead<'a> {
    calls: &'a SingleFlight,
    key: CacheKey,
    id: u64,
    since: LogicalTime,
    response: watch::Sender<Response>,
}

impl SingleFlight {
    /// Decides how a read continues. A call that began before an update of its URI is not joined by reads
    /// that begin after the update.
    pub(super) fn join(
        &self,
        key: CacheKey,
        mode: CacheMode,
        now: impl FnOnce() -> LogicalTime,
        is_current: impl FnOnce(LogicalTime) -> bool,
    ) -> Role<'_> {
        if !matches!(mode, CacheMode::Join | CacheMode::JoinOrLead) {
            return Role::Independent;
        }
        let mut calls = self.calls();
        match calls.by_key.get(&key).filter(|call| is_current(call.since)) {
            Some(call) => return Role::Wait(call.clone()),
            None if mode == CacheMode::Join => return Role::Independent,
            None => {}
        }
        let (sender, response) = watch::channel(None);
        let id = calls.next_id;
        let since = now();
        calls.next_id += 1;
        calls.by_key.insert(
            key.clone(),
            SharedCall {
                id,
                since,
                response,
            },
        );
        Role::Lead(Lead {
            calls: self,
            key,
            id,
            since,
            response: sender,
        })
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.0.lock()
    }

    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.calls().by_key.len()
    }
}

impl SharedCall {
    /// Waits until the call completes or is abandoned.
    pub(super) async fn outcome(mut self) -> Outcome {
        match self.response.wait_for(Option::is_some).await {
            Ok(response) => Outcome::Completed(response.clone().flatten()),
            Err(_) => Outcome::Abandoned,
        }
    }
}

impl Lead<'_> {
    pub(super) fn since(&self) -> LogicalTime {
        self.since
    }

    /// Passes the response to the waiting reads.
    pub(super) fn complete(self, response: Option<CachedResponse>) {
        self.response.send_replace(Some(response));
    }
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        let mut calls = self.calls.calls();
        // After an update, a later call may have replaced this one under the same key.
        if calls
            .by_key
            .get(&self.key)
            .is_some_and(|call| call.id == self.id)
        {
            calls.by_key.remove(&self.key);
        }
    }
}
