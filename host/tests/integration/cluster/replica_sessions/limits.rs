//! The limits of sessions include the sessions of all replicas.

use super::replicas::Replicas;
use super::server::WAIT;
use crate::support::harness::eventually_within;

#[tokio::test]
async fn the_limit_includes_sessions_of_other_replicas() {
    let Some(replicas) = Replicas::start(2, "[server]\nsessions = 3\n").await else {
        return;
    };
    let oldest = replicas.session(0).await;
    let with_stream = replicas.session(0).await;
    let mut stream = replicas.listen(0, &with_stream, None).await;
    stream.priming_event().await;
    let third = replicas.session(1).await;
    let more = replicas.session(1).await;
    for replica in [0, 1] {
        let is_evicted = async || replicas.read(replica, &oldest, "a").await == 404;
        eventually_within(WAIT, "the session that was idle longest ended", is_evicted).await;
        for session in [&with_stream, &third, &more] {
            assert_eq!(
                replicas.read(replica, session, "a").await,
                200,
                "replica {replica}"
            );
        }
    }
}

#[tokio::test]
async fn a_session_is_kept_while_it_is_used_at_any_replica() {
    let idle = "[server]\nsession_idle_timeout = '12s'\n";
    let Some(replicas) = Replicas::start(2, idle).await else {
        return;
    };
    let (used, unused) = (replicas.session(0).await, replicas.session(0).await);
    let streaming = replicas.session(0).await;
    let mut stream = replicas.listen(0, &streaming, None).await;
    stream.priming_event().await;
    let began = std::time::Instant::now();
    let is_expired = async || {
        assert_eq!(
            replicas.read(1, &used, "a").await,
            200,
            "after {:?}",
            began.elapsed()
        );
        // The wait is longer than the timeout. There is only one request, because each request counts as a use.
        began.elapsed().as_secs() > 30
    };
    eventually_within(WAIT, "some time passes", is_expired).await;
    assert_eq!(replicas.read(0, &used, "a").await, 200);
    assert_eq!(replicas.read(1, &streaming, "a").await, 200);
    assert_eq!(replicas.read(1, &unused, "a").await, 404);
}
