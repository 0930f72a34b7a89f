//! Monitors the folders that providers may read. An event there is only a hint: it causes new checks of the
//! provider's watched URIs and a refresh of its lists.

mod blocking_jobs;
mod change_set;
mod recursive_watch;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use self::blocking_jobs::BlockingJobs;
use self::change_set::{ChangeSet, ChangedPaths};
use self::recursive_watch::{FolderIdentity, RecursiveWatch};
use crate::catalog::{Catalog, Reader};
use larder_model::name::ProviderName;
use larder_model::policy::Access;
use larder_provider::{Signal, SignalSender};
use larder_runtime::drain::Drain;
use larder_runtime::health::{Health, Impact};

/// Waits this long after the first event, to combine the events of one write.
const DEBOUNCE: Duration = Duration::from_millis(50);
/// Shortest time between two sets of hints, for folders that change all the time.
const MIN_INTERVAL: Duration = Duration::from_millis(250);

pub(super) struct GrantedFolderMonitor {
    pub(super) reader: Reader,
    /// How often to check whether a folder was replaced.
    pub(super) check_interval: Duration,
    /// How often to poll a folder without file events.
    pub(super) poll_interval: Duration,
    pub(super) hints: mpsc::Sender<FolderHint>,
    pub(super) signals: SignalSender,
    pub(super) health: Health,
    pub(super) drain: Drain,
}

/// Something changed in a folder that a provider may read.
pub(super) struct FolderHint {
    pub(super) provider: ProviderName,
    /// When the first of the changes was observed.
    pub(super) since: Instant,
}

/// Granted folders, and the providers that may read them.
type FolderReaders = BTreeMap<PathBuf, BTreeSet<ProviderName>>;

/// The watched folders and the jobs that check them.
struct WatchedFolders {
    readers: FolderReaders,
    watched: BTreeMap<PathBuf, RecursiveWatch>,
    jobs: BlockingJobs<FolderCheck>,
    changes: Arc<ChangeSet>,
}

/// The result of checking a folder.
enum FolderCheck {
    /// The folder is still the one that is watched.
    Unchanged,
    /// The folder does not exist.
    Missing,
    /// Another folder, which is watched from now on.
    Replaced(RecursiveWatch),
}

impl GrantedFolderMonitor {
    /// Runs until shutdown.
    pub(super) async fn run(self) {
        let mut published = self.reader.published();
        let changes = Arc::new(ChangeSet::default());
        let jobs = BlockingJobs::new(self.drain.clone());
        let mut folders = WatchedFolders {
            readers: FolderReaders::new(),
            watched: BTreeMap::new(),
            jobs,
            changes: changes.clone(),
        };
        let mut check_timer = super::every(self.check_interval);
        loop {
            tokio::select! {
                () = self.drain.stopping() => return,
                (path, result, requested_again) = folders.jobs.next_finished() => {
                    folders.apply(&path, result);
                    self.report_unwatched(&folders);
                    if requested_again && folders.readers.contains_key(&path) {
                        folders.check(&path, self.poll_interval);
                    }
                    continue;
                }
                Ok(()) = published.changed() => {}
                _ = check_timer.tick() => {}
                () = changes.wait() => {
                    if !self.report_changes(&mut folders).await {
                        return;
                    }
                }
            }
            folders.readers = self.current_readers(&folders);
            folders.check_all(self.poll_interval);
            self.report_unwatched(&folders);
        }
    }

    /// Sends hints to the providers whose folders changed. Returns whether the server goes on.
    async fn report_changes(&self, folders: &mut WatchedFolders) -> bool {
        if !self.pause(DEBOUNCE).await {
            return false;
        }
        // A provider that was added in the meantime may have answered before the change.
        folders.readers = self.current_readers(folders);
        let taken = folders.changes.take();
        let since = taken.since().unwrap_or_else(Instant::now);
        self.send_hints(folders.affected_providers(&taken), since)
            .await;
        self.pause(MIN_INTERVAL).await
    }

    /// Reports to the operator the folders whose changes are not detected.
    fn report_unwatched(&self, folders: &WatchedFolders) {
        let names = folders.unwatched();
        let team = self.reader.team();
        let part = format!("granted folders of {team}");
        if names.is_empty() {
            return self.health.resolve(&part);
        }
        let names = names.join(", ");
        let message = format!(
            "team {team}: changes in granted folders are not detected, since they are too large: {names}"
        );
        self.health.report(&part, message, Impact::OperatorOnly);
    }

    /// Waits. Returns false on shutdown.
    async fn pause(&self, time: Duration) -> bool {
        tokio::select! {
            () = self.drain.stopping() => false,
            () = tokio::time::sleep(time) => true,
        }
    }

    /// Returns which providers may read which folder now. A provider that is new for a folder counts as affected: the
    /// folder may have changed after the provider's first answer, when the provider was not yet in this table.
    fn current_readers(&self, folders: &WatchedFolders) -> FolderReaders {
        let readers = folder_readers(&self.reader.snapshot());
        for (path, providers) in &readers {
            let before = folders.readers.get(path);
            if before.is_some_and(|before| !providers.is_subset(before)) {
                folders.changes.add(path.clone());
            }
        }
        readers
    }

    async fn send_hints(&self, providers: BTreeSet<ProviderName>, since: Instant) {
        for provider in providers {
            tracing::debug!(%provider, "a granted folder changed");
            self.signals.send(&provider, Signal::ListChanged);
            let _ = self.hints.send(FolderHint { provider, since }).await;
        }
    }
}

impl WatchedFolders {
    /// Returns the providers that may read a folder with changes.
    fn affected_providers(&self, changes: &ChangedPaths) -> BTreeSet<ProviderName> {
        let affected = self.readers.iter().filter(|(path, _)| {
            let watched = self.watched.get(*path);
            changes.affects(path)
                || watched.is_some_and(|watch| changes.affects(&watch.identity.path))
        });
        affected
            .flat_map(|(_, providers)| providers)
            .cloned()
            .collect()
    }

    /// Checks every granted folder. Folders are created, removed and replaced, and a watch remains attached to the old
    /// inode.
    /// Returns the folders whose changes are not detected.
    fn unwatched(&self) -> Vec<String> {
        let unwatched = self.watched.iter().filter(|(_, watch)| !watch.is_active());
        unwatched
            .map(|(path, _)| path.display().to_string())
            .collect()
    }

    fn check_all(&mut self, poll_interval: Duration) {
        self.watched
            .retain(|path, _| self.readers.contains_key(path));
        let paths: Vec<_> = self.readers.keys().cloned().collect();
        for path in paths {
            self.check(&path, poll_interval);
        }
    }

    fn check(&mut self, path: &Path, poll_interval: Duration) {
        let before = self.watched.get(path).map(|watch| watch.identity.clone());
        let folder = path.to_owned();
        let changes = self.changes.clone();
        self.jobs
            .start(path, move || match FolderIdentity::of(&folder) {
                None => FolderCheck::Missing,
                now if now == before => FolderCheck::Unchanged,
                Some(identity) => {
                    FolderCheck::Replaced(RecursiveWatch::start(identity, poll_interval, &changes))
                }
            });
    }

    /// Applies the result of a check. The old watch remains until there is a new one.
    fn apply(&mut self, path: &Path, result: Option<FolderCheck>) {
        let differs = match result {
            None | Some(FolderCheck::Unchanged) => false,
            Some(FolderCheck::Missing) => self.watched.remove(path).is_some(),
            Some(FolderCheck::Replaced(watch)) => {
                let is_granted = self.readers.contains_key(path);
                if is_granted {
                    self.watched.insert(path.to_owned(), watch);
                }
                is_granted
            }
        };
        if differs {
            // Changes between the provider's last answer and the new watch were not observed.
            self.changes.add(path.to_owned());
        }
    }
}

/// Returns which providers may read which folder. Writable folders are omitted: if a provider wrote to its folder
/// during a call, each call would trigger the next one.
fn folder_readers(catalog: &Catalog) -> FolderReaders {
    let mut readers = FolderReaders::new();
    for offer in catalog.offers() {
        for dir in offer
            .provider
            .grant()
            .dirs
            .iter()
            .filter(|dir| dir.access == Access::Read)
        {
            readers
                .entry(dir.host.clone())
                .or_default()
                .insert(offer.name().clone());
        }
    }
    readers
}
