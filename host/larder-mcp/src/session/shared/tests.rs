use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;

use super::restore::earlier_events;
use super::*;
use crate::session::Sessions;
use crate::session::store::{
    PeerMessage, PutError, ReplicaName, ReplyAddress, RequestError, StoreChange,
};
use crate::session::tests::client_with as client;
use crate::subscribe::replay::Replay;
use crate::subscribe::subscriptions::Subscriptions;
use larder_core::catalog;
use larder_model::name::{TeamName, Teams};
use larder_model::resource::Caller;

/// The values that all replicas store. A removed session has no value.
#[derive(Default)]
struct StoredSessions {
    sessions: Mutex<HashMap<SessionKey, (u64, Option<StoredValue>)>>,
    is_away: AtomicBool,
}

/// The store, with the name of the replica that uses it.
struct MemoryStore(ReplicaName, Arc<StoredSessions>);

#[async_trait]
impl SharedSessionStore for MemoryStore {
    fn replica(&self) -> &ReplicaName {
        &self.0
    }

    fn is_connected(&self) -> bool {
        !self.1.is_away.load(Ordering::Relaxed)
    }

    fn max_value_bytes(&self) -> usize {
        1 << 20
    }

    async fn load(&self, key: SessionKey) -> Result<StoreEntry, Unavailable> {
        Ok(match self.1.sessions.lock().get(&key) {
            None => StoreEntry::Absent,
            Some((_, None)) => StoreEntry::Removed,
            Some((revision, Some(value))) => StoreEntry::Present {
                revision: *revision,
                value: value.clone(),
            },
        })
    }

    async fn put(
        &self,
        key: SessionKey,
        value: StoredValue,
        after: Option<u64>,
    ) -> Result<u64, PutError> {
        let mut sessions = self.1.sessions.lock();
        if sessions.get(&key).map(|(revision, _)| *revision) != after {
            return Err(PutError::Conflict);
        }
        let revision = after.unwrap_or(0) + 1;
        sessions.insert(key, (revision, Some(value)));
        Ok(revision)
    }

    async fn remove(&self, key: SessionKey) -> Result<(), Unavailable> {
        let mut sessions = self.1.sessions.lock();
        let revision = sessions.get(&key).map_or(0, |(revision, _)| *revision);
        sessions.insert(key, (revision + 1, None));
        Ok(())
    }

    async fn next_change(&self) -> StoreChange {
        std::future::pending().await
    }

    fn send(&self, _: Option<&ReplicaName>, _: Vec<u8>) -> bool {
        true
    }

    async fn request(&self, _: &ReplicaName, _: Vec<u8>) -> Result<Vec<u8>, RequestError> {
        Err(RequestError::Gone)
    }

    async fn next_message(&self) -> PeerMessage {
        std::future::pending().await
    }

    fn reply(&self, _: ReplyAddress, _: Vec<u8>) {}
}

/// A replica with one session.
struct Replica {
    shared: Arc<SharedSessions>,
    sessions: Sessions,
    session: Arc<Session>,
    _catalog: Box<dyn std::any::Any>,
}

impl Replica {
    /// Opens a new session.
    async fn first(stored: &Arc<StoredSessions>) -> Self {
        let replica = Self::new(1, stored, None);
        replica.sessions.store(&replica.session).await;
        replica
    }

    /// Continues the session of another replica.
    async fn other(&self, number: u64, stored: &Arc<StoredSessions>) -> Self {
        let opened = self.shared.load(self.key()).await.unwrap().ok().unwrap();
        Self::new(number, stored, Some((self.session.id.clone(), opened)))
    }

    fn new(
        number: u64,
        stored: &Arc<StoredSessions>,
        other: Option<(String, OpenedSession)>,
    ) -> Self {
        let store = Arc::new(MemoryStore(ReplicaName::of(number), stored.clone()));
        let keys = SealingKeys::new(["secret"]).unwrap();
        let shared = Arc::new(SharedSessions::new(
            store,
            keys,
            Duration::from_secs(60),
            &Drain::new(),
        ));
        let sessions = Sessions::new(10, Duration::from_secs(60));
        sessions.set_shared(shared.clone());
        let (writer, reader) = catalog::catalog(TeamName::default_team(), 100);
        let caller = Caller {
            subject: None,
            issuer: None,
            teams: Teams::default_team(),
            scopes: vec![],
        };
        let subscriptions = Subscriptions::new(catalog::watch([&reader]), caller.clone());
        let session = match &other {
            None => sessions.open(client(subscriptions), caller).unwrap(),
            Some((id, opened)) => {
                subscriptions.restore(&opened.record.subscriptions);
                let client = client(subscriptions);
                let ids = opened.record.events.in_run(&shared.new_run().unwrap());
                let replay = Replay::new(ids, client.log.clone(), Arc::default());
                let replay = replay.after(earlier_events(&opened.record));
                Arc::new(Session::new(id.clone(), client, caller, replay))
            }
        };
        if let Some((_, opened)) = &other {
            sessions.share(&shared, &session, Some(opened));
        }
        Self {
            shared,
            sessions,
            session,
            _catalog: Box::new((writer, reader)),
        }
    }

    fn key(&self) -> SessionKey {
        SessionKey::of(&self.session.id)
    }

    async fn subscribe(&self, uri: &str) -> bool {
        let added = crate::subscribe::subscriptions::StoredSubscription {
            uri: uri.into(),
            with_content: false,
            states: vec![],
            updated: None,
        };
        self.session.client.subscriptions.change(&[added], &[]);
        self.session.client.subscriptions.save().await
    }

    async fn unsubscribe(&self, uri: &str) -> bool {
        self.session
            .client
            .subscriptions
            .change(&[], &[uri.to_owned()]);
        self.session.client.subscriptions.save().await
    }

    fn uris(&self) -> String {
        let stored = self
            .session
            .client
            .log
            .between_changes(|events| self.session.client.subscriptions.stored(events));
        stored
            .into_iter()
            .map(|one| one.uri)
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// Receives the changes in the store.
    async fn notice(&self) {
        let opened = self.shared.load(self.key()).await.unwrap().ok().unwrap();
        let link = self.session.link.get().unwrap();
        link.recorder.notice(opened.revision, &opened.head).await;
    }

    /// Opens a notification stream, as a client that names no event.
    async fn listen(&self) -> tokio_util::sync::CancellationToken {
        let link = self.session.link.get().unwrap();
        link.take_notifications(&self.session, None).await;
        let stream = self.session.begin_stream();
        self.session.client.subscriptions.save().await;
        stream
    }
}

#[tokio::test]
async fn replicas_merge_their_changes() {
    let stored = Arc::default();
    let first = Replica::first(&stored).await;
    first.subscribe("x:1").await;
    let second = first.other(2, &stored).await;
    assert_eq!(second.uris(), "x:1");
    // Neither replica has received the other's change.
    assert!(first.subscribe("x:2").await && second.subscribe("x:3").await);
    assert_eq!(
        (first.uris(), second.uris()),
        ("x:1 x:2".into(), "x:1 x:2 x:3".into())
    );
    first.notice().await;
    assert!(first.unsubscribe("x:1").await);
    second.notice().await;
    assert_eq!(
        (first.uris(), second.uris()),
        ("x:2 x:3".into(), "x:2 x:3".into())
    );
    assert!(
        !first.session.client.subscriptions.save().await,
        "nothing has changed"
    );
    assert!(!second.session.client.subscriptions.save().await);
}

#[tokio::test]
async fn changes_without_the_store_are_made_up_for() {
    let stored = Arc::<StoredSessions>::default();
    let first = Replica::first(&stored).await;
    let second = first.other(2, &stored).await;
    stored.is_away.store(true, Ordering::Relaxed);
    assert!(!first.subscribe("x:1").await && !second.subscribe("x:2").await);
    stored.is_away.store(false, Ordering::Relaxed);
    for replica in [&first, &second, &first] {
        replica.session.client.subscriptions.save().await;
        replica.notice().await;
    }
    assert_eq!(
        (first.uris(), second.uris()),
        ("x:1 x:2".into(), "x:1 x:2".into())
    );
}

#[tokio::test]
async fn a_newer_stream_ends_the_one_at_another_replica() {
    let stored = Arc::default();
    let first = Replica::first(&stored).await;
    let second = first.other(2, &stored).await;
    let old = first.listen().await;
    let new = second.listen().await;
    first.notice().await;
    assert!(old.is_cancelled() && !new.is_cancelled());
    // The first replica does not store the state of the client any more.
    first.subscribe("x:1").await;
    let opened = first.shared.load(first.key()).await.unwrap().ok().unwrap();
    assert_eq!(opened.record.events.run, second.session.replay.ids().run);
    second.notice().await;
    assert!(!new.is_cancelled() && second.uris() == "x:1");
    let newest = first.listen().await;
    second.notice().await;
    assert!(new.is_cancelled() && !newest.is_cancelled());
}

#[tokio::test]
async fn a_session_ends_at_all_replicas_and_one_that_the_store_forgot_continues() {
    let stored = Arc::<StoredSessions>::default();
    let first = Replica::first(&stored).await;
    let second = first.other(2, &stored).await;
    stored.sessions.lock().clear();
    second.subscribe("x:1").await;
    assert_eq!(stored.sessions.lock().len(), 1);
    first.sessions.end(&first.session).await;
    assert!(!second.session.ended.is_cancelled());
    second.subscribe("x:2").await;
    assert!(second.session.ended.is_cancelled());
    second
        .sessions
        .ended_elsewhere(&second.shared, second.key());
    assert_eq!(second.sessions.len(), 0);
}

#[tokio::test]
async fn a_copy_of_a_session_that_ended_is_removed_again() {
    let stored = Arc::<StoredSessions>::default();
    let first = Replica::first(&stored).await;
    let second = first.other(2, &stored).await;
    let key = first.key();
    let copy = stored.sessions.lock().get(&key).cloned().unwrap();
    first.sessions.end(&first.session).await;
    second.sessions.ended_elsewhere(&second.shared, key);
    stored.sessions.lock().insert(key, copy);
    for replica in [&first, &second] {
        let copied = replica.shared.load(key).await.unwrap().ok().unwrap();
        assert!(replica.shared.has_ended(key), "it is not continued");
        assert!(!replica.shared.ended.lock().contains(&key));
        replica
            .sessions
            .noticed(&replica.shared, key, 9, copied.head);
        assert!(
            replica.shared.ended.lock().contains(&key),
            "it is removed again"
        );
    }
    // After some time, another replica or a later start does not continue the session.
    let mut late = second.shared.load(key).await.unwrap().ok().unwrap();
    assert!(!second.shared.is_too_old(&late.head));
    late.head.last_used -= Duration::from_secs(121);
    assert!(second.shared.is_too_old(&late.head));
}

#[test]
fn sessions_of_other_replicas_count() {
    let stored = Arc::default();
    let replica = Replica::new(1, &stored, None);
    let head = |key: SessionKey| {
        let owner = super::super::store::SessionOwner::of(&replica.session.caller);
        let run = String::new();
        let shared_part = key.to_string();
        Head {
            owner,
            last_used: SystemTime::now(),
            has_stream: false,
            run,
            shared_part,
            bytes: 9,
        }
    };
    for n in 0..9 {
        let key = SessionKey::of(&n.to_string());
        replica.sessions.noticed(&replica.shared, key, 1, head(key));
    }
    assert_eq!(replica.sessions.len(), 10);
    let (_, reader) = catalog::catalog(TeamName::default_team(), 100);
    let subscriptions =
        Subscriptions::new(catalog::watch([&reader]), replica.session.caller.clone());
    replica
        .sessions
        .open(client(subscriptions), replica.session.caller.clone())
        .unwrap();
    assert_eq!(
        (replica.sessions.len(), replica.shared.ended.lock().len()),
        (10, 1),
        "one was evicted"
    );
    replica.sessions.retain_listed(|_| false);
    assert!(replica.sessions.len() <= 2);
}
