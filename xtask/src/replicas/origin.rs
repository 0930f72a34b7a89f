//! The web server whose pages the replicas serve. It counts which replica requested the version of a page, and how
//! often.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use anyhow::{Context as _, Result};

/// The number of pages.
pub(super) const PAGES: usize = 12;
/// How many seconds a page may be cached. A disconnected replica serves an old page at most for this time.
const MAX_AGE: u32 = 5;

pub(super) struct Origin {
    address: SocketAddr,
    pages: Arc<Mutex<Pages>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Pages {
    versions: [u64; PAGES],
    /// The requests for versions of pages: when, which page, and which replica.
    polls: Vec<(Instant, usize, String)>,
    reads: usize,
}

impl Origin {
    pub(super) fn start() -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let (pages, stop) = (
            Arc::<Mutex<Pages>>::default(),
            Arc::new(AtomicBool::new(false)),
        );
        let thread = {
            let (pages, stop) = (pages.clone(), stop.clone());
            thread::spawn(move || {
                for stream in listener.incoming().map_while(Result::ok) {
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                    let pages = pages.clone();
                    // An error means that the replica ended.
                    thread::spawn(move || respond(stream, &pages));
                }
            })
        };
        Ok(Self {
            address,
            pages,
            stop,
            thread: Some(thread),
        })
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Changes all pages.
    pub(super) fn change_all(&self) {
        self.lock()
            .versions
            .iter_mut()
            .for_each(|version| *version += 1);
    }

    pub(super) fn version(&self, page: usize) -> u64 {
        self.lock().versions[page]
    }

    /// How often each replica requested the version of each page since then.
    pub(super) fn polls(&self, since: Instant) -> BTreeMap<usize, BTreeMap<String, usize>> {
        let mut polls = BTreeMap::<_, BTreeMap<_, _>>::new();
        for (at, page, replica) in &self.lock().polls {
            if *at >= since {
                *polls
                    .entry(*page)
                    .or_default()
                    .entry(replica.clone())
                    .or_default() += 1;
            }
        }
        polls
    }

    /// The replica that polls each page. None if a page was not polled often enough since then, or by more than one
    /// replica.
    pub(super) fn pollers(
        &self,
        since: Instant,
        often_enough: usize,
    ) -> Option<BTreeMap<usize, String>> {
        let polls = self.polls(since);
        let one = polls.into_iter().map(|(page, replicas)| {
            let enough = replicas.values().sum::<usize>() >= often_enough;
            let replicas: BTreeSet<_> = replicas.into_keys().collect();
            (enough && replicas.len() == 1).then(|| (page, replicas.into_iter().collect()))
        });
        let pollers: BTreeMap<_, _> = one.collect::<Option<_>>()?;
        (pollers.len() == PAGES).then_some(pollers)
    }

    /// The number of polls and the number of reads.
    pub(super) fn counts(&self) -> (usize, usize) {
        let pages = self.lock();
        (pages.polls.len(), pages.reads)
    }

    fn lock(&self) -> MutexGuard<'_, Pages> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn respond(mut stream: TcpStream, pages: &Mutex<Pages>) -> Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let request = lines.next().context("no request")??;
    let headers: Vec<_> = lines
        .map_while(Result::ok)
        .take_while(|line| !line.is_empty())
        .collect();
    let replica = headers.iter().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("x-replica")
            .then(|| value.trim().to_owned())
    });
    let mut words = request.split(' ');
    let is_poll = words.next() == Some("HEAD");
    let page: usize = words
        .next()
        .and_then(|path| path.strip_prefix('/'))
        .context("no path")?
        .parse()?;
    let version = {
        let mut pages = pages.lock().unwrap_or_else(PoisonError::into_inner);
        if is_poll {
            let poll = (Instant::now(), page, replica.unwrap_or_default());
            pages.polls.push(poll);
        } else {
            pages.reads += 1;
        }
        *pages.versions.get(page).context("no such page")?
    };
    let body = format!("page {page} version {version}");
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\netag: \"{page}-{version}\"\r\n\
         cache-control: max-age={MAX_AGE}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    Ok(write!(
        stream,
        "{head}{}",
        if is_poll { "" } else { &body }
    )?)
}

impl Drop for Origin {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // The connection wakes the thread. If it fails, the thread has already ended.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
