//! Clients that listen for updates of all pages, read a page after each update, and store the version that they read.

use std::io::{BufRead as _, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::origin::{Origin, PAGES};
use super::requests::{Requests, page, uri};

/// The parts that all listeners use.
#[derive(Clone)]
pub(super) struct Surroundings {
    pub(super) requests: Arc<Requests>,
    pub(super) origin: Arc<Origin>,
}

/// What a client has received.
#[derive(Default)]
pub(super) struct ListenerState {
    /// How often each page was reported as updated.
    pub(super) updates: [u64; PAGES],
    /// The version that was read last.
    pub(super) versions: [u64; PAGES],
    /// How often the client began to listen.
    pub(super) began: u64,
    /// Why the client does not listen any more; none if it listens.
    pub(super) failed: Option<String>,
}

pub(super) struct Listener {
    pub(super) name: String,
    known: Arc<Mutex<ListenerState>>,
    /// Ends the client.
    end: Option<Box<dyn FnOnce() + Send>>,
    threads: Vec<JoinHandle<()>>,
}

impl Listener {
    /// A program that writes a line of JSON to its stdout for each update, and a line with `watching` to stderr
    /// whenever it begins to listen.
    pub(super) fn program(
        name: &str,
        mut command: Command,
        surroundings: &Surroundings,
    ) -> Result<Self> {
        command
            .args((0..PAGES).map(uri))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().with_context(|| name.to_owned())?;
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let known = Arc::<Mutex<ListenerState>>::default();
        let updates = Follower {
            known: known.clone(),
            surroundings: surroundings.clone(),
        };
        let beginnings = Follower {
            known: known.clone(),
            surroundings: surroundings.clone(),
        };
        let threads = vec![
            thread::spawn(move || {
                each_line(stdout, |line| {
                    let update: Option<Value> = serde_json::from_str(line).ok();
                    if let Some(page) = update.and_then(|update| page(update["uri"].as_str()?)) {
                        updates.updated(page);
                    }
                });
                updates.end("it ended");
            }),
            thread::spawn(move || {
                each_line(stderr, |line| {
                    if line.contains("watching") {
                        beginnings.began();
                    }
                });
            }),
        ];
        let child = Mutex::new(child);
        let end = Box::new(move || end_process(&mut lock(&child)));
        Ok(Self {
            name: name.to_owned(),
            known,
            end: Some(end),
            threads,
        })
    }

    /// A client in a thread of its own, and the handle that ends the client.
    pub(super) fn thread(
        name: &str,
        surroundings: &Surroundings,
        run: impl FnOnce(&Follower) -> Result<()> + Send + 'static,
        end: impl FnOnce() + Send + 'static,
    ) -> Self {
        let known = Arc::<Mutex<ListenerState>>::default();
        let follower = Follower {
            known: known.clone(),
            surroundings: surroundings.clone(),
        };
        let thread = thread::spawn(move || {
            let ended = run(&follower)
                .map_or_else(|error| format!("{error:#}"), |()| "it ended".to_owned());
            follower.end(&ended);
        });
        Self {
            name: name.to_owned(),
            known,
            end: Some(Box::new(end)),
            threads: vec![thread],
        }
    }

    pub(super) fn known(&self) -> MutexGuard<'_, ListenerState> {
        lock(&self.known)
    }

    /// Fails if the client does not listen, or has not received the current version of each page.
    pub(super) fn check(&self, origin: &Origin) -> Result<()> {
        let known = self.known();
        ensure!(known.failed.is_none(), "{}: {:?}", self.name, known.failed);
        for (page, read) in known.versions.iter().enumerate() {
            let version = origin.version(page);
            ensure!(
                *read == version,
                "{} knows version {read} of page {page}, not {version}",
                self.name
            );
        }
        Ok(())
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Some(end) = self.end.take() {
            end();
        }
        for thread in self.threads.drain(..) {
            // A panic of the thread was printed.
            let _ = thread.join();
        }
    }
}

/// Records what a client receives.
pub(super) struct Follower {
    known: Arc<Mutex<ListenerState>>,
    surroundings: Surroundings,
}

impl Follower {
    pub(super) fn updated(&self, page: usize) {
        self.read(page);
        lock(&self.known).updates[page] += 1;
    }

    /// Reads all pages, because changes while the client did not listen were not reported.
    pub(super) fn began(&self) {
        (0..PAGES).for_each(|page| self.read(page));
        lock(&self.known).began += 1;
    }

    fn read(&self, page: usize) {
        let Surroundings { requests, origin } = &self.surroundings;
        match requests.read_current(origin, page) {
            Ok(version) => lock(&self.known).versions[page] = version,
            Err(error) => self.end(&format!("{error:#}")),
        }
    }

    fn end(&self, why: &str) {
        if !self.surroundings.requests.is_stopped() {
            lock(&self.known)
                .failed
                .get_or_insert_with(|| why.to_owned());
        }
    }
}

fn end_process(child: &mut Child) {
    // Both calls fail only if the process has already ended.
    let _ = child.kill();
    let _ = child.wait();
}

fn each_line(pipe: Option<impl Read>, mut take: impl FnMut(&str)) {
    let Some(pipe) = pipe else { return };
    BufReader::new(pipe)
        .lines()
        .map_while(Result::ok)
        .for_each(|line| take(&line));
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
