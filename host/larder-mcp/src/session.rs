//! Sessions of legacy clients. The table is bounded, because every client that can reach the server can open
//! sessions.

mod eviction;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use http::StatusCode;
use tokio_util::sync::CancellationToken;

use super::cancellation::CancellableRequests;
use super::message::MAX_BATCH;
use super::protocol::legacy::Client;
use super::replay::{Replay, ReplayBudget};
use super::rpc_error::{INTERNAL_ERROR, INVALID_REQUEST, RpcError};
use super::subscriptions::Subscriptions;
use eviction::SessionCounts;
use larder_model::resource::Caller;
use larder_runtime::metrics::Refusal;

/// Maximum number of concurrent requests of one session. Requests outlive their connections, so nothing else
/// bounds them. All requests of a batch count while it runs: the limit leaves room for others beside the largest batch.
const MAX_REQUESTS: usize = 64 + MAX_BATCH;

/// All sessions. Generic over the subscriptions of a session, which this module does not use.
pub(super) struct Sessions<W = Subscriptions> {
    table: Mutex<Table<W>>,
    budget: Arc<ReplayBudget>,
    max_sessions: usize,
    idle_timeout: Duration,
}

type Table<W> = HashMap<String, Arc<Session<W>>>;

/// One session.
pub(super) struct Session<W = Subscriptions> {
    pub(super) id: String,
    pub(super) client: Client<W>,
    pub(super) requests: Arc<CancellableRequests>,
    pub(super) replay: Replay,
    caller: Caller,
    ended: CancellationToken,
    usage: Mutex<Usage>,
}

struct Usage {
    last_used: Instant,
    stream: Option<CancellationToken>,
}

impl<W> Sessions<W> {
    pub(super) fn new(max_sessions: usize, idle_timeout: Duration) -> Self {
        Self { table: Mutex::new(HashMap::new()), budget: Arc::default(), max_sessions, idle_timeout }
    }

    /// Opens a session. If the table is full, a session of the same caller is evicted, or of one with more
    /// sessions.
    pub(super) fn open(&self, client: Client<W>, caller: Caller) -> Result<Arc<Session<W>>, RpcError> {
        let id = random_id()?;
        let replay = Replay::new(random_id()?[..12].to_owned(), client.log.clone(), self.budget.clone());
        let mut table = self.lock();
        if table.len() >= self.max_sessions {
            self.evict_one(&mut table, &caller)?;
        }
        let usage = Mutex::new(Usage { last_used: Instant::now(), stream: None });
        let session = Arc::new(Session {
            id: id.clone(),
            client,
            requests: CancellableRequests::new(MAX_REQUESTS),
            replay,
            caller,
            ended: CancellationToken::new(),
            usage,
        });
        table.insert(id, session.clone());
        Ok(session)
    }

    /// Finds the session with this id. It must belong to this caller: the id alone is no credential.
    pub(super) fn find(&self, id: Option<&str>, caller: &Caller) -> Result<Arc<Session<W>>, RpcError> {
        let id = id.ok_or_else(|| {
            RpcError::bad_request(
                INVALID_REQUEST,
                "the Mcp-Session-Id header is missing: call `initialize` first",
            )
        })?;
        let session = self.lock().get(id).filter(|session| session.caller.is_same_principal(caller)).cloned();
        let session = session.filter(|session| !session.is_idle(self.idle_timeout));
        let session = session.ok_or_else(|| {
            RpcError::new(INVALID_REQUEST, "there is no such session: call `initialize` again")
                .with_status(StatusCode::NOT_FOUND)
        })?;
        session.touch();
        Ok(session)
    }

    pub(super) fn end(&self, session: &Session<W>) {
        self.lock().remove(&session.id);
        session.close();
    }

    /// Closes idle sessions and discards expired streams.
    pub(super) fn sweep(&self) {
        self.budget.sweep();
        self.retain(|session| !session.is_idle(self.idle_timeout));
    }

    /// Closes the sessions of callers that are no longer allowed.
    pub(super) fn retain_callers(&self, may_call: impl Fn(&Caller) -> bool) {
        self.retain(|session| may_call(&session.caller));
    }

    fn retain(&self, is_kept: impl Fn(&Session<W>) -> bool) {
        self.lock().retain(|_, session| {
            let is_kept = is_kept(session);
            if !is_kept {
                session.close();
            }
            is_kept
        });
    }

    /// The number of open sessions.
    pub(super) fn len(&self) -> u64 {
        self.lock().len() as u64
    }

    fn evict_one(&self, table: &mut Table<W>, caller: &Caller) -> Result<(), RpcError> {
        let id = SessionCounts::new(table).candidate(table, caller);
        let session = id.and_then(|id| table.remove(&id)).ok_or_else(|| {
            RpcError::new(INTERNAL_ERROR, "too many sessions: end some, or try again later")
                .with_status(StatusCode::SERVICE_UNAVAILABLE)
                .with_refusal(Refusal::Sessions)
        })?;
        tracing::debug!("session evicted");
        session.close();
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Table<W>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<W> Session<W> {
    /// Begins a notification stream. It replaces the previous one.
    pub(super) fn begin_stream(&self) -> CancellationToken {
        let token = self.ended.child_token();
        if let Some(previous) = self.usage().stream.replace(token.clone()) {
            previous.cancel();
        }
        token
    }

    /// Ends a notification stream, unless a newer one has replaced it.
    pub(super) fn end_stream(&self, token: &CancellationToken) {
        token.cancel();
        let mut usage = self.usage();
        usage.last_used = Instant::now();
        if usage.stream.as_ref().is_some_and(CancellationToken::is_cancelled) {
            usage.stream = None;
        }
    }

    pub(super) fn touch(&self) {
        self.usage().last_used = Instant::now();
    }

    fn is_in_use(&self) -> bool {
        self.usage().stream.is_some() || self.requests.len() > 0
    }

    fn is_idle(&self, idle_timeout: Duration) -> bool {
        !self.is_in_use() && self.usage().last_used.elapsed() >= idle_timeout
    }

    fn close(&self) {
        self.ended.cancel();
        self.requests.cancel_all();
    }

    fn usage(&self) -> MutexGuard<'_, Usage> {
        self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns 192 random bits in hexadecimal.
fn random_id() -> Result<String, RpcError> {
    let mut bytes = [0; 24];
    getrandom::fill(&mut bytes).map_err(|error| {
        tracing::error!(%error, "random number generator failed");
        RpcError::new(INTERNAL_ERROR, "no session can be opened")
            .with_status(StatusCode::INTERNAL_SERVER_ERROR)
    })?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::era::LegacyVersion;
    use larder_model::name::Teams;

    pub(super) fn client() -> Client<()> {
        let version = LegacyVersion::negotiate("2025-11-25");
        Client { version, subscriptions: Arc::default(), log: Arc::default() }
    }

    fn caller(subject: &str) -> Caller {
        Caller { subject: Some(subject.into()), issuer: None, teams: Teams::default_team(), scopes: vec![] }
    }

    fn open(sessions: &Sessions<()>) -> Result<Arc<Session<()>>, RpcError> {
        sessions.open(client(), caller("ann"))
    }

    fn status(found: Result<Arc<Session<()>>, RpcError>) -> u16 {
        found.map_or_else(|rpc_error| rpc_error.status.as_u16(), |_| 200)
    }

    #[test]
    fn a_session_belongs_to_its_caller_until_it_ends() {
        let sessions = Sessions::new(10, Duration::from_secs(60));
        let session = open(&sessions).unwrap();
        assert!(session.id.len() == 48 && session.id.bytes().all(|byte| byte.is_ascii_graphic()));
        assert_eq!(status(sessions.find(Some(&session.id), &caller("ann"))), 200);
        assert_eq!(status(sessions.find(Some(&session.id), &caller("bob"))), 404);
        let other_issuer = Caller { issuer: Some("https://id.example".into()), ..caller("ann") };
        assert_eq!(status(sessions.find(Some(&session.id), &other_issuer)), 404, "another issuer's ann");
        let other_token = Caller { scopes: vec!["more".into()], ..caller("ann") };
        assert_eq!(
            status(sessions.find(Some(&session.id), &other_token)),
            200,
            "the same caller with another token"
        );
        assert_eq!(status(sessions.find(Some("guess"), &caller("ann"))), 404);
        assert_eq!(status(sessions.find(None, &caller("ann"))), 400);
        let stream = session.begin_stream();
        sessions.end(&session);
        assert!(stream.is_cancelled());
        assert_eq!(status(sessions.find(Some(&session.id), &caller("ann"))), 404);
    }

    #[test]
    fn an_idle_session_ends_unless_it_has_a_stream() {
        let idle = Duration::from_secs(60);
        let sessions = Sessions::new(10, idle);
        let (unused, streaming) = (open(&sessions).unwrap(), open(&sessions).unwrap());
        let stream = streaming.begin_stream();
        for session in [&unused, &streaming] {
            session.usage().last_used = Instant::now().checked_sub(idle).unwrap();
        }
        sessions.sweep();
        assert_eq!(status(sessions.find(Some(&unused.id), &caller("ann"))), 404);
        assert_eq!(status(sessions.find(Some(&streaming.id), &caller("ann"))), 200);
        streaming.end_stream(&stream);
        streaming.usage().last_used = Instant::now().checked_sub(idle).unwrap();
        assert_eq!(
            status(sessions.find(Some(&streaming.id), &caller("ann"))),
            404,
            "an idle session is rejected even before a sweep"
        );
    }

    #[test]
    fn evicts_the_least_recently_used_session() {
        let sessions = Sessions::new(2, Duration::from_secs(60));
        let (first, second) = (open(&sessions).unwrap(), open(&sessions).unwrap());
        first.usage().last_used = Instant::now() + Duration::from_secs(1);
        let third = open(&sessions).unwrap();
        let found = |session: &Session<()>| status(sessions.find(Some(&session.id), &caller("ann")));
        assert_eq!([found(&first), found(&second), found(&third)], [200, 404, 200]);
        let _streams = (first.begin_stream(), third.begin_stream());
        assert_eq!(status(open(&sessions)), 503, "sessions with open streams are not evicted");
    }

    #[test]
    fn a_new_stream_replaces_the_old_one() {
        let sessions = Sessions::new(1, Duration::from_secs(60));
        let session = open(&sessions).unwrap();
        let (old, new) = (session.begin_stream(), session.begin_stream());
        assert!(old.is_cancelled() && !new.is_cancelled());
        session.end_stream(&old);
        assert!(
            !new.is_cancelled() && session.is_in_use(),
            "the end of the old stream does not end the new one"
        );
    }
}
