//! Closed-loop load: each connection sends the next request when it has received a response, and checks every
//! body.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use memchr::memmem;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::LocalSet;

/// A request that is sent repeatedly, and the expected part of its response.
#[derive(Debug, Clone)]
pub(crate) struct RequestSpec {
    pub(crate) address: SocketAddr,
    /// The HTTP head and body.
    pub(crate) bytes: Vec<u8>,
    /// The bytes that every response body must contain.
    pub(crate) expected: Vec<u8>,
}

/// The JSON-RPC ID in a request specification. Each connection replaces it with an ID of its own, because the
/// connections of a session count as one client.
pub(crate) const FIRST_ID: usize = 100;

impl RequestSpec {
    /// The request with the ID of this connection. All IDs have three digits.
    fn for_connection(&self, connection: usize) -> Self {
        let id = |number: usize| format!("\"id\":{number}");
        let (old, new) = (id(FIRST_ID), id(FIRST_ID + connection % (1000 - FIRST_ID)));
        let mut request = self.clone();
        if let Some(at) = memmem::find(&request.bytes, old.as_bytes()) {
            request.bytes[at..at + new.len()].copy_from_slice(new.as_bytes());
        }
        request
    }
}

/// Delay before a refused connection is tried again.
const RECONNECT_DELAY: Duration = Duration::from_millis(5);

/// The result of one measurement window.
#[derive(Debug, Clone)]
pub(crate) struct Window {
    pub(crate) responses: u64,
    pub(crate) wall: Duration,
    /// CPU time of the server.
    pub(crate) cpu: Duration,
    /// The latencies in microseconds, sorted.
    pub(crate) latencies: Vec<u32>,
}

impl Window {
    pub(crate) fn per_second(&self) -> f64 {
        self.responses as f64 / self.wall.as_secs_f64()
    }

    pub(crate) fn per_cpu_second(&self) -> f64 {
        self.responses as f64 / self.cpu.as_secs_f64().max(1e-6)
    }

    /// The latency at this quantile, in microseconds.
    pub(crate) fn latency(&self, quantile: f64) -> f64 {
        let last = self.latencies.len().saturating_sub(1);
        self.latencies
            .get((last as f64 * quantile) as usize)
            .copied()
            .unwrap_or_default()
            .into()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Warmup,
    Measured,
    Done,
}

/// Duration of the warm-up and of the measurement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    pub(crate) warmup: Duration,
    pub(crate) measured: Duration,
}

/// Sends requests over this many connections. `cpu` returns the CPU time that the server has used so far.
pub(crate) fn window(
    request: &RequestSpec,
    connections: usize,
    times: Times,
    cpu: impl Fn() -> Result<Duration>,
) -> Result<Window> {
    paced(request, connections, times, Duration::ZERO, cpu)
}

/// Like [`window`], with a pause between a response and the next request of the same connection.
pub(crate) fn paced(
    request: &RequestSpec,
    connections: usize,
    times: Times,
    pause: Duration,
    cpu: impl Fn() -> Result<Duration>,
) -> Result<Window> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let phase = Rc::new(Cell::new(Phase::Warmup));
    let latencies = Rc::new(RefCell::new(Vec::with_capacity(1 << 20)));
    LocalSet::new().block_on(&runtime, async {
        let tasks: Vec<_> = (0..connections)
            .map(|n| {
                let (request, phase, latencies) =
                    (request.for_connection(n), phase.clone(), latencies.clone());
                let offset = pause * n as u32 / connections as u32;
                tokio::task::spawn_local(async move {
                    tokio::time::sleep(offset).await;
                    run_connection(&request, &phase, &latencies, pause).await
                })
            })
            .collect();
        tokio::time::sleep(times.warmup).await;
        let (start, used) = (Instant::now(), cpu()?);
        phase.set(Phase::Measured);
        tokio::time::sleep(times.measured).await;
        phase.set(Phase::Done);
        let (wall, cpu) = (start.elapsed(), cpu()?.saturating_sub(used));
        for task in tasks {
            task.await??;
        }
        let mut latencies = latencies.take();
        latencies.sort_unstable();
        ensure!(
            !latencies.is_empty(),
            "no response was received within {:?}",
            times.measured
        );
        Ok(Window {
            responses: latencies.len() as u64,
            wall,
            cpu,
            latencies,
        })
    })
}

async fn run_connection(
    request: &RequestSpec,
    phase: &Cell<Phase>,
    latencies: &RefCell<Vec<u32>>,
    pause: Duration,
) -> Result<()> {
    let mut connection = Connection::open(request.address).await?;
    let finder = memmem::Finder::new(&request.expected);
    let mut position = 0;
    loop {
        let start = Instant::now();
        let response = connection.send(&request.bytes).await;
        // If the server limits connections, the connections of the previous window may not be closed yet.
        if phase.get() == Phase::Warmup && !matches!(response, Ok((status, _)) if status != 503) {
            tokio::time::sleep(RECONNECT_DELAY).await;
            connection = Connection::open(request.address).await?;
            continue;
        }
        let (status, body) = response?;
        match phase.get() {
            Phase::Done => return Ok(()),
            Phase::Measured => {
                latencies
                    .borrow_mut()
                    .push(u32::try_from(start.elapsed().as_micros()).unwrap_or(u32::MAX));
            }
            Phase::Warmup => {}
        }
        ensure!(
            status == 200,
            "status {status}: {}",
            String::from_utf8_lossy(body)
        );
        // The expected bytes are usually at the same position as in the previous response.
        if body.get(position..position + request.expected.len()) != Some(&request.expected[..]) {
            position = finder.find(body).with_context(|| {
                format!(
                    "unexpected response: {}",
                    String::from_utf8_lossy(&body[..body.len().min(500)])
                )
            })?;
        }
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
    }
}

/// Sends one request. Returns the status, head and body of the response.
pub(crate) fn once(address: SocketAddr, bytes: &[u8]) -> Result<(u16, String, Vec<u8>)> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let mut connection = Connection::open(address).await?;
        let (status, body) = connection.send(bytes).await?;
        let body = body.to_vec();
        Ok((
            status,
            String::from_utf8_lossy(&connection.buffer[..connection.head]).into_owned(),
            body,
        ))
    })
}

pub(crate) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
    head: usize,
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address)
            .await
            .with_context(|| format!("cannot connect to {address}"))?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            buffer: Vec::with_capacity(1 << 16),
            head: 0,
        })
    }

    /// Sends a request. Returns the status and body of the response.
    pub(crate) async fn send(&mut self, request: &[u8]) -> Result<(u16, &[u8])> {
        self.stream.write_all(request).await?;
        self.receive().await
    }

    /// Reads a response with a content length. Streamed and chunked responses are not measured here.
    async fn receive(&mut self) -> Result<(u16, &[u8])> {
        self.buffer.clear();
        let (status, length) = loop {
            ensure!(
                self.stream.read_buf(&mut self.buffer).await? > 0,
                "the server closed the connection"
            );
            if let Some(end) = memmem::find(&self.buffer, b"\r\n\r\n") {
                self.head = end + 4;
                break read_head(&self.buffer[..self.head])?;
            }
        };
        let end = self.head + length;
        self.buffer.reserve(end.saturating_sub(self.buffer.len()));
        while self.buffer.len() < end {
            ensure!(
                self.stream.read_buf(&mut self.buffer).await? > 0,
                "the server closed the connection"
            );
        }
        ensure!(self.buffer.len() == end, "received more than one response");
        Ok((status, &self.buffer[self.head..end]))
    }
}

fn read_head(head: &[u8]) -> Result<(u16, usize)> {
    let status = head
        .get(9..12)
        .and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
    let name = b"content-length: ";
    let Some(at) = memmem::find(head, name) else {
        bail!(
            "response without a content length: {}",
            String::from_utf8_lossy(head)
        );
    };
    let digits = head[at + name.len()..]
        .iter()
        .take_while(|byte| byte.is_ascii_digit());
    let length = digits.fold(0, |length, digit| length * 10 + usize::from(digit - b'0'));
    Ok((status.context("response without a status")?, length))
}
