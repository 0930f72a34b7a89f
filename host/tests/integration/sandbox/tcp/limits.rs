//! The limits: connections of a provider and of a team, bytes of a call, time, and the lifetime of a connection.

use std::sync::Arc;
use std::time::{Duration, Instant};

use larder_model::name::Teams;
use larder_model::policy::{GuestLifetime, Quota};
use larder_model::resource::{Body, Call, Caller};
use larder_runtime::metrics::ConnectOutcome;
use tokio::net::{TcpSocket, TcpStream};

use super::server::TcpServer;
use super::{attempt, granted, metrics_of, rule, with_grant};
use crate::support::harness::{TestServer, eventually, parse_uri};

const MIB: u64 = 1 << 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_of_a_provider_are_limited() {
    let peer = TcpServer::silent();
    let server = with_grant(|grant| {
        grant.tcp = vec![rule("127.0.0.1", peer.port, true)];
        grant.limits.connections = 2;
    });
    let server = server.start().await;
    for _ in 0..2 {
        let lines = attempt(&server, "many/4", "127.0.0.1", peer.port).await;
        let lines: Vec<_> = lines.lines().collect();
        assert_eq!(
            (lines.len(), &lines[..2]),
            (4, ["connected"; 2].as_slice()),
            "{lines:?}"
        );
        assert!(
            lines[2..].iter().all(|line| line.starts_with("refused: ")),
            "{lines:?}"
        );
    }
    assert_eq!(
        metrics_of(&server, |metrics| metrics.connections(ConnectOutcome::Busy)),
        4
    );
    // The connections end with the guest.
    eventually("the connections are closed", async || peer.open() == 0).await;
    assert_eq!(
        metrics_of(&server, |metrics| metrics.open_connections.get()),
        0
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_of_a_team_are_limited() {
    let peer = TcpServer::silent();
    let team = async |name: &str| {
        let plan = with_grant(|grant| {
            grant.tcp = vec![rule("127.0.0.1", peer.port, true)];
            grant.limits.timeout = Duration::from_secs(60);
        });
        plan.team(name)
            .quota(Quota {
                connections: 2,
                ..Quota::default()
            })
            .start()
            .await
    };
    let (alpha, beta) = (team("alpha").await, team("beta").await);
    let read = async |server: &TestServer, team: &str, what: &str| {
        let teams = Teams::from(larder_model::name::TeamName::parse(team).unwrap());
        let caller = Caller {
            subject: None,
            issuer: None,
            teams,
            scopes: vec![],
        };
        let uri = parse_uri(&format!("tcp://{what}/127.0.0.1%3A{}", peer.port));
        let call = Arc::new(Call::from_caller(caller));
        text_of(server.gateway.read(&call, &uri, None).await)
    };
    let attempts = async {
        eventually("the first team holds a connection", async || {
            peer.open() == 1
        })
        .await;
        (
            read(&alpha, "alpha", "many/2").await,
            read(&beta, "beta", "many/3").await,
        )
    };
    let (own, other) = tokio::select! {
        held = read(&alpha, "alpha", "hold/60000") => panic!("it ended early: {held}"),
        attempts = attempts => attempts,
    };
    let connected = |lines: &str| lines.lines().filter(|line| *line == "connected").count();
    assert_eq!(
        (connected(&own), connected(&other)),
        (1, 2),
        "{own}\n{other}"
    );
}

fn text_of(
    result: Result<larder_model::resource::ReadResult, larder_core::gateway::Error>,
) -> String {
    match result {
        Ok(result) => match &result.contents[0].body {
            Body::Text(text) => text.clone(),
            Body::Blob(_) => unreachable!("the guest returns text only"),
        },
        Err(error) => format!("error: {error}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_bytes_of_a_call_are_limited() {
    let (endless, silent) = (TcpServer::endless(), TcpServer::silent());
    let server = with_grant(|grant| {
        grant.tcp = vec![
            rule("127.0.0.1", endless.port, true),
            rule("127.0.0.1", silent.port, true),
        ];
        grant.limits.tcp_bytes = MIB;
    });
    let server = server.start().await;
    // Each call has the whole limit.
    for _ in 0..2 {
        assert_eq!(
            attempt(&server, "receive", "127.0.0.1", endless.port).await,
            format!("{MIB} refused")
        );
        assert_eq!(
            attempt(&server, "send", "127.0.0.1", silent.port).await,
            format!("{MIB} refused")
        );
    }
    assert_eq!(
        metrics_of(&server, |metrics| metrics.tcp_received.get()),
        2 * MIB
    );
    assert_eq!(
        metrics_of(&server, |metrics| metrics.tcp_sent.get()),
        2 * MIB
    );
    eventually("the connections are closed", async || {
        endless.open() + silent.open() == 0
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_guest_does_not_read_stays_with_the_sender() {
    let endless = TcpServer::endless();
    let server = granted(vec![rule("127.0.0.1", endless.port, true)])
        .start()
        .await;
    let held = attempt(&server, "hold/2000", "127.0.0.1", endless.port).await;
    assert_eq!(held, "ok: \"held\"");
    // The system buffers the rest.
    assert!(endless.sent() < 16 * MIB, "{}", endless.sent());
    assert_eq!(metrics_of(&server, |metrics| metrics.tcp_received.get()), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_deadline_ends_a_call_that_waits_for_a_peer() {
    let silent = TcpServer::silent();
    let server = with_grant(|grant| {
        grant.tcp = vec![rule("127.0.0.1", silent.port, true)];
        grant.limits.timeout = Duration::from_secs(2);
    });
    let server = server.start().await;
    let began = Instant::now();
    for what in ["ask", "receive"] {
        let text = attempt(&server, what, "127.0.0.1", silent.port).await;
        assert!(text.contains("did not respond within 2s"), "{text}");
    }
    assert!(began.elapsed() < Duration::from_secs(30));
    eventually("the connections are closed", async || silent.open() == 0).await;
    assert_eq!(silent.accepted(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connecting_ends_in_time() {
    // A listener that accepts no connections and has no room for waiting connections: the system ignores further ones.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(0).unwrap();
    let address = listener.local_addr().unwrap();
    let mut waiting = Vec::new();
    while let Ok(connected) =
        tokio::time::timeout(Duration::from_secs(1), TcpStream::connect(address)).await
    {
        waiting.push(connected.unwrap());
    }
    let server = with_grant(|grant| {
        grant.tcp = vec![rule("127.0.0.1", address.port(), true)];
        grant.limits.timeout = Duration::from_secs(60);
    });
    let server = server.start().await;
    let began = Instant::now();
    let text = attempt(&server, "ask", "127.0.0.1", address.port()).await;
    assert!(
        text.starts_with("refused: ") && text.contains("timed out"),
        "{text}"
    );
    assert!(
        (4..40).contains(&began.elapsed().as_secs()),
        "{:?}",
        began.elapsed()
    );
    // The guest may wait for a shorter time.
    let text = attempt(&server, "within/100", "127.0.0.1", address.port()).await;
    assert!(text.starts_with("refused: "), "{text}");
    assert_eq!(
        metrics_of(&server, |metrics| metrics
            .connections(ConnectOutcome::Timeout)),
        2
    );
    assert_eq!(
        metrics_of(&server, |metrics| metrics.open_connections.get()),
        0
    );
}

fn call_by(subject: &str) -> Arc<Call> {
    let teams = Teams::default_team();
    Arc::new(Call::from_caller(Caller {
        subject: Some(subject.into()),
        issuer: None,
        teams,
        scopes: vec![],
    }))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_lives_as_long_as_its_guest() {
    let peer = TcpServer::answering();
    let plan = with_grant(|grant| {
        grant.tcp = vec![rule("127.0.0.1", peer.port, true)];
        grant.guests = GuestLifetime::Reused;
        grant.limits.connections = 1;
    });
    let mut server = plan.start().await;
    let uri = parse_uri(&format!("tcp://kept/127.0.0.1%3A{}", peer.port));
    let ask = async |call: &Arc<Call>| text_of(server.gateway.read(call, &uri, None).await);
    let (ann, bob) = (call_by("ann"), call_by("bob"));
    for number in 1..=3 {
        assert_eq!(ask(&ann).await, format!("ok: \"hello {number}\""));
    }
    assert_eq!((peer.accepted(), peer.open()), (1, 1));
    // The connection of the idle guest is closed, because another connection is needed.
    assert_eq!(ask(&bob).await, "ok: \"hello 1\"");
    eventually("the idle connection is closed", async || peer.open() == 1).await;
    assert_eq!(peer.accepted(), 2);
    // The guests end with their provider.
    std::fs::remove_file(server.plugins.join("tcp.wasm")).unwrap();
    let provider_is_gone = async |server: &mut TestServer| {
        server.reconciler().run_pass().await;
        server.reader.snapshot().offers().is_empty()
    };
    let began = Instant::now();
    while !provider_is_gone(&mut server).await {
        assert!(began.elapsed() < Duration::from_secs(60));
    }
    eventually("its connections are closed", async || peer.open() == 0).await;
}
