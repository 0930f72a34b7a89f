//! Response cache of one team. It stores read results that their providers declare fresh, and lets concurrent identical
//! reads share one provider call. A cached response is never used after it expired, after an update of a URI in it, or
//! for another revision. If the provider restricts the response to its caller, it is never used for another caller.

mod shareability;
mod singleflight;
mod store;

use std::future::Future;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};

use self::shareability::{Shareability, ShareabilityTable};
use self::singleflight::{Lead, Outcome, Role, SingleFlight};
use self::store::ResponseStore;
use crate::catalog::{LogicalTime, Reader};
use larder_model::policy::TimeLimit;
use larder_model::resource::{Caller, Freshness, ReadResult, Scope};
use larder_model::uri::Uri;
use larder_runtime::deadline::with_deadline;
use larder_runtime::memory_budget::TeamMemory;

/// Capacity of the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Maximum size of all cached responses in bytes.
    pub bytes: usize,
    /// Maximum number of cached responses; 0 disables the cache.
    pub entries: usize,
}

impl Config {
    /// Returns the share of one team if there are `teams` teams. Each team has a cache of its own. So the reads of one
    /// team do not evict the responses of another team, and do not influence its response times.
    pub(super) fn share(self, teams: usize) -> Self {
        let teams = teams.max(1);
        Self {
            bytes: self.bytes / teams,
            entries: self.entries.div_ceil(teams),
        }
    }
}

#[derive(Debug)]
pub(super) struct Cache {
    store: Mutex<ResponseStore>,
    calls: SingleFlight,
    shareability: ShareabilityTable,
    reader: Reader,
}

/// A read: everything that its response may depend on.
#[derive(Debug, Clone, Copy)]
pub(super) struct CacheRequest<'a> {
    /// The provider's revision. It identifies the component, its grants and its settings.
    pub(super) revision: u64,
    /// The caller with all scopes: if a subject has two credentials, the credential with fewer scopes may see less.
    pub(super) caller: &'a Caller,
    pub(super) uri: &'a Uri,
    /// The time for the whole read.
    pub(super) time: &'a ReadTime,
}

/// How long a read may wait for the call of another read and then make a call of its own. The time begins when the read
/// waits. If the read does not wait, only the limits of the provider apply, and the clock is not read.
#[derive(Debug)]
pub(super) struct ReadTime {
    total: Duration,
    until: OnceLock<Instant>,
}

impl ReadTime {
    pub(super) fn new(total: Duration) -> Self {
        Self {
            total,
            until: OnceLock::new(),
        }
    }

    /// Returns the limit for a call of this read; `None` if the read did not wait.
    pub(super) fn limit(&self) -> Option<TimeLimit> {
        self.until.get().map(|until| TimeLimit {
            until: *until,
            total: self.total,
        })
    }

    fn until(&self) -> Instant {
        *self.until.get_or_init(|| Instant::now() + self.total)
    }
}

/// How far a read may use cached responses and share provider calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CacheMode {
    /// A read uses no cached response and shares no call: its response may depend on something that only this request
    /// contains.
    Bypass,
    /// Uses cached responses, but makes its own call, because the client wants its progress.
    CachedOnly,
    /// Uses cached responses and may wait for a call in flight. Its own call is conditional on one version,
    /// and is therefore not shared.
    Join,
    /// Like `Join`, and other reads may wait for its own call.
    JoinOrLead,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct CacheKey {
    revision: u64,
    /// None if the response is for the whole team.
    caller: Option<Caller>,
    uri: Uri,
}

impl CacheRequest<'_> {
    fn team_key(&self) -> CacheKey {
        self.key(None)
    }

    fn caller_key(&self) -> CacheKey {
        self.key(Some(self.caller.clone()))
    }

    fn key(&self, caller: Option<Caller>) -> CacheKey {
        CacheKey {
            revision: self.revision,
            caller,
            uri: self.uri.clone(),
        }
    }
}

/// A response, and the conditions under which it may be used.
#[derive(Debug, Clone)]
struct CachedResponse {
    result: ReadResult,
    /// The only caller who may use the response; none if the whole team may use it.
    caller: Option<Caller>,
    /// The time before the call began, so that an update during the call invalidates the response.
    since: LogicalTime,
    expires: Instant,
}

impl CachedResponse {
    /// Returns `None` if the provider does not declare the result fresh.
    fn new(result: &ReadResult, request: &CacheRequest<'_>, since: LogicalTime) -> Option<Self> {
        let Freshness { ttl, scope } = result.freshness;
        let caller = (scope == Scope::Caller).then(|| request.caller.clone());
        (!ttl.is_zero()).then(|| Self {
            result: result.clone(),
            caller,
            since,
            expires: Instant::now() + ttl,
        })
    }

    /// Returns the result with its remaining time to live, if it may be used for this request.
    fn result_for(&self, request: &CacheRequest<'_>, reader: &Reader) -> Option<ReadResult> {
        let ttl = self.remaining_ttl()?;
        let is_same = |uri| reader.unchanged_since(self.since, uri);
        let is_valid = self.may_be_used_by(request.caller)
            && is_same(request.uri)
            && self
                .result
                .contents
                .iter()
                .all(|content| content.uri == *request.uri || is_same(&content.uri));
        let freshness = Freshness {
            ttl,
            ..self.result.freshness
        };
        is_valid.then(|| ReadResult {
            freshness,
            shared: true,
            ..self.result.clone()
        })
    }

    /// Returns the key under which the response to this request is stored.
    fn key(&self, request: &CacheRequest<'_>) -> CacheKey {
        if self.caller.is_some() {
            request.caller_key()
        } else {
            request.team_key()
        }
    }

    fn remaining_ttl(&self) -> Option<Duration> {
        self.expires
            .checked_duration_since(Instant::now())
            .filter(|left| !left.is_zero())
    }

    fn may_be_used_by(&self, caller: &Caller) -> bool {
        self.caller.as_ref().is_none_or(|only| only == caller)
    }
}

enum Lookup<'a> {
    Hit(ReadResult),
    /// A miss. Other reads may wait for the call that follows.
    Lead(Lead<'a>),
    Miss,
}

impl Cache {
    /// Creates an empty cache, which charges its responses to this team.
    pub(super) fn new(config: Config, reader: Reader, memory: &TeamMemory) -> Self {
        Self {
            store: Mutex::new(ResponseStore::new(config, memory)),
            calls: SingleFlight::default(),
            shareability: ShareabilityTable::default(),
            reader,
        }
    }

    /// Changes the capacity.
    pub(super) fn resize(&self, config: Config) {
        self.store().resize(config);
    }

    /// Returns the bytes and the number of cached responses.
    pub(super) fn size(&self) -> (u64, u64) {
        self.store().size()
    }

    /// Returns the cached response, the response of a call in flight, or the result of `call`.
    /// Errors are neither cached nor shared: an error may concern only this caller or this moment.
    pub(super) async fn get_or_call<E>(
        &self,
        request: &CacheRequest<'_>,
        mode: CacheMode,
        call: impl Future<Output = Result<ReadResult, E>>,
    ) -> Result<ReadResult, E> {
        if mode == CacheMode::Bypass {
            return call.await;
        }
        let lead = match self.find(request, mode).await {
            Lookup::Hit(result) => return Ok(result),
            Lookup::Lead(lead) => Some(lead),
            Lookup::Miss => None,
        };
        let since = lead
            .as_ref()
            .map_or_else(|| self.reader.logical_time(), Lead::since);
        let result = call.await;
        let response = result
            .as_ref()
            .ok()
            .and_then(|result| CachedResponse::new(result, request, since));
        if result.is_ok() || lead.is_some() {
            self.shareability.record(request, response.as_ref());
        }
        if let Some(response) = &response {
            let key = response.key(request);
            self.store().put(key, response.clone());
        }
        if let Some(lead) = lead {
            lead.complete(response);
        }
        result
    }

    /// Looks in the store, then among the calls in flight. If the response of the call that it waited for cannot be
    /// used here, this read and all others that waited make their own calls. If that call was abandoned, one of the
    /// waiting reads takes the lead. A read waits at most as long as a call of its own may take; after such a wait, no
    /// time is left for a call of its own.
    async fn find(&self, request: &CacheRequest<'_>, mode: CacheMode) -> Lookup<'_> {
        loop {
            if let Some(result) = self.cached(request) {
                return Lookup::Hit(result);
            }
            let key = match self.shareability.get(request) {
                Shareability::Unknown | Shareability::Team => request.team_key(),
                Shareability::Caller => request.caller_key(),
                Shareability::NotCacheable => return Lookup::Miss,
            };
            let is_current = |since| self.reader.unchanged_since(since, request.uri);
            let call = match self
                .calls
                .join(key, mode, || self.reader.logical_time(), is_current)
            {
                Role::Wait(call) => call,
                Role::Independent => return Lookup::Miss,
                // Another call may have ended since the store was checked above.
                Role::Lead(lead) => {
                    return self.cached(request).map_or(Lookup::Lead(lead), Lookup::Hit);
                }
            };
            // Boxed because most reads do not wait.
            match Box::pin(with_deadline(|| request.time.until(), call.outcome())).await {
                None => return Lookup::Miss,
                Some(Outcome::Abandoned) => {}
                Some(Outcome::Completed(response)) => {
                    let result =
                        response.and_then(|response| response.result_for(request, &self.reader));
                    return result.map_or(Lookup::Miss, Lookup::Hit);
                }
            }
        }
    }

    fn cached(&self, request: &CacheRequest<'_>) -> Option<ReadResult> {
        let mut store = self.store();
        [CacheRequest::team_key, CacheRequest::caller_key]
            .into_iter()
            .find_map(|key| {
                let key = key(request);
                let result = store.get(&key)?.result_for(request, &self.reader);
                if result.is_none() {
                    store.remove(&key);
                }
                result
            })
    }

    fn store(&self) -> MutexGuard<'_, ResponseStore> {
        self.store.lock()
    }
}

#[cfg(test)]
mod tests;
