//! Detects that the content of a watched URI changed, and notifies the watchers.
//!
//! A change is found by comparing versions, by reading again, after events in granted folders, and after a new catalog.
//! A URI without a watcher costs nothing. If a server has several replicas, one replica makes the periodic checks of a
//! URI. When it reports a change, the other replicas check the URI too.

mod checks;
mod folders;
mod known_content;
mod watch_table;

use std::collections::HashSet;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinError, JoinHandle};
use tokio::time::{Interval, MissedTickBehavior};

use self::checks::{CheckResult, check_batch};
use self::folders::{FolderHint, GrantedFolderMonitor};
use self::watch_table::{Batch, CheckMethod, WatchTable};
use crate::catalog::{Notifier, Reader, WatchEvents};
use crate::replicas::{ReplicaEvent, TeamReplicas};
use larder_model::name::ProviderName;
use larder_model::uri::Uri;
use larder_provider::{Signal, SignalSender};
use larder_runtime::drain::Drain;
use larder_runtime::health::Health;

/// Capacity of the channels for results and hints.
const CHANNEL_CAPACITY: usize = 1_024;
/// Polling interval for folders without file events, unless `read_interval` is set.
const FOLDER_POLL_INTERVAL: Duration = Duration::from_secs(10);

/// Interval between checks of the URIs that other replicas poll. These checks find a change whose report did not
/// arrive.
const COMPARISON_INTERVAL: Duration = Duration::from_secs(5 * 60);

/// The intervals of the periodic checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Between two version checks.
    pub version_interval: Duration,
    /// Interval between two reads of resources without versions. `None` disables these reads.
    pub read_interval: Option<Duration>,
}

/// Detects content changes on behalf of the watchers.
pub struct ChangeDetector {
    config: Config,
    reader: Reader,
    notifier: Notifier,
    signals: SignalSender,
    replicas: Arc<dyn TeamReplicas>,
    health: Health,
    drain: Drain,
    table: WatchTable,
    known_count: watch::Sender<usize>,
}

/// Running batches of checks.
type RunningBatches = FuturesUnordered<BoxFuture<'static, FinishedBatch>>;

/// A batch of checks that ended.
struct FinishedBatch {
    provider: Option<ProviderName>,
    uris: Vec<Uri>,
    duration: Duration,
}

impl ChangeDetector {
    /// Creates a detector. It does nothing before [`Self::run`]. `signals` receives hints that a provider's list may
    /// have changed. `replicas` is the connection to the same team on other replicas. Only the detector receives its
    /// events.
    pub fn new(
        config: Config,
        reader: Reader,
        notifier: Notifier,
        signals: SignalSender,
        replicas: Arc<dyn TeamReplicas>,
        drain: Drain,
    ) -> Self {
        Self {
            config,
            reader,
            notifier,
            signals,
            replicas,
            health: Health::default(),
            drain,
            table: WatchTable::default(),
            known_count: watch::Sender::default(),
        }
    }

    /// Reports folders that cannot be watched to `health`.
    pub fn with_health(mut self, health: Health) -> Self {
        self.health = health;
        self
    }

    /// Returns the number of watched URIs whose content, or absence of content, is known. A later change of these URIs
    /// is detected.
    pub fn known_count(&self) -> watch::Receiver<usize> {
        self.known_count.subscribe()
    }

    /// Runs until shutdown.
    pub async fn run(mut self) {
        let drain = self.drain.clone();
        let replicas = self.replicas.clone();
        let (mut hints, mut folder_monitor) = self.spawn_folder_monitor();
        let (results, mut received_results) = mpsc::channel(CHANNEL_CAPACITY);
        let mut running_batches = RunningBatches::new();
        let mut published = self.reader.published();
        let mut version_timer = every(self.config.version_interval);
        let mut read_timer = self.config.read_interval.map(every);
        let mut comparison_timer = every(varied(COMPARISON_INTERVAL));
        loop {
            tokio::select! {
                // `biased`, so that results are handled before the end of the batch that sent them.
                biased;
                () = drain.stopping() => return,
                Some(result) = received_results.recv() => self.handle_result(result),
                Some(FinishedBatch { provider, uris, duration }) = running_batches.next() => {
                    self.table.finish_batch(provider.as_ref(), &uris, duration, Instant::now());
                }
                Err(error) = &mut folder_monitor => propagate_panic(error),
                events = self.notifier.next_events() => self.handle_events(events),
                Some(hint) = hints.recv() => self.table.hint(&hint.provider, hint.since),
                Ok(()) = published.changed() => self.table.update_owners(&self.reader.snapshot()),
                () = until(self.table.next_retry()) => self.table.retry(Instant::now()),
                _ = version_timer.tick() => self.mark_due(CheckMethod::Version),
                _ = tick(&mut read_timer) => self.mark_due(CheckMethod::Read),
                () = until(self.table.next_comparison()) => self.table.continue_comparison(Instant::now()),
                _ = comparison_timer.tick() => self.compare_polled_elsewhere(),
                event = replicas.next() => self.handle_replica_event(event),
            }
            self.start_batches(&running_batches, &results);
            if received_results.is_empty() {
                self.share_offers();
            }
        }
    }

    fn spawn_folder_monitor(&self) -> (mpsc::Receiver<FolderHint>, JoinHandle<Option<()>>) {
        let (hints, hinted) = mpsc::channel(CHANNEL_CAPACITY);
        let monitor = GrantedFolderMonitor {
            reader: self.reader.clone(),
            check_interval: self.config.version_interval,
            poll_interval: self.config.read_interval.unwrap_or(FOLDER_POLL_INTERVAL),
            hints,
            signals: self.signals.clone(),
            health: self.health.clone(),
            drain: self.drain.clone(),
        };
        (hinted, self.drain.spawn(monitor.run()))
    }

    fn handle_events(&mut self, events: WatchEvents) {
        let catalog = self.reader.snapshot();
        events
            .added
            .iter()
            .for_each(|watched| self.table.add(watched.clone(), &catalog));
        for (watched, last) in events.resumed {
            if self.table.resume(&watched, last) {
                self.notifier.updated(&watched);
            }
        }
        for known in events
            .added
            .iter()
            .filter(|watched| self.table.is_known(watched))
        {
            self.notifier.settle(known);
        }
        events
            .provider_updates
            .iter()
            .for_each(|watched| self.table.provider_updated(watched, true));
    }

    /// A report of another replica is a hint, and is never published again.
    fn handle_replica_event(&mut self, event: ReplicaEvent) {
        match event {
            ReplicaEvent::Updated { uri, state } => {
                self.notifier.changed_elsewhere(&uri);
                self.table.reported(&uri, state);
            }
            ReplicaEvent::Signalled { uri } => {
                self.notifier.updated(&uri);
                self.table.provider_updated(&uri, false);
            }
            ReplicaEvent::ListChanged { provider } => {
                self.signals.send(&provider, Signal::ListChangedElsewhere);
            }
            ReplicaEvent::CompareAll => self.compare_all(),
        }
    }

    /// Compares everything, also lists, because changes may have been missed.
    fn compare_all(&mut self) {
        tracing::debug!(
            "changes at other replicas may have been missed: comparing everything that is watched"
        );
        self.notifier.anything_may_have_changed();
        for offer in self.reader.snapshot().offers() {
            self.signals
                .send(offer.name(), Signal::ListChangedElsewhere);
        }
        self.table.compare_all(Instant::now());
    }

    fn compare_polled_elsewhere(&mut self) {
        let methods = [CheckMethod::Version, CheckMethod::Read];
        let polled = if self.config.read_interval.is_some() {
            &methods[..]
        } else {
            &methods[..1]
        };
        self.table
            .compare_polled_elsewhere(polled, &*self.replicas, Instant::now());
    }

    /// Reports to the other replicas which URIs this replica can poll.
    fn share_offers(&mut self) {
        if let Some((begins, ceases)) = self.table.take_offers() {
            self.replicas.watch(&begins, &ceases);
        }
    }

    fn mark_due(&mut self, method: CheckMethod) {
        let watched: HashSet<_> = self.notifier.watched().into_iter().collect();
        self.table.retain(&watched);
        self.table.mark_due(method, &*self.replicas, Instant::now());
    }

    fn handle_result(&mut self, CheckResult { check, answer }: CheckResult) {
        if answer.is_first_knowledge() && !self.table.is_known(&check.uri) {
            let announced = self.notifier.settle(&check.uri);
            self.table.settle(&check.uri, announced);
        }
        let notify = self.table.record_answer(&check, answer);
        self.notifier
            .checked(&check.uri, self.table.state(&check.uri), notify);
        if let Some(state) = self.table.news(&check.uri, &*self.replicas) {
            self.replicas.publish(ReplicaEvent::Updated {
                uri: check.uri,
                state,
            });
        }
        let known = self.table.known_count();
        self.known_count
            .send_if_modified(|count| std::mem::replace(count, known) != known);
    }

    /// Starts the due batches. Each provider has at most one, in a task of its own, so that a slow provider
    /// delays only itself.
    fn start_batches(
        &mut self,
        running_batches: &RunningBatches,
        results: &mpsc::Sender<CheckResult>,
    ) {
        for Batch { provider, checks } in self.table.take_batches() {
            let name = provider.as_ref().map(|provider| provider.name().clone());
            let catalog = self.reader.snapshot();
            let results = results.clone();
            let drain = self.drain.clone();
            let uris = checks.iter().map(|check| check.uri.clone()).collect();
            let began = Instant::now();
            let task = self.drain.spawn(async move {
                tokio::select! {
                    () = drain.stopping() => {}
                    () = check_batch(provider, &catalog, checks, &results) => {}
                }
            });
            running_batches.push(Box::pin(async move {
                // A batch that ended early leaves checks unanswered; they are retried later.
                let _ = task.await;
                FinishedBatch {
                    provider: name,
                    uris,
                    duration: began.elapsed(),
                }
            }));
        }
    }
}

/// Ends the change detector when the folder monitor panicked: without it, changes would be missed silently.
fn propagate_panic(error: JoinError) {
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

/// Returns a random time between three quarters and five quarters of `time`, so that not all replicas do the same at
/// once.
fn varied(time: Duration) -> Duration {
    time.mul_f64(
        0.75 + f64::from(getrandom::u32().unwrap_or(u32::MAX / 2)) / f64::from(u32::MAX) / 2.0,
    )
}

async fn tick(interval: &mut Option<Interval>) {
    match interval {
        Some(interval) => _ = interval.tick().await,
        None => std::future::pending().await,
    }
}
