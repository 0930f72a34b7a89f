//! Finds out that a watched URI differs, and tells: from the versions that providers tell, from reading
//! again, from granted folders, and from newer catalogs. Nothing is asked about what nobody watches.

mod ask;
mod folders;
mod held;
mod posts;

use std::collections::HashSet;
use std::panic::resume_unwind;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinError, JoinHandle};
use tokio::time::{Interval, MissedTickBehavior};

use self::ask::{Answered, ask};
use self::folders::Folders;
use self::posts::{Batch, Posts, Way};
use crate::catalog::{Herald, News, Reader};
use crate::drain::Drain;
use crate::name::ProviderName;
use crate::sandbox::Outbox;
use crate::uri::Uri;

/// Answers that may wait to be compared.
const ANSWERS: usize = 1_024;
/// How often a folder is looked at that the system does not watch for us, if nothing else is said.
const POLL: Duration = Duration::from_secs(10);

/// How often the operator wants to have a look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Between two questions for versions.
    pub interval: Duration,
    /// Between two readings of what has no versions; none for no such readings.
    pub reread: Option<Duration>,
}

/// Looks out on behalf of those who watch.
pub struct Lookout {
    config: Config,
    reader: Reader,
    herald: Herald,
    signals: Outbox,
    drain: Drain,
    posts: Posts,
    known: watch::Sender<usize>,
}

/// Questions to one provider that are under way, and how long they took once they are done.
type Running = FuturesUnordered<BoxFuture<'static, Done>>;

/// A batch of questions that is done.
struct Done {
    provider: Option<ProviderName>,
    asked: Vec<Uri>,
    took: Duration,
}

impl Lookout {
    /// Nothing happens before it runs. `signals` is where it says that a provider's list may differ.
    pub fn new(config: Config, reader: Reader, herald: Herald, signals: Outbox, drain: Drain) -> Self {
        let (posts, known) = (Posts::default(), watch::Sender::default());
        Self { config, reader, herald, signals, drain, posts, known }
    }

    /// Of how many watched URIs it knows what they hold, or that they hold nothing: from then on a
    /// change of any of them is told.
    pub fn known(&self) -> watch::Receiver<usize> {
        self.known.subscribe()
    }

    /// Looks until the house stops.
    pub async fn run(mut self) {
        let drain = self.drain.clone();
        let (mut hints, mut folders) = self.look_at_folders();
        let (answers, mut answered) = mpsc::channel(ANSWERS);
        let mut running = Running::new();
        let mut published = self.reader.published();
        let mut versions = every(self.config.interval);
        let mut rereads = self.config.reread.map(every);
        loop {
            tokio::select! {
                // Answers before the end of those who gave them.
                biased;
                () = drain.stopping() => return,
                Some(answer) = answered.recv() => self.take(answer),
                Some(Done { provider, asked, took }) = running.next() => {
                    self.posts.finish(provider.as_ref(), &asked, took, Instant::now());
                }
                Err(error) = &mut folders => break_with(error),
                news = self.herald.news() => self.hear(news),
                Some(provider) = hints.recv() => self.posts.hint(&provider),
                Ok(()) = published.changed() => self.posts.compare(&self.reader.snapshot()),
                () = until(self.posts.next_retry()) => self.posts.retry(Instant::now()),
                _ = versions.tick() => self.tick(Way::Versions),
                _ = tick(&mut rereads) => self.tick(Way::Reading),
            }
            self.dispatch(&running, &answers);
        }
    }

    fn look_at_folders(&self) -> (mpsc::Receiver<ProviderName>, JoinHandle<Option<()>>) {
        let (hints, hinted) = mpsc::channel(ANSWERS);
        let folders = Folders {
            reader: self.reader.clone(),
            look: self.config.interval,
            poll: self.config.reread.unwrap_or(POLL),
            hints,
            signals: self.signals.clone(),
            drain: self.drain.clone(),
        };
        (hinted, self.drain.spawn(folders.run()))
    }

    fn hear(&mut self, news: News) {
        let catalog = self.reader.snapshot();
        news.begun.into_iter().for_each(|watched| self.posts.begin(watched, &catalog));
        news.said.iter().for_each(|watched| self.posts.said(watched));
    }

    fn tick(&mut self, way: Way) {
        let watched: HashSet<_> = self.herald.watched().into_iter().collect();
        self.posts.keep(&watched);
        self.posts.tick(way, Instant::now());
    }

    fn take(&mut self, Answered { job, answer }: Answered) {
        if self.posts.settle(&job, answer) {
            self.herald.updated(&job.uri);
        }
        let known = self.posts.known();
        self.known.send_if_modified(|count| std::mem::replace(count, known) != known);
    }

    /// Each provider is asked by a task of its own, one at a time, so that a slow one delays only itself.
    fn dispatch(&mut self, running: &Running, answers: &mpsc::Sender<Answered>) {
        for Batch { provider, jobs } in self.posts.dispatch() {
            let name = provider.as_ref().map(|provider| provider.name().clone());
            let (catalog, answers, drain) = (self.reader.snapshot(), answers.clone(), self.drain.clone());
            let asked = jobs.iter().map(|job| job.uri.clone()).collect();
            let began = Instant::now();
            let task = self.drain.spawn(async move {
                tokio::select! {
                    () = drain.stopping() => {}
                    () = ask(provider, &catalog, jobs, &answers) => {}
                }
            });
            running.push(Box::pin(async move {
                // Whether it ended or broke off, what got no answer is due again in a while.
                let _ = task.await;
                Done { provider: name, asked, took: began.elapsed() }
            }));
        }
    }
}

/// Without a part of it the lookout would miss what it is there for.
fn break_with(error: JoinError) {
    if let Ok(panic) = error.try_into_panic() {
        resume_unwind(panic);
    }
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}

fn every(period: Duration) -> Interval {
    let mut interval = tokio::time::interval(period);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    interval
}

async fn tick(interval: &mut Option<Interval>) {
    match interval {
        Some(interval) => _ = interval.tick().await,
        None => std::future::pending().await,
    }
}
