//! TCP connections of guests: only to granted hosts, and within the limits.

mod commands;
mod limits;
mod server;

use larder_model::policy::{Grant, TcpRule};
use larder_runtime::metrics::{ConnectOutcome, ProviderMetrics};

use self::server::TcpServer;
use crate::support::harness::{TestServer, TestServerBuilder};

fn rule(host: &str, port: u16, private: bool) -> TcpRule {
    TcpRule {
        host: host.into(),
        port,
        private,
    }
}

/// A server whose provider `tcp` may connect to these hosts.
fn granted(rules: Vec<TcpRule>) -> TestServerBuilder {
    with_grant(|grant| grant.tcp = rules)
}

fn with_grant(change: impl FnOnce(&mut Grant)) -> TestServerBuilder {
    TestServer::builder("tcp").provider("tcp", |grant, _| change(grant))
}

/// Reads `tcp://WHAT/HOST:PORT`.
async fn attempt(server: &TestServer, what: &str, host: &str, port: u16) -> String {
    let host = host
        .replace(':', "%3A")
        .replace('[', "%5B")
        .replace(']', "%5D");
    server.text(&format!("tcp://{what}/{host}%3A{port}")).await
}

/// The metrics of the only provider. They exist as long as the provider.
fn metrics_of<T>(server: &TestServer, read: impl FnOnce(&ProviderMetrics) -> T) -> T {
    read(server.reader.snapshot().offers()[0].provider.metrics())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn granted_hosts_are_reachable_by_address_and_by_name() {
    let peer = TcpServer::answering();
    let by_address = granted(vec![rule("127.0.0.1", peer.port, true)])
        .start()
        .await;
    let by_name = granted(vec![rule("localhost", peer.port, true)])
        .start()
        .await;
    assert_eq!(
        attempt(&by_address, "ask", "127.0.0.1", peer.port).await,
        "ok: \"hello 1\""
    );
    assert_eq!(
        attempt(&by_name, "ask", "localhost", peer.port).await,
        "ok: \"hello 1\""
    );
    assert_eq!(
        attempt(&by_name, "ask", "LOCALHOST.", peer.port).await,
        "ok: \"hello 1\""
    );
    assert_eq!(peer.accepted(), 3);
    assert!(metrics_of(&by_name, |metrics| metrics.connections(ConnectOutcome::Ok)) == 2);
    assert_eq!(metrics_of(&by_name, |metrics| metrics.tcp_sent.get()), 12);
    assert_eq!(
        metrics_of(&by_name, |metrics| metrics.tcp_received.get()),
        16
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_else_is_reachable() {
    let (peer, other) = (TcpServer::answering(), TcpServer::answering());
    let nothing = granted(vec![]).start().await;
    let by_address = granted(vec![rule("127.0.0.1", peer.port, true)])
        .start()
        .await;
    let by_name = granted(vec![rule("localhost", peer.port, true)])
        .start()
        .await;
    let elsewhere = granted(vec![
        rule("db.example.com", peer.port, true),
        rule("*.0.0.1", peer.port, true),
    ]);
    let elsewhere = elsewhere.start().await;
    for (server, host, port) in [
        (&nothing, "127.0.0.1", peer.port),
        (&nothing, "localhost", peer.port),
        // Another port, another address, a name for the same address, and an address of a granted name without a
        // lookup.
        (&by_address, "127.0.0.1", other.port),
        (&by_address, "127.0.0.2", peer.port),
        (&by_address, "[::1]", peer.port),
        (&by_address, "localhost", peer.port),
        (&by_name, "127.0.0.1", peer.port),
        (&by_name, "localhost", other.port),
        (&elsewhere, "127.0.0.1", peer.port),
    ] {
        let text = attempt(server, "ask", host, port).await;
        assert!(text.starts_with("refused: "), "{host}:{port}: {text}");
    }
    for server in [&nothing, &by_address, &by_name] {
        for what in ["listen", "udp"] {
            for (host, port) in [("127.0.0.1", peer.port), ("127.0.0.1", 0), ("0.0.0.0", 0)] {
                let text = attempt(server, what, host, port).await;
                assert!(
                    text.starts_with("refused: "),
                    "{what} {host}:{port}: {text}"
                );
            }
        }
    }
    assert_eq!((peer.accepted(), other.accepted()), (0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_granted_names_are_looked_up() {
    let by_name = granted(vec![rule("localhost", 1, true)]).start().await;
    let found = by_name.text("tcp://resolve/localhost").await;
    assert!(
        found.starts_with("ok: ") && found.contains("127.0.0.1"),
        "{found}"
    );
    for name in ["example.com", "localhost.example.com", "127.0.0.1"] {
        let text = by_name.text(&format!("tcp://resolve/{name}")).await;
        assert!(
            !text.starts_with("ok: ") || name == "127.0.0.1",
            "{name}: {text}"
        );
    }
    assert!(
        metrics_of(&by_name, |metrics| metrics
            .connections(ConnectOutcome::Denied))
            >= 2
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_private_address_needs_the_permission() {
    let peer = TcpServer::answering();
    let rules = vec![
        rule("localhost", peer.port, false),
        rule("127.0.0.1", peer.port, false),
    ];
    let server = granted(rules).start().await;
    for host in ["localhost", "127.0.0.1"] {
        let text = attempt(&server, "ask", host, peer.port).await;
        assert!(text.starts_with("refused: "), "{host}: {text}");
    }
    assert_eq!(peer.accepted(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_guest_connects_to_the_addresses_that_the_host_found() {
    let peer = TcpServer::answering();
    let server = granted(vec![rule("localhost", peer.port, true)])
        .start()
        .await;
    // The address was found for the name, so the guest may use it.
    let after = |port| format!("tcp://after/localhost/127.0.0.1%3A{port}");
    assert_eq!(server.text(&after(peer.port)).await, "ok: \"hello 1\"");
    assert!(server.text(&after(1)).await.starts_with("refused: "));
    // Another guest has not looked up the address.
    assert!(
        attempt(&server, "ask", "127.0.0.1", peer.port)
            .await
            .starts_with("refused: ")
    );
}
