//! The watched URIs, what is known about each URI, and which checks are due at which provider. The table does not call
//! providers.

mod comparison;
mod entry;
mod provider_queue;
mod sharing;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use self::comparison::Comparison;
pub(super) use self::entry::CheckMethod;
use self::entry::{OwningRevision, WatchEntry, owners};
use self::provider_queue::ProviderQueue;
use self::sharing::Offers;
use super::checks::Check;
use super::known_content::{Answer, KnownContent};
use crate::catalog::{Catalog, ContentState};
use crate::replicas::TeamReplicas;
use larder_model::name::ProviderName;
use larder_model::uri::Uri;
use larder_provider::Provider;

/// A provider's update signal covers the check right after it. A later check may also find a later change.
const SIGNAL_COVERAGE: Duration = Duration::from_secs(1);

/// All watched URIs.
#[derive(Debug, Default)]
pub(super) struct WatchTable {
    entries: HashMap<Uri, WatchEntry>,
    /// The key is the provider that is called first; `None` for URIs without a provider.
    queues: HashMap<Option<ProviderName>, ProviderQueue>,
    known_count: usize,
    comparison: Comparison,
    offers: Offers,
}

/// Checks that are sent together.
pub(super) struct Batch {
    /// The provider to call first; `None` if no provider has the URIs.
    pub(super) provider: Option<Arc<dyn Provider>>,
    pub(super) checks: Vec<Check>,
}

impl Batch {
    /// Takes checks that are due out of the queue of a provider.
    fn take_due(
        name: Option<&ProviderName>,
        queue: &mut ProviderQueue,
        entries: &mut HashMap<Uri, WatchEntry>,
    ) -> Self {
        let mut batch = Self {
            provider: None,
            checks: Vec::new(),
        };
        let uris: Vec<_> = queue.due.iter().take(queue.batch_size()).cloned().collect();
        for watched in uris {
            queue.due.remove(&watched);
            queue.unanswered.remove(&watched);
            let Some(entry) = entries.get_mut(&watched) else {
                continue;
            };
            let first = entry.owners.first();
            // The URI moved to another provider in the meantime, and is due there.
            if first.map(|owner| &owner.name) != name {
                continue;
            }
            batch.provider = first.and_then(|owner| owner.provider.upgrade());
            batch.checks.push(begin_check(watched, entry));
        }
        batch
    }
}

fn begin_check(uri: Uri, entry: &mut WatchEntry) -> Check {
    let in_flight = entry.begin_check();
    Check {
        uri,
        version: entry.content.version(),
        already_notified: in_flight
            .provider_updated
            .is_some_and(|at| at.elapsed() < SIGNAL_COVERAGE),
        noticed_here: in_flight.noticed_here,
    }
}

impl WatchTable {
    /// Adds a URI that is now watched. It is checked soon, so that later content can be compared.
    pub(super) fn add(&mut self, watched: Uri, catalog: &Catalog) {
        if self.entries.contains_key(&watched) {
            return;
        }
        let entry = WatchEntry::new(catalog, &watched);
        self.queue(entry.owners.first()).due.insert(watched.clone());
        self.entries.insert(watched, entry);
    }

    /// Whether the content of a URI is known, so that a change of it will be found.
    pub(super) fn is_known(&self, watched: &Uri) -> bool {
        self.entries
            .get(watched)
            .is_some_and(|entry| entry.content != KnownContent::Unknown)
    }

    /// Records that the content of a URI is now known. `announced` tells whether a client was told before that it is
    /// subscribed.
    pub(super) fn settle(&mut self, watched: &Uri, announced: bool) {
        if let Some(entry) = self.entries.get_mut(watched) {
            entry.known_since = Some(Instant::now());
            entry.announced_early = announced;
        }
    }

    /// Sets what a watcher knew about a URI before a restart. The first answer is compared with it. Returns whether the
    /// watchers must be notified because the content that is already known differs.
    pub(super) fn resume(&mut self, watched: &Uri, last: ContentState) -> bool {
        let Some(entry) = self.entries.get_mut(watched) else {
            return false;
        };
        if let Some(known) = entry.content.state() {
            return known.differs(&last);
        }
        self.known_count += usize::from(entry.content == KnownContent::Unknown);
        entry.content = last.into();
        false
    }

    /// Returns what is known about a URI.
    pub(super) fn state(&self, watched: &Uri) -> Option<ContentState> {
        self.entries.get(watched)?.content.state()
    }

    /// Records that the provider reported an update to the watchers, on this replica (`here`) or on another one. The
    /// watchers were already notified of the change that the next answer shows.
    pub(super) fn provider_updated(&mut self, watched: &Uri, here: bool) {
        if let Some(entry) = self.entries.get_mut(watched) {
            entry.provider_updated = Some(Instant::now());
            entry.noticed_here |= here;
            self.make_due(watched);
        }
    }

    /// Checks a watched URI as soon as its provider has no other batch.
    fn make_due(&mut self, watched: &Uri) {
        let owner = self
            .entries
            .get(watched)
            .and_then(|entry| entry.owners.first())
            .cloned();
        self.queue(owner.as_ref()).due.insert(watched.clone());
    }

    /// Removes URIs that have no watchers any more.
    pub(super) fn retain(&mut self, watched: &HashSet<Uri>) {
        let offers = &mut self.offers;
        self.entries.retain(|key, entry| {
            let stays = watched.contains(key);
            if !stays {
                entry.sharing.withdraw(key, offers);
            }
            stays
        });
        self.known_count = self
            .entries
            .values()
            .filter(|entry| entry.content != KnownContent::Unknown)
            .count();
        self.queues.retain(|_, queue| {
            queue.unanswered.retain(|key| watched.contains(key));
            queue.is_needed()
        });
    }

    /// Compares with a new catalog. URIs with other owners, or with other revisions of the same owners, are due.
    pub(super) fn update_owners(&mut self, catalog: &Catalog) {
        let mut due = Vec::new();
        for (watched, entry) in &mut self.entries {
            let owners = owners(catalog, watched);
            if owners != entry.owners {
                due.push((owners.first().cloned(), watched.clone()));
                entry.owners = owners;
                entry.noticed_here = true;
            }
        }
        for (owner, watched) in due {
            self.queue(owner.as_ref()).due.insert(watched);
        }
    }

    /// Records events that may have changed what this provider answers. The first of them was observed at `since`.
    pub(super) fn hint(&mut self, provider: &ProviderName, since: Instant) {
        let mut due = Vec::new();
        for (watched, entry) in &mut self.entries {
            if entry.owners.iter().any(|owner| owner.name == *provider) {
                entry.hint(since);
                due.push((entry.owners.first().cloned(), watched.clone()));
            }
        }
        for (owner, watched) in due {
            self.queue(owner.as_ref()).due.insert(watched);
        }
    }

    /// Marks as due everything that this replica checks by this method, except at paused or busy providers. With
    /// versions, also marks what another replica found and this replica has not found yet.
    pub(super) fn mark_due(
        &mut self,
        method: CheckMethod,
        replicas: &dyn TeamReplicas,
        now: Instant,
    ) {
        let mut due: HashMap<Option<ProviderName>, HashSet<Uri>> = HashMap::new();
        for (watched, entry) in &self.entries {
            let Some(owner) = entry.owners.first() else {
                continue;
            };
            let expects_more = method == CheckMethod::Version && entry.sharing.expects_more(now);
            if expects_more
                || owner.check_method() == Some(method) && entry.sharing.polls(watched, replicas)
            {
                due.entry(Some(owner.name.clone()))
                    .or_default()
                    .insert(watched.clone());
            }
        }
        for (name, due) in due {
            self.queues.entry(name).or_default().start_round(due, now);
        }
    }

    /// Returns the batches that can start now: one for each provider that is not busy.
    pub(super) fn take_batches(&mut self) -> Vec<Batch> {
        let mut batches = Vec::new();
        for (name, queue) in &mut self.queues {
            if queue.busy || queue.due.is_empty() {
                continue;
            }
            let batch = Batch::take_due(name.as_ref(), queue, &mut self.entries);
            // The provider was unloaded, so there is a newer catalog, which makes these checks due again.
            if !batch.checks.is_empty() && batch.provider.is_some() == name.is_some() {
                queue.busy = true;
                batches.push(batch);
            }
        }
        batches
    }

    /// Records an answer. Returns whether the watchers must be notified.
    pub(super) fn record_answer(&mut self, check: &Check, answer: Answer) -> bool {
        if answer == Answer::BatchTooLarge {
            self.check_in_smaller_batch(&check.uri);
            return false;
        }
        let Some(entry) = self.entries.get_mut(&check.uri) else {
            return false;
        };
        let was_unknown = entry.content == KnownContent::Unknown;
        let is_failure = answer.is_failure();
        let is_answer = !is_failure && answer != Answer::Deferred;
        if is_answer {
            entry.in_flight = None;
        }
        let differs = entry.content.update(answer);
        let changed = differs && !check.already_notified && entry.provider_updated.is_none();
        if is_answer {
            let change = differs.then_some(check.noticed_here);
            entry
                .sharing
                .checked(&check.uri, &entry.content, change, &mut self.offers);
        }
        entry.was_covered = (differs || entry.was_covered) && !changed;
        let in_doubt =
            is_answer && std::mem::take(&mut entry.in_doubt) && !entry.is_older_than_watch();
        let notify = changed | in_doubt | (is_answer && std::mem::take(&mut entry.must_notify));
        self.known_count += usize::from(was_unknown && entry.content != KnownContent::Unknown);
        let owner = entry.owners.first().cloned();
        self.queue(owner.as_ref()).count_answer(is_failure);
        notify
    }

    /// Checks a URI again soon. What the watchers were notified of does not change.
    fn check_in_smaller_batch(&mut self, watched: &Uri) {
        let Some(entry) = self.entries.get_mut(watched) else {
            return;
        };
        entry.return_unanswered();
        let owner = entry.owners.first().cloned();
        let queue = self.queue(owner.as_ref());
        queue.batch_too_large = true;
        queue.due.insert(watched.clone());
    }

    /// Ends a batch. Unanswered checks are retried later.
    pub(super) fn finish_batch(
        &mut self,
        provider: Option<&ProviderName>,
        uris: &[Uri],
        duration: Duration,
        now: Instant,
    ) {
        let queue = self.queues.entry(provider.cloned()).or_default();
        for watched in uris {
            let Some(entry) = self.entries.get_mut(watched) else {
                continue;
            };
            if !entry.return_unanswered() {
                continue;
            }
            entry.sharing.not_answered(watched, &mut self.offers);
            // A URI that moved to another provider in the meantime is due there.
            if entry.owners.first().map(|owner| &owner.name) == provider {
                queue.unanswered.insert(watched.clone());
            }
        }
        queue.finish_batch(duration, now);
    }

    /// Returns when unanswered checks are retried.
    pub(super) fn next_retry(&self) -> Option<Instant> {
        self.queues
            .values()
            .filter(|queue| !queue.busy)
            .filter_map(|queue| queue.retry_at)
            .min()
    }

    /// Marks unanswered checks as due once their retry time is reached.
    pub(super) fn retry(&mut self, now: Instant) {
        let is_due =
            |queue: &&mut ProviderQueue| !queue.busy && queue.retry_at.is_some_and(|at| at <= now);
        for queue in self.queues.values_mut().filter(is_due) {
            queue.retry_at = None;
            queue.due.extend(queue.unanswered.drain());
        }
    }

    /// Returns the number of URIs whose content is known.
    pub(super) fn known_count(&self) -> usize {
        self.known_count
    }

    fn queue(&mut self, owner: Option<&OwningRevision>) -> &mut ProviderQueue {
        self.queues
            .entry(owner.map(|owner| owner.name.clone()))
            .or_default()
    }
}

#[cfg(test)]
mod replica_model;
#[cfg(test)]
mod tests;
