use super::*;
use crate::client_side::LegacyClientSide;
use crate::era::LegacyVersion;
use larder_model::name::Teams;

pub(super) fn client() -> Client<()> {
    client_with(())
}

/// A client with these subscriptions.
pub(super) fn client_with<W>(subscriptions: W) -> Client<W> {
    Client {
        version: LegacyVersion::negotiate("2025-11-25"),
        subscriptions: Arc::new(subscriptions),
        storage: None,
        log: Arc::default(),
        description: Arc::default(),
        side: Arc::new(LegacyClientSide::new(None)),
    }
}

fn caller(subject: &str) -> Caller {
    Caller {
        subject: Some(subject.into()),
        issuer: None,
        teams: Teams::default_team(),
        scopes: vec![],
    }
}

/// Sessions in memory.
pub(super) fn parts(max_sessions: usize, idle_timeout: Duration) -> SessionsParts {
    SessionsParts {
        max_sessions,
        idle_timeout,
        memory: MemoryBudget::unlimited(),
        storage: None,
        replica: None,
    }
}

fn open(sessions: &Sessions<()>) -> Result<Arc<Session<()>>, RpcError> {
    sessions.open(client(), caller("ann"))
}

fn status(found: Result<Arc<Session<()>>, RpcError>) -> u16 {
    found.map_or_else(|rpc_error| rpc_error.status.as_u16(), |_| 200)
}

#[tokio::test]
async fn a_session_belongs_to_its_caller_until_it_ends() {
    let sessions = Sessions::new(parts(10, Duration::from_secs(60)));
    let session = open(&sessions).unwrap();
    assert!(session.id.len() == 48 && session.id.bytes().all(|byte| byte.is_ascii_graphic()));
    assert_eq!(
        status(sessions.find(Some(&session.id), &caller("ann"))),
        200
    );
    assert_eq!(
        status(sessions.find(Some(&session.id), &caller("bob"))),
        404
    );
    let other_issuer = Caller {
        issuer: Some("https://id.example".into()),
        ..caller("ann")
    };
    assert_eq!(
        status(sessions.find(Some(&session.id), &other_issuer)),
        404,
        "another issuer's ann"
    );
    let other_token = Caller {
        scopes: vec!["more".into()],
        ..caller("ann")
    };
    assert_eq!(
        status(sessions.find(Some(&session.id), &other_token)),
        200,
        "the same caller with another token"
    );
    assert_eq!(status(sessions.find(Some("guess"), &caller("ann"))), 404);
    assert_eq!(status(sessions.find(None, &caller("ann"))), 400);
    let stream = session.begin_stream();
    sessions.end(&session).await;
    assert!(stream.is_cancelled());
    assert_eq!(
        status(sessions.find(Some(&session.id), &caller("ann"))),
        404
    );
}

#[test]
fn a_session_id_begins_with_the_name_of_its_replica() {
    let replica = |name: &str| {
        Sessions::new(SessionsParts {
            replica: Some(ReplicaName::parse(name).unwrap()),
            ..parts(10, Duration::from_secs(60))
        })
    };
    let session = open(&replica("a-1")).unwrap();
    let (name, random) = session.id.split_once('.').unwrap();
    assert_eq!((name, random.len()), ("a-1", 48));
    assert_eq!(
        status(replica("b").find(Some(&session.id), &caller("ann"))),
        404
    );
}

#[test]
fn an_idle_session_ends_unless_it_has_a_stream() {
    let idle = Duration::from_secs(60);
    let sessions = Sessions::new(parts(10, idle));
    let unused = open(&sessions).unwrap();
    let streaming = open(&sessions).unwrap();
    let stream = streaming.begin_stream();
    for session in [&unused, &streaming] {
        session.usage().last_used = Instant::now().checked_sub(idle).unwrap();
    }
    sessions.sweep();
    assert_eq!(status(sessions.find(Some(&unused.id), &caller("ann"))), 404);
    assert_eq!(
        status(sessions.find(Some(&streaming.id), &caller("ann"))),
        200
    );
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
    let sessions = Sessions::new(parts(2, Duration::from_secs(60)));
    let first = open(&sessions).unwrap();
    let second = open(&sessions).unwrap();
    first.usage().last_used = Instant::now() + Duration::from_secs(1);
    let third = open(&sessions).unwrap();
    let found = |session: &Session<()>| status(sessions.find(Some(&session.id), &caller("ann")));
    assert_eq!(
        [found(&first), found(&second), found(&third)],
        [200, 404, 200]
    );
    let _streams = (first.begin_stream(), third.begin_stream());
    assert_eq!(
        status(open(&sessions)),
        503,
        "sessions with open streams are not evicted"
    );
}

#[test]
fn a_new_stream_replaces_the_old_one() {
    let sessions = Sessions::new(parts(1, Duration::from_secs(60)));
    let session = open(&sessions).unwrap();
    let old = session.begin_stream();
    let new = session.begin_stream();
    assert!(old.is_cancelled() && !new.is_cancelled());
    session.end_stream(&old);
    assert!(
        !new.is_cancelled() && session.is_in_use(),
        "the end of the old stream does not end the new one"
    );
}
