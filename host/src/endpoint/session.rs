//! Sessions of legacy clients: a bounded table, since whoever can reach the server can open them.

mod shares;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use http::StatusCode;
use tokio_util::sync::CancellationToken;

use super::dialect::Ear;
use super::era::Legacy;
use super::flight::Flights;
use super::refusal::{INTERNAL, REQUEST, Refusal};
use super::replay::{Remains, Replay};
use crate::resource::Caller;
use shares::Shares;

/// All sessions. What they watch is of no concern here.
pub(super) struct Sessions<W = Ear> {
    table: Mutex<Table<W>>,
    remains: Arc<Remains>,
    most: usize,
    idle: Duration,
}

type Table<W> = HashMap<String, Arc<Session<W>>>;

/// One session.
pub(super) struct Session<W = Ear> {
    pub(super) id: String,
    pub(super) version: Legacy,
    pub(super) watch: Arc<W>,
    pub(super) flights: Arc<Flights>,
    pub(super) replay: Replay,
    caller: Caller,
    ended: CancellationToken,
    usage: Mutex<Usage>,
}

struct Usage {
    seen: Instant,
    stream: Option<CancellationToken>,
}

impl<W> Sessions<W> {
    pub(super) fn new(most: usize, idle: Duration) -> Self {
        Self { table: Mutex::new(HashMap::new()), remains: Arc::default(), most, idle }
    }

    /// Opens a session. Where there is no room, one of the same caller makes it, or of one who has more than this one.
    pub(super) fn open(&self, version: Legacy, caller: Caller, watch: W) -> Result<Arc<Session<W>>, Refusal> {
        let id = fresh_id()?;
        let replay = Replay::new(fresh_id()?[..12].to_owned(), self.remains.clone());
        let mut table = self.lock();
        if table.len() >= self.most {
            self.make_room(&mut table, &caller)?;
        }
        let usage = Mutex::new(Usage { seen: Instant::now(), stream: None });
        let session = Arc::new(Session {
            id: id.clone(),
            version,
            watch: Arc::new(watch),
            flights: Arc::default(),
            replay,
            caller,
            ended: CancellationToken::new(),
            usage,
        });
        table.insert(id, session.clone());
        Ok(session)
    }

    /// The session of this caller with this id. The id alone proves nothing.
    pub(super) fn find(&self, id: Option<&str>, caller: &Caller) -> Result<Arc<Session<W>>, Refusal> {
        let id = id.ok_or_else(|| {
            Refusal::early(REQUEST, "the Mcp-Session-Id header is missing: call `initialize` first")
        })?;
        let session = self.lock().get(id).filter(|session| session.caller.is_same(caller)).cloned();
        let session = session.filter(|session| !session.is_idle(self.idle));
        let session = session.ok_or_else(|| {
            Refusal::new(REQUEST, "there is no such session: call `initialize` again")
                .with_status(StatusCode::NOT_FOUND)
        })?;
        session.touch();
        Ok(session)
    }

    pub(super) fn end(&self, session: &Session<W>) {
        self.lock().remove(&session.id);
        session.close();
    }

    /// Forgets the sessions that nobody used for long enough, and what remains of streams.
    pub(super) fn sweep(&self) {
        self.remains.sweep();
        self.keep(|session| !session.is_idle(self.idle));
    }

    /// Ends the sessions of those who may not ask any more.
    pub(super) fn keep_only(&self, may_ask: impl Fn(&Caller) -> bool) {
        self.keep(|session| may_ask(&session.caller));
    }

    fn keep(&self, stays: impl Fn(&Session<W>) -> bool) {
        self.lock().retain(|_, session| {
            let stays = stays(session);
            if !stays {
                session.close();
            }
            stays
        });
    }

    /// How many there are.
    pub(super) fn len(&self) -> u64 {
        self.lock().len() as u64
    }

    fn make_room(&self, table: &mut Table<W>, caller: &Caller) -> Result<(), Refusal> {
        let id = Shares::of(table).spare(table, caller);
        let session = id.and_then(|id| table.remove(&id)).ok_or_else(|| {
            Refusal::new(INTERNAL, "too many sessions: end some, or try again later")
                .with_status(StatusCode::SERVICE_UNAVAILABLE)
        })?;
        tracing::debug!("a session was closed to make room for another");
        session.close();
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Table<W>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<W> Session<W> {
    /// Begins the stream of notifications. There is one: whoever asks last gets it.
    pub(super) fn begin_stream(&self) -> CancellationToken {
        let token = self.ended.child_token();
        if let Some(older) = self.usage().stream.replace(token.clone()) {
            older.cancel();
        }
        token
    }

    /// The stream is over, unless another has taken its place.
    pub(super) fn end_stream(&self, token: &CancellationToken) {
        token.cancel();
        let mut usage = self.usage();
        usage.seen = Instant::now();
        if usage.stream.as_ref().is_some_and(CancellationToken::is_cancelled) {
            usage.stream = None;
        }
    }

    pub(super) fn touch(&self) {
        self.usage().seen = Instant::now();
    }

    fn is_used(&self) -> bool {
        self.usage().stream.is_some() || self.flights.len() > 0
    }

    fn is_idle(&self, idle: Duration) -> bool {
        !self.is_used() && self.usage().seen.elapsed() >= idle
    }

    fn close(&self) {
        self.ended.cancel();
        self.flights.cancel_all();
    }

    fn usage(&self) -> MutexGuard<'_, Usage> {
        self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// 192 bits that nobody can guess, in hexadecimal.
fn fresh_id() -> Result<String, Refusal> {
    let mut bytes = [0; 24];
    getrandom::fill(&mut bytes).map_err(|error| {
        tracing::error!(%error, "the system gives no random bytes");
        Refusal::new(INTERNAL, "no session can be opened").with_status(StatusCode::INTERNAL_SERVER_ERROR)
    })?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::Teams;

    fn caller(subject: &str) -> Caller {
        Caller { subject: Some(subject.into()), issuer: None, teams: Teams::sole(), scopes: vec![] }
    }

    fn open(sessions: &Sessions<()>) -> Result<Arc<Session<()>>, Refusal> {
        sessions.open(Legacy::negotiate("2025-11-25"), caller("ann"), ())
    }

    fn status(found: Result<Arc<Session<()>>, Refusal>) -> u16 {
        found.map_or_else(|refusal| refusal.status.as_u16(), |_| 200)
    }

    #[test]
    fn a_session_is_its_callers_until_it_ends() {
        let sessions = Sessions::new(10, Duration::from_secs(60));
        let session = open(&sessions).unwrap();
        assert!(session.id.len() == 48 && session.id.bytes().all(|byte| byte.is_ascii_graphic()));
        assert_eq!(status(sessions.find(Some(&session.id), &caller("ann"))), 200);
        assert_eq!(status(sessions.find(Some(&session.id), &caller("bob"))), 404);
        let elsewhere = Caller { issuer: Some("https://id.example".into()), ..caller("ann") };
        assert_eq!(status(sessions.find(Some(&session.id), &elsewhere)), 404, "another issuer's ann");
        let wider = Caller { scopes: vec!["more".into()], ..caller("ann") };
        assert_eq!(status(sessions.find(Some(&session.id), &wider)), 200, "the same with another token");
        assert_eq!(status(sessions.find(Some("guess"), &caller("ann"))), 404);
        assert_eq!(status(sessions.find(None, &caller("ann"))), 400);
        let stream = session.begin_stream();
        sessions.end(&session);
        assert!(stream.is_cancelled());
        assert_eq!(status(sessions.find(Some(&session.id), &caller("ann"))), 404);
    }

    #[test]
    fn an_unused_session_ends_and_an_open_stream_is_use() {
        let idle = Duration::from_secs(60);
        let sessions = Sessions::new(10, idle);
        let (unused, heard) = (open(&sessions).unwrap(), open(&sessions).unwrap());
        let stream = heard.begin_stream();
        for session in [&unused, &heard] {
            session.usage().seen = Instant::now().checked_sub(idle).unwrap();
        }
        sessions.sweep();
        assert_eq!(status(sessions.find(Some(&unused.id), &caller("ann"))), 404);
        assert_eq!(status(sessions.find(Some(&heard.id), &caller("ann"))), 200);
        heard.end_stream(&stream);
        heard.usage().seen = Instant::now().checked_sub(idle).unwrap();
        assert_eq!(
            status(sessions.find(Some(&heard.id), &caller("ann"))),
            404,
            "found idle even before a sweep"
        );
    }

    #[test]
    fn the_longest_unused_makes_room() {
        let sessions = Sessions::new(2, Duration::from_secs(60));
        let (first, second) = (open(&sessions).unwrap(), open(&sessions).unwrap());
        first.usage().seen = Instant::now() + Duration::from_secs(1);
        let third = open(&sessions).unwrap();
        let found = |session: &Session<()>| status(sessions.find(Some(&session.id), &caller("ann")));
        assert_eq!([found(&first), found(&second), found(&third)], [200, 404, 200]);
        let _streams = (first.begin_stream(), third.begin_stream());
        assert_eq!(status(open(&sessions)), 503, "nobody who listens is thrown out");
    }

    #[test]
    fn the_newest_stream_wins() {
        let sessions = Sessions::new(1, Duration::from_secs(60));
        let session = open(&sessions).unwrap();
        let (older, newer) = (session.begin_stream(), session.begin_stream());
        assert!(older.is_cancelled() && !newer.is_cancelled());
        session.end_stream(&older);
        assert!(
            !newer.is_cancelled() && session.is_used(),
            "the end of the older is not the end of the newer"
        );
    }
}
