//! A client of the legacy era. When its stream ends, the client opens the stream again with `Last-Event-ID`, and does not
//! subscribe again. It also does not read after that, so only a notification can report an update. If its session is
//! unknown, because its replica is gone, it opens another session, subscribes, and reads.

use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

use super::listener::{Follower, Listener, Surroundings};
use super::origin::PAGES;
use super::requests::{page, uri};
use crate::mcp_client::{Client, Event, Events};

/// How long it may be impossible to open a stream.
const OPEN_TIMEOUT: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(200);

/// How often the clients continued.
#[derive(Default)]
pub(super) struct Continuations {
    /// Streams that were opened again in the same session.
    pub(super) streams: AtomicUsize,
    /// Sessions that were opened because the previous one was unknown.
    pub(super) sessions: AtomicUsize,
}

struct Session {
    url: String,
    token: String,
    id: String,
    last_event: Option<String>,
    stream: Arc<Mutex<Option<TcpStream>>>,
    requests: Arc<super::requests::Requests>,
    continued: Arc<Continuations>,
}

/// Opens a session, subscribes to all pages, and listens.
pub(super) fn listen(
    name: &str,
    url: &str,
    token: &str,
    surroundings: &Surroundings,
    continued: &Arc<Continuations>,
) -> Listener {
    let stream = Arc::<Mutex<Option<TcpStream>>>::default();
    let mut session = Session {
        url: url.to_owned(),
        token: token.to_owned(),
        id: String::new(),
        last_event: None,
        stream: stream.clone(),
        requests: surroundings.requests.clone(),
        continued: continued.clone(),
    };
    let end = move || {
        if let Some(stream) = stream.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // This fails only if the connection has already ended.
            let _ = stream.shutdown(Shutdown::Both);
        }
    };
    Listener::thread(
        name,
        surroundings,
        move |follower| session.run(follower),
        end,
    )
}

impl Session {
    fn run(&mut self, follower: &Follower) -> Result<()> {
        let mut events = self.begin(follower)?;
        loop {
            let mut pause = PAUSE;
            // A broken connection has the same effect as the end of a stream.
            while let Ok(Some(event)) = events.next() {
                pause = event.retry.unwrap_or(pause);
                self.take(event, follower);
            }
            thread::sleep(pause);
            events = match self.stream()? {
                Some(events) => {
                    self.continued.streams.fetch_add(1, Ordering::Relaxed);
                    events
                }
                None => {
                    self.continued.sessions.fetch_add(1, Ordering::Relaxed);
                    self.begin(follower)?
                }
            };
            // The code that ends this client either used this stream, or had already stopped all requests.
            if self.requests.is_stopped() {
                return Ok(());
            }
        }
    }

    /// Opens a session, and subscribes in it. Tries again if the replica of the new session is stopped meanwhile.
    fn begin(&mut self, follower: &Follower) -> Result<Events> {
        let began = Instant::now();
        loop {
            match self.try_begin() {
                Ok(events) => {
                    follower.began();
                    return Ok(events);
                }
                Err(error) => ensure!(
                    began.elapsed() < OPEN_TIMEOUT && !self.requests.is_stopped(),
                    "no session can be opened: {error:#}"
                ),
            }
            thread::sleep(PAUSE);
        }
    }

    fn try_begin(&mut self) -> Result<Events> {
        self.last_event = None;
        self.open()?;
        let events = self.stream()?.context("the new session is unknown")?;
        for page in 0..PAGES {
            let result = self.post("resources/subscribe", json!({ "uri": uri(page) }))?;
            ensure!(result["result"].is_object(), "subscribe: {result}");
        }
        Ok(events)
    }

    fn take(&mut self, event: Event, follower: &Follower) {
        self.last_event = event.id.or(self.last_event.take());
        let message: Option<Value> = serde_json::from_str(&event.data).ok();
        let is_update = |message: &Value| message["method"] == "notifications/resources/updated";
        if let Some(page) = message
            .filter(is_update)
            .and_then(|message| page(message["params"]["uri"].as_str()?))
        {
            follower.updated(page);
        }
    }

    fn open(&mut self) -> Result<()> {
        let params = json!({
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" },
        });
        let response = self.connect()?.legacy(None, "initialize", params)?;
        self.id = response
            .session
            .with_context(|| format!("no session: {}", response.body))?;
        Ok(())
    }

    /// Opens the stream of the session. Tries again as long as a later attempt may succeed. `None` if the session is
    /// unknown.
    fn stream(&self) -> Result<Option<Events>> {
        let began = Instant::now();
        loop {
            let opened = self
                .connect()
                .and_then(|client| client.session_stream(&self.id, self.last_event.as_deref()));
            match opened {
                Ok(Ok(events)) => {
                    *self.stream.lock().unwrap_or_else(PoisonError::into_inner) =
                        Some(events.connection()?);
                    return Ok(Some(events));
                }
                Ok(Err(404)) => return Ok(None),
                Ok(Err(status)) if status < 500 => {
                    bail!("the stream of the session is refused with {status}")
                }
                other => ensure!(
                    began.elapsed() < OPEN_TIMEOUT && !self.requests.is_stopped(),
                    "the stream of the session cannot be opened: {:?}",
                    other.map(|refused| refused.err())
                ),
            }
            thread::sleep(PAUSE);
        }
    }

    /// Sends a message on a separate connection. The proxy must send it to the replica of the session.
    fn post(&self, method: &str, params: Value) -> Result<Value> {
        let response = self.connect()?.legacy(Some(&self.id), method, params)?;
        ensure!(
            (200..300).contains(&response.status),
            "{method}: {} {}",
            response.status,
            response.body
        );
        Ok(response.body)
    }

    fn connect(&self) -> Result<Client> {
        Ok(Client::connect(&self.url)?.with_token(&self.token))
    }
}
