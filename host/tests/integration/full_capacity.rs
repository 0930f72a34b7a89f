//! A full house: connections that ask nothing, listeners and providers, as many as the configuration lets in. What the
//! server needs for them follows from the configuration, and does not grow by their being asked again. `LARDER_IDLE=10000`
//! makes it ten thousand connections, and a tenth of that of each of the others.

use std::io;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use futures_util::stream;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::crowd::{Listener, connections};
use crate::process::{Place, Running};
use crate::wire::meta;

/// Where nothing is said.
const IDLE: u64 = 300;
/// Who ask all the time.
const READERS: usize = 8;
/// Guests at the same time.
const GUESTS: u64 = 16;
/// Bytes of answers that are kept.
const KEPT: u64 = 1 << 20;
/// Connections beyond those that may be.
const TOO_MANY: usize = 100;
const BOUND: Duration = Duration::from_secs(300);

const NOTHING: &[u8] = b"GET /elsewhere HTTP/1.1\r\nhost: localhost\r\n\r\n";

/// A connection that is kept.
struct Connection {
    address: String,
    stream: TcpStream,
}

impl Connection {
    async fn open(address: &str) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        Self { address: address.to_owned(), stream }
    }

    /// The status, and what came with it.
    async fn ask(&mut self, request: &[u8]) -> io::Result<(u16, String)> {
        self.stream.write_all(request).await?;
        let (mut answer, mut part) = (Vec::new(), [0; 4 << 10]);
        loop {
            let read = self.stream.read(&mut part).await?;
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            answer.extend(&part[..read]);
            let text = String::from_utf8_lossy(&answer);
            let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if length.is_none_or(|length| body.len() >= length.parse::<usize>().unwrap()) {
                return Ok((head[9..12].parse().unwrap(), body.to_owned()));
            }
        }
    }

    /// Shows that it is there. One that was silent for too long was closed, and is opened again.
    async fn stays(mut self) -> Self {
        let began = Instant::now();
        while self.ask(NOTHING).await.map(|answer| answer.0).ok() != Some(404) {
            assert!(began.elapsed() < BOUND, "there is no place for one that may be");
            tokio::time::sleep(Duration::from_millis(10)).await;
            self = Self::open(&self.address).await;
        }
        self
    }
}

fn read(uri: &str) -> Vec<u8> {
    let params = json!({ "uri": uri, "_meta": meta() });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": params }).to_string();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\naccept: */*\r\n\
         mcp-protocol-version: 2026-07-28\r\nmcp-method: resources/read\r\nmcp-name: {uri}\r\n\
         content-length: {}\r\n\r\n",
        body.len()
    );
    (head + &body).into_bytes()
}

fn name(provider: u64) -> String {
    format!("p{provider:04}")
}

/// A folder in which one component is many providers.
fn place(idle: u64, some: u64) -> Place {
    let connections = idle + some + READERS as u64;
    let mut config = format!(
        "[server]\nstreams = {some}\nconnections = {connections}\nguests = {GUESTS}\n[cache]\nbytes = \"1MiB\"\n"
    );
    for provider in (0..some).map(name) {
        config += &format!("[provider.{provider}.settings]\nauthority = \"{provider}\"\n");
    }
    let place = Place::of(&format!("{}@sized", name(0))).file("larder.toml", &config);
    let first = place.path(&format!("plugins/{}.wasm", name(0)));
    for provider in (1..some).map(name) {
        std::fs::hard_link(&first, place.path(&format!("plugins/{provider}.wasm"))).unwrap();
    }
    place
}

/// Everybody shows that he is there, and every provider is asked.
async fn wave(idle: Vec<Connection>, readers: Vec<Connection>, some: u64) -> [Vec<Connection>; 2] {
    let idle = stream::iter(idle).map(Connection::stays).buffer_unordered(64).collect().await;
    let readers = stream::iter(readers.into_iter().enumerate()).map(|(first, reader)| async move {
        let mut reader = reader.stays().await;
        for provider in (first as u64..some).step_by(READERS).map(name) {
            reads(&mut reader, &provider).await;
        }
        reader
    });
    [idle, readers.buffer_unordered(READERS).collect().await]
}

async fn reads(reader: &mut Connection, provider: &str) {
    let question = read(&format!("sized://{provider}/text/1024"));
    let began = Instant::now();
    loop {
        let (status, body) = reader.ask(&question).await.unwrap();
        if status == 200 && body.contains("\"contents\"") {
            return;
        }
        // It is served when it is loaded.
        assert!(began.elapsed() < BOUND, "{provider}: {status} {body}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// As many as there may be are there.
async fn are_refused(address: &str) {
    for _ in 0..TOO_MANY {
        let refused = Connection::open(address).await.ask(NOTHING).await.unwrap();
        assert_eq!(refused.0, 503, "{}", refused.1);
    }
}

fn told(server: &Running, what: &str) -> Option<u64> {
    let bytes = server.anonymous();
    println!("{what}: {:?} KiB", bytes.map(|bytes| bytes >> 10));
    bytes
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_house_has_its_memory_and_a_second_wave_takes_no_more() {
    let idle = connections("LARDER_IDLE", IDLE, 0.9);
    let some = idle / 10;
    let place = place(idle, some);
    let (server, url) = place.serve("");
    let address = url.strip_prefix("http://").unwrap().split('/').next().unwrap();
    let open = async |count: usize| {
        let open = (0..count).map(|_| Connection::open(address));
        stream::iter(open).buffer_unordered(64).collect::<Vec<_>>().await
    };
    // All are loaded before anything is measured, and the guests have their slots.
    let [_, readers] = wave(vec![], open(READERS).await, some).await;
    let empty = told(&server, "providers only");
    let watched = format!("sized://{}/text/1024", name(0));
    let listeners = stream::iter((0..some).map(|_| Listener::begin(address, &watched)));
    let listeners: Vec<_> = listeners.buffer_unordered(64).collect().await;
    let idle_ones = open(idle as usize).await;

    let [idle_ones, readers] = wave(idle_ones, readers, some).await;
    are_refused(address).await;
    let first = told(&server, "a full house");
    let [idle_ones, readers] = wave(idle_ones, readers, some).await;
    are_refused(address).await;
    let second = told(&server, "after a second wave");
    assert_eq!((idle_ones.len() as u64, readers.len(), listeners.len() as u64), (idle, READERS, some));

    let (Some(empty), Some(first), Some(second)) = (empty, first, second) else { return };
    // Guests and kept answers may be others each time.
    let changing = KEPT + GUESTS * (256 << 10);
    let whole = changing + idle * (32 << 10) + some * (64 << 10);
    let grown = first.saturating_sub(empty);
    println!(
        "{idle} idle connections, {some} listeners and providers: {} bytes for each connection",
        grown / (idle + some)
    );
    assert!(grown < whole, "{empty} -> {first} is more than {whole}");
    assert!(second < first + changing, "{first} -> {second} is more than {changing}");
}
