//! The server at full capacity: as many idle connections, listeners and providers as the configuration
//! allows. Their memory follows from the configuration, and does not grow with further requests.
//! `LARDER_IDLE=10000` opens ten thousand idle connections and a thousand listeners and providers.

use std::io;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use futures_util::stream;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::protocol::many_listeners::{Listener, connection_count};
use crate::support::http_server::meta;
use crate::support::process::{RunningProcess, WorkDir};

/// The number of idle connections if `LARDER_IDLE` is not set.
const IDLE: u64 = 300;
/// Connections that send requests.
const READERS: usize = 8;
/// The limit of concurrent guests.
const GUESTS: u64 = 16;
/// The size of the response cache in bytes.
const CACHE_SIZE: u64 = 1 << 20;
/// How many connections are tried beyond the limit.
const EXCESS_CONNECTIONS: usize = 100;
/// How long a connection or a provider may take until it serves.
const TIMEOUT: Duration = Duration::from_secs(300);

/// A request that is answered with 404, because it has no valid session. Other connections would replace a connection
/// without a request to the endpoint.
const NOT_FOUND: &[u8] = b"GET /mcp HTTP/1.1\r\nhost: localhost\r\nmcp-session-id: none\r\n\r\n";

/// A persistent connection.
struct Connection {
    address: String,
    stream: TcpStream,
}

impl Connection {
    async fn open(address: &str) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        Self {
            address: address.to_owned(),
            stream,
        }
    }

    /// Sends a request. Returns the status and the body.
    async fn send(&mut self, request: &[u8]) -> io::Result<(u16, String)> {
        self.stream.write_all(request).await?;
        let (mut answer, mut part) = (Vec::new(), [0; 4 << 10]);
        loop {
            let read = self.stream.read(&mut part).await?;
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            answer.extend(&part[..read]);
            let text = String::from_utf8_lossy(&answer);
            let Some((head, body)) = text.split_once("\r\n\r\n") else {
                continue;
            };
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length: "));
            if length.is_none_or(|length| body.len() >= length.parse::<usize>().unwrap()) {
                return Ok((head[9..12].parse().unwrap(), body.to_owned()));
            }
        }
    }

    /// Checks that the connection is served. The server closes connections that are idle for too long; such a
    /// connection is opened again.
    async fn check_open(mut self) -> Self {
        let began = Instant::now();
        while self.send(NOT_FOUND).await.map(|answer| answer.0).ok() != Some(404) {
            assert!(
                began.elapsed() < TIMEOUT,
                "a connection below the limit is refused"
            );
            tokio::time::sleep(Duration::from_millis(10)).await;
            self = Self::open(&self.address).await;
        }
        self
    }
}

fn read_request(uri: &str) -> Vec<u8> {
    let params = json!({ "uri": uri, "_meta": meta() });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": params })
        .to_string();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\naccept: */*\r\n\
         mcp-protocol-version: 2026-07-28\r\nmcp-method: resources/read\r\nmcp-name: {uri}\r\n\
         content-length: {}\r\n\r\n",
        body.len()
    );
    (head + &body).into_bytes()
}

fn provider_name(provider: u64) -> String {
    format!("p{provider:04}")
}

/// Returns a working directory in which one component file is linked as many providers.
fn prepare(idle: u64, count: u64) -> WorkDir {
    let connections = idle + count + READERS as u64;
    let mut config = format!(
        "[server]\nstreams = {count}\nconnections = {connections}\nguests = {GUESTS}\n[cache]\nbytes = \"1MiB\"\n"
    );
    for provider in (0..count).map(provider_name) {
        config += &format!("[provider.{provider}.settings]\nauthority = \"{provider}\"\n");
    }
    let work_dir =
        WorkDir::with_guests(&format!("{}@sized", provider_name(0))).file("larder.toml", &config);
    let first = work_dir.path(&format!("plugins/{}.wasm", provider_name(0)));
    for provider in (1..count).map(provider_name) {
        std::fs::hard_link(&first, work_dir.path(&format!("plugins/{provider}.wasm"))).unwrap();
    }
    work_dir
}

/// Uses every connection once, and reads from every provider.
async fn use_everything(
    idle: Vec<Connection>,
    readers: Vec<Connection>,
    count: u64,
) -> [Vec<Connection>; 2] {
    let idle = stream::iter(idle)
        .map(Connection::check_open)
        .buffer_unordered(64)
        .collect()
        .await;
    let readers = stream::iter(readers.into_iter().enumerate()).map(|(first, reader)| async move {
        let mut reader = reader.check_open().await;
        for provider in (first as u64..count).step_by(READERS).map(provider_name) {
            read_until_served(&mut reader, &provider).await;
        }
        reader
    });
    [idle, readers.buffer_unordered(READERS).collect().await]
}

/// Reads from a provider until it is loaded and serves the read.
async fn read_until_served(reader: &mut Connection, provider: &str) {
    let request = read_request(&format!("sized://{provider}/text/1024"));
    let began = Instant::now();
    loop {
        let (status, body) = reader.send(&request).await.unwrap();
        if status == 200 && body.contains("\"contents\"") {
            return;
        }
        assert!(began.elapsed() < TIMEOUT, "{provider}: {status} {body}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Checks that all connections are in use, so that further connections are refused.
async fn check_excess_is_refused(address: &str) {
    for _ in 0..EXCESS_CONNECTIONS {
        let refused = Connection::open(address)
            .await
            .send(NOT_FOUND)
            .await
            .unwrap();
        assert_eq!(refused.0, 503, "{}", refused.1);
    }
}

fn anonymous_memory(server: &RunningProcess, label: &str) -> Option<u64> {
    let bytes = server.anonymous_memory();
    println!("{label}: {:?} KiB", bytes.map(|bytes| bytes >> 10));
    bytes
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_at_full_capacity_is_bounded_and_does_not_grow() {
    let idle = connection_count("LARDER_IDLE", IDLE, 0.9);
    let count = idle / 10;
    let work_dir = prepare(idle, count);
    let (server, url) = work_dir.serve("");
    let address = url
        .strip_prefix("http://")
        .unwrap()
        .split('/')
        .next()
        .unwrap();
    let open = async |count: usize| {
        let open = (0..count).map(|_| Connection::open(address));
        stream::iter(open)
            .buffer_unordered(64)
            .collect::<Vec<_>>()
            .await
    };
    // Before the first measurement all providers are loaded and the slots of the guests are allocated.
    let [_, readers] = use_everything(vec![], open(READERS).await, count).await;
    let empty = anonymous_memory(&server, "providers only");
    let watched = format!("sized://{}/text/1024", provider_name(0));
    let listeners = stream::iter((0..count).map(|_| Listener::connect(address, &watched)));
    let listeners: Vec<_> = listeners.buffer_unordered(64).collect().await;
    let idle_connections = open(idle as usize).await;

    let [idle_connections, readers] = use_everything(idle_connections, readers, count).await;
    check_excess_is_refused(address).await;
    let first = anonymous_memory(&server, "full capacity");
    let [idle_connections, readers] = use_everything(idle_connections, readers, count).await;
    check_excess_is_refused(address).await;
    let second = anonymous_memory(&server, "after using everything again");
    assert_eq!(
        (
            idle_connections.len() as u64,
            readers.len(),
            listeners.len() as u64
        ),
        (idle, READERS, count)
    );

    let (Some(empty), Some(first), Some(second)) = (empty, first, second) else {
        return;
    };
    // The guests and the cached responses may differ between the two measurements.
    let variable = CACHE_SIZE + GUESTS * (256 << 10);
    let limit = variable + idle * (32 << 10) + count * (64 << 10);
    let grown = first.saturating_sub(empty);
    println!(
        "{idle} idle connections, {count} listeners and providers: {} bytes for each connection",
        grown / (idle + count)
    );
    assert!(grown < limit, "{empty} -> {first} is more than {limit}");
    assert!(
        second < first + variable,
        "{first} -> {second} is more than {variable}"
    );
}
