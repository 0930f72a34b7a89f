//! HTTP connections: an endpoint without providers receives the bytes of a client through a socket.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use larder_core::gateway::{self, Gateway, PageSize};
use larder_model::name::{Digest, Teams};
use larder_model::resource::Caller;
use larder_runtime::connection_slots::{ConnectionSlots, Source};
use larder_runtime::drain::Drain;
use larder_runtime::listener::ClientAddress;
use larder_runtime::memory_budget::MemoryBudget;
use larder_runtime::metrics::Metrics;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::runtime::{Builder, Runtime};

use crate::auth::{self, Authenticator, Token};
use crate::http::connection::{ConnectionState, serve};
use crate::{Config, Endpoint, EndpointParts, RequestLogMode};

/// How long a connection may take to end after the client has sent everything. The clock advances only while both sides
/// wait, so a busy machine changes nothing.
const TIMEOUT: Duration = Duration::from_secs(3);
/// Maximum number of bytes of an input. So many bytes fit into the buffer of a socket.
const MAX_INPUT: usize = 60_000;
/// The token that the protected endpoint accepts.
const TOKEN: &str = "ldr_token";

thread_local! {
    static SERVERS: (Runtime, [Endpoint; 2]) = {
        let runtime = Builder::new_current_thread().enable_all().start_paused(true).build().expect("a runtime");
        let endpoints = runtime.block_on(async { [endpoint(vec![]), endpoint(vec![token()])] });
        (runtime, endpoints)
    };
}

/// Sends bytes to an endpoint without credentials, and to an endpoint that requires a token. Each endpoint answers with
/// complete responses and closes the connection.
pub fn http_head(data: &[u8]) {
    let data = &data[..data.len().min(MAX_INPUT)];
    SERVERS.with(|(runtime, endpoints)| {
        for endpoint in endpoints {
            let response = runtime.block_on(respond(endpoint.clone(), data));
            check(&response, data);
        }
    });
}

async fn respond(endpoint: Endpoint, data: &[u8]) -> Vec<u8> {
    let (mut client, server) = UnixStream::pair().expect("a socket");
    let slot = ConnectionSlots::new(1, Default::default())
        .take(Source::UNIX_SOCKET)
        .expect("a slot");
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
    let connection = ConnectionState::new(ClientAddress::Tcp(address), slot);
    let exchange = async {
        let mut response = Vec::new();
        // The server may close the connection before it has read everything.
        let _ = client.write_all(data).await;
        let _ = client.shutdown().await;
        let _ = client.read_to_end(&mut response).await;
        response
    };
    let both = async { tokio::join!(exchange, serve(server, connection, endpoint)).0 };
    tokio::time::timeout(TIMEOUT, both)
        .await
        .expect("the connection ends")
}

/// Checks that the bytes are complete responses.
fn check(mut bytes: &[u8], data: &[u8]) {
    let mut count = 0;
    let may_have_head_request = data.windows(4).any(|window| window == b"HEAD");
    while !bytes.is_empty() {
        let end = find_head_end(bytes).unwrap_or_else(|| panic!("an incomplete head: {bytes:?}"));
        let head = std::str::from_utf8(&bytes[..end]).expect("a head is text");
        let status: u16 = head["HTTP/1.1 ".len()..][..3].parse().expect("a status");
        let has_version = head.starts_with("HTTP/1.1 ") || head.starts_with("HTTP/1.0 ");
        assert!(
            has_version && (100..600).contains(&status) && status != 500,
            "{head}"
        );
        let rest = &bytes[end..];
        // The response to a HEAD request has a length, but no body.
        let is_bodiless =
            may_have_head_request && (rest.is_empty() || rest.starts_with(b"HTTP/1."));
        let body = if is_bodiless {
            &[][..]
        } else {
            &rest[..content_length(head)]
        };
        if head.contains("application/json") && !body.is_empty() {
            serde_json::from_slice::<Value>(body).expect("a JSON body");
        }
        bytes = &bytes[end + body.len()..];
        count += 1;
    }
    assert!(
        count <= data.len() / 16 + 1,
        "{count} responses to {} bytes",
        data.len()
    );
}

fn find_head_end(bytes: &[u8]) -> Option<usize> {
    bytes
        .windows(4)
        .position(|window| window == b"\r\n\r\n")
        .map(|at| at + 4)
}

fn content_length(head: &str) -> usize {
    let lengths = head
        .lines()
        .filter_map(|line| line.strip_prefix("content-length: "));
    let mut lengths = lengths.map(|length| length.parse().expect("a length"));
    let length = lengths.next().unwrap_or_default();
    assert!(lengths.next().is_none(), "two lengths: {head}");
    length
}

fn caller() -> Caller {
    Caller {
        subject: None,
        issuer: None,
        teams: Teams::default_team(),
        scopes: vec![],
    }
}

fn token() -> Token {
    Token {
        digest: Digest::of(TOKEN.as_bytes()),
        caller: caller(),
        expires: None,
    }
}

fn endpoint(tokens: Vec<Token>) -> Endpoint {
    let drain = Drain::new();
    let auth = auth::Config {
        tokens,
        oauth: None,
    };
    let authenticator = Authenticator::new(auth.clone(), caller(), drain.clone());
    let cache = gateway::CacheConfig {
        bytes: 0,
        entries: 0,
    };
    let page_size = PageSize {
        resources: 10,
        templates: 10,
    };
    let gateway = Gateway::new(
        gateway::Config {
            page_size,
            instructions: None,
            cache,
            private: false,
            shared_teams: vec![],
            search_timeout: std::time::Duration::from_secs(1),
        },
        [],
        MemoryBudget::unlimited(),
    );
    let metrics = Metrics::default();
    Endpoint::new(
        config(auth),
        EndpointParts::new(authenticator, gateway, drain, metrics),
    )
}

fn config(auth: auth::Config) -> Config {
    Config {
        listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into(),
        hosts: vec![],
        origins: vec!["https://app.example.com".into()],
        body_limit: 1 << 16,
        sessions: 4,
        session_idle_timeout: Duration::from_secs(60),
        streams: 8,
        connections: 64,
        waiting_bytes: 1 << 20,
        keep_alive: Duration::from_secs(15),
        stall_timeout: Duration::from_secs(30),
        shutdown_grace: Duration::from_secs(1),
        request_log: RequestLogMode::Off,
        trusted_proxies: Default::default(),
        auth,
        caller: caller(),
        title: None,
        extensions: [].into(),
    }
}
