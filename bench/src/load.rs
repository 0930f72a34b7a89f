//! Load: connections that each ask again as soon as they are answered, and look at every body.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use memchr::memmem;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::LocalSet;

/// What is asked, and what has to be in the answer.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    pub(crate) to: SocketAddr,
    /// Head and body, as they go out.
    pub(crate) bytes: Vec<u8>,
    /// What every body has to have in it.
    pub(crate) holds: Vec<u8>,
}

/// The id in a question as it is given. Each connection has one of its own, since those of a session may be one client's.
pub(crate) const FIRST_ID: usize = 100;

impl Question {
    /// With the id of one of many connections. All have three digits.
    fn numbered(&self, connection: usize) -> Self {
        let of = |number: usize| format!("\"id\":{number}");
        let (old, new) = (of(FIRST_ID), of(FIRST_ID + connection % (1000 - FIRST_ID)));
        let mut question = self.clone();
        if let Some(at) = memmem::find(&question.bytes, old.as_bytes()) {
            question.bytes[at..at + new.len()].copy_from_slice(new.as_bytes());
        }
        question
    }
}

/// How long whoever was not let in waits before he comes again.
const AGAIN: Duration = Duration::from_millis(5);

/// What one window saw.
#[derive(Debug, Clone)]
pub(crate) struct Window {
    pub(crate) answers: u64,
    pub(crate) wall: Duration,
    /// Of the server.
    pub(crate) cpu: Duration,
    /// Microseconds, in order.
    pub(crate) latencies: Vec<u32>,
}

impl Window {
    pub(crate) fn per_second(&self) -> f64 {
        self.answers as f64 / self.wall.as_secs_f64()
    }

    pub(crate) fn per_cpu_second(&self) -> f64 {
        self.answers as f64 / self.cpu.as_secs_f64().max(1e-6)
    }

    pub(crate) fn at(&self, part: f64) -> f64 {
        let last = self.latencies.len().saturating_sub(1);
        self.latencies.get((last as f64 * part) as usize).copied().unwrap_or_default().into()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Warm,
    Counted,
    Over,
}

/// How long there is load, before it counts and while it does.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    pub(crate) warm: Duration,
    pub(crate) counted: Duration,
}

/// Asks over so many connections. `cpu` tells what the server has used so far.
pub(crate) fn window(
    question: &Question,
    connections: usize,
    times: Times,
    cpu: impl Fn() -> Result<Duration>,
) -> Result<Window> {
    paced(question, connections, times, Duration::ZERO, cpu)
}

/// The same with a pause between an answer and the next question on the same connection.
pub(crate) fn paced(
    question: &Question,
    connections: usize,
    times: Times,
    pause: Duration,
    cpu: impl Fn() -> Result<Duration>,
) -> Result<Window> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let phase = Rc::new(Cell::new(Phase::Warm));
    let latencies = Rc::new(RefCell::new(Vec::with_capacity(1 << 20)));
    LocalSet::new().block_on(&runtime, async {
        let tasks: Vec<_> = (0..connections)
            .map(|n| {
                let (question, phase, latencies) = (question.numbered(n), phase.clone(), latencies.clone());
                let first = pause * n as u32 / connections as u32;
                tokio::task::spawn_local(async move {
                    tokio::time::sleep(first).await;
                    ask_on(&question, &phase, &latencies, pause).await
                })
            })
            .collect();
        tokio::time::sleep(times.warm).await;
        let (began, used) = (Instant::now(), cpu()?);
        phase.set(Phase::Counted);
        tokio::time::sleep(times.counted).await;
        phase.set(Phase::Over);
        let (wall, cpu) = (began.elapsed(), cpu()?.saturating_sub(used));
        for task in tasks {
            task.await??;
        }
        let mut latencies = latencies.take();
        latencies.sort_unstable();
        ensure!(!latencies.is_empty(), "no answer came within {:?}", times.counted);
        Ok(Window { answers: latencies.len() as u64, wall, cpu, latencies })
    })
}

async fn ask_on(
    question: &Question,
    phase: &Cell<Phase>,
    latencies: &RefCell<Vec<u32>>,
    pause: Duration,
) -> Result<()> {
    let mut connection = Connection::open(question.to).await?;
    let finder = memmem::Finder::new(&question.holds);
    let mut place = 0;
    loop {
        let began = Instant::now();
        let answer = connection.ask(&question.bytes).await;
        // Where there is a limit, those before have to be gone.
        if phase.get() == Phase::Warm && !matches!(answer, Ok((status, _)) if status != 503) {
            tokio::time::sleep(AGAIN).await;
            connection = Connection::open(question.to).await?;
            continue;
        }
        let (status, body) = answer?;
        match phase.get() {
            Phase::Over => return Ok(()),
            Phase::Counted => {
                latencies.borrow_mut().push(u32::try_from(began.elapsed().as_micros()).unwrap_or(u32::MAX));
            }
            Phase::Warm => {}
        }
        ensure!(status == 200, "status {status}: {}", String::from_utf8_lossy(body));
        // Where it was the last time, most likely.
        if body.get(place..place + question.holds.len()) != Some(&question.holds[..]) {
            place = finder.find(body).with_context(|| {
                format!("not the answer: {}", String::from_utf8_lossy(&body[..body.len().min(500)]))
            })?;
        }
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
    }
}

/// One question, its whole answer: status, head, body.
pub(crate) fn once(to: SocketAddr, bytes: &[u8]) -> Result<(u16, String, Vec<u8>)> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut connection = Connection::open(to).await?;
        let (status, body) = connection.ask(bytes).await?;
        let body = body.to_vec();
        Ok((status, String::from_utf8_lossy(&connection.buffer[..connection.head]).into_owned(), body))
    })
}

pub(crate) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
    head: usize,
}

impl Connection {
    pub(crate) async fn open(to: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(to).await.with_context(|| format!("cannot connect to {to}"))?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: Vec::with_capacity(1 << 16), head: 0 })
    }

    /// One question, and the status and body of its answer.
    pub(crate) async fn ask(&mut self, question: &[u8]) -> Result<(u16, &[u8])> {
        self.stream.write_all(question).await?;
        self.answer().await
    }

    /// Answers have a length: what streams or comes in chunks is not measured here.
    async fn answer(&mut self) -> Result<(u16, &[u8])> {
        self.buffer.clear();
        let (status, length) = loop {
            ensure!(self.stream.read_buf(&mut self.buffer).await? > 0, "the server closed the connection");
            if let Some(end) = memmem::find(&self.buffer, b"\r\n\r\n") {
                self.head = end + 4;
                break read_head(&self.buffer[..self.head])?;
            }
        };
        let end = self.head + length;
        self.buffer.reserve(end.saturating_sub(self.buffer.len()));
        while self.buffer.len() < end {
            ensure!(self.stream.read_buf(&mut self.buffer).await? > 0, "the server closed the connection");
        }
        ensure!(self.buffer.len() == end, "there is more than one answer");
        Ok((status, &self.buffer[self.head..end]))
    }
}

fn read_head(head: &[u8]) -> Result<(u16, usize)> {
    let status = head.get(9..12).and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
    let name = b"content-length: ";
    let Some(at) = memmem::find(head, name) else {
        bail!("an answer without a length: {}", String::from_utf8_lossy(head));
    };
    let digits = head[at + name.len()..].iter().take_while(|byte| byte.is_ascii_digit());
    let length = digits.fold(0, |length, digit| length * 10 + usize::from(digit - b'0'));
    Ok((status.context("an answer without a status")?, length))
}
