//! The requests of all clients, and the requests that failed.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::origin::{Origin, PAGES};
use crate::mcp_client::Client;

/// How long a notified client may still read an older page, because another replica may have that page in its cache.
const STALE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);
/// The time between two requests of a reader. The readers find lost requests, and leave the processor to the replicas.
const READ_INTERVAL: Duration = Duration::from_millis(10);

/// The URI of a page.
pub(super) fn uri(page: usize) -> String {
    format!("page://all/{page}")
}

/// The page of a URI.
pub(super) fn page(uri: &str) -> Option<usize> {
    uri.strip_prefix("page://all/")?
        .parse()
        .ok()
        .filter(|page| *page < PAGES)
}

pub(super) struct Requests {
    /// The endpoint behind the proxy.
    pub(super) url: String,
    token: String,
    answered: AtomicU64,
    failures: Mutex<Vec<Failure>>,
    /// The times at which a replica was killed: from before the signal until after the end of the process.
    kills: Mutex<Vec<(Instant, Instant)>>,
    /// How often a read after a notification returned an older page, and the longest time until a read returned the new
    /// page.
    stale: Mutex<(usize, Duration)>,
    stop: AtomicBool,
}

struct Failure {
    began: Instant,
    ended: Instant,
    error: String,
}

impl Requests {
    pub(super) fn new(url: &str, token: &str) -> Self {
        Self {
            url: url.to_owned(),
            token: token.to_owned(),
            answered: AtomicU64::new(0),
            failures: Mutex::default(),
            kills: Mutex::default(),
            stale: Mutex::default(),
            stop: AtomicBool::new(false),
        }
    }

    /// Reads and lists all the time, on one connection, until the end of the test.
    pub(super) fn repeat(&self, origin: &Origin, offset: usize) {
        let mut client = None;
        for number in offset.. {
            if self.stop.load(Ordering::Relaxed) {
                return;
            }
            let page = number % PAGES;
            let before = origin.version(page);
            let sent = match number % 10 {
                0 => self.send(&mut client, "resources/templates/list", json!({})),
                1 => self.send(&mut client, "server/discover", json!({})),
                _ => self.send(&mut client, "resources/read", json!({ "uri": uri(page) })),
            };
            // No page may be newer than its origin. A page may be old for as long as it may be cached.
            if let Some(read) = sent.ok().and_then(|result| version(&result))
                && read > before.max(origin.version(page))
            {
                let now = Instant::now();
                self.fail(
                    now,
                    format!("page {page} has version {read}, which does not exist"),
                );
            }
            thread::sleep(READ_INTERVAL);
        }
    }

    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Reads a page until it is at least as new as at the time of this call. Returns its version.
    pub(super) fn read_current(&self, origin: &Origin, page: usize) -> Result<u64> {
        let (wanted, began) = (origin.version(page), Instant::now());
        let mut client = None;
        let mut stale = false;
        loop {
            // A client repeats a failed read. At the end it is decided whether the read was allowed to fail.
            let result = self.send(&mut client, "resources/read", json!({ "uri": uri(page) }));
            let read = result
                .ok()
                .map(|result| version(&result).context("the page has no version"))
                .transpose()?;
            if let Some(read) = read.filter(|read| *read >= wanted || began.elapsed() > STALE) {
                let mut all = lock(&self.stale);
                if stale {
                    *all = (all.0 + 1, all.1.max(began.elapsed()));
                }
                return Ok(read);
            }
            stale |= read.is_some();
            ensure!(began.elapsed() <= STALE, "page {page} cannot be read");
            thread::sleep(PAUSE);
        }
    }

    fn send(&self, client: &mut Option<Client>, method: &str, params: Value) -> Result<Value> {
        let began = Instant::now();
        let result = self.try_send(client, method, params);
        match &result {
            Ok(_) => _ = self.answered.fetch_add(1, Ordering::Relaxed),
            Err(error) => {
                *client = None;
                self.fail(began, format!("{method}: {error:#}"));
            }
        }
        result
    }

    fn try_send(&self, client: &mut Option<Client>, method: &str, params: Value) -> Result<Value> {
        let connected = match client.take() {
            Some(connected) => connected,
            None => Client::connect(&self.url)?.with_token(&self.token),
        };
        client.insert(connected).request(method, params)
    }

    fn fail(&self, began: Instant, error: String) {
        let mut failures = lock(&self.failures);
        failures.push(Failure {
            began,
            ended: Instant::now(),
            error,
        });
        drop(failures);
        // Limits the rate of failures.
        thread::sleep(PAUSE);
    }

    /// Runs code that kills a replica. Requests at that time may fail.
    pub(super) fn while_killing(&self, kill: impl FnOnce() -> Result<()>) -> Result<()> {
        let began = Instant::now();
        kill()?;
        lock(&self.kills).push((began, Instant::now()));
        Ok(())
    }

    /// The number of requests that were answered so far, and the number of failed requests that were allowed to fail.
    pub(super) fn check(&self) -> Result<(u64, usize)> {
        let (failures, kills) = (lock(&self.failures), lock(&self.kills));
        let was_in_flight = |failure: &&Failure| {
            kills
                .iter()
                .any(|(began, ended)| failure.began <= *ended && failure.ended >= *began)
        };
        let lost: Vec<_> = failures
            .iter()
            .filter(|failure| !was_in_flight(failure))
            .collect();
        let first: Vec<_> = lost.iter().take(5).map(|failure| &*failure.error).collect();
        ensure!(
            lost.is_empty(),
            "{} requests failed: {first:#?}",
            lost.len()
        );
        Ok((self.answered.load(Ordering::Relaxed), failures.len()))
    }

    /// How many reads after a notification returned an older page, and the longest time until a read returned the new
    /// page.
    pub(super) fn stale(&self) -> (usize, Duration) {
        *lock(&self.stale)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The version in the content of a page.
fn version(result: &Value) -> Option<u64> {
    result["contents"][0]["text"]
        .as_str()?
        .rsplit(' ')
        .next()?
        .parse()
        .ok()
}
