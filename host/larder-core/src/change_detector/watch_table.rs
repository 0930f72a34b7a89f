//! The watched URIs, what is known of each, and which checks are due at which provider. It does not call
//! providers.

mod provider_queue;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use self::provider_queue::ProviderQueue;
use super::checks::Check;
use super::known_content::{Answer, KnownContent};
use crate::catalog::{Catalog, ContentState, Route};
use larder_model::name::ProviderName;
use larder_model::uri::Uri;
use larder_sandbox::provider::Provider;

/// Hints arrive later than the changes. A hint within this time after the first answer may concern a change that this
/// answer contains already, and that a client which read the content before does not know. One notification too many costs a read; one too few leaves a client with outdated content.
const EARLY_HINT_WINDOW: Duration = Duration::from_secs(3);
/// A provider's update signal covers the check right after it. A later check may find a later change as well.
const SIGNAL_COVERAGE: Duration = Duration::from_secs(1);

/// All watched URIs.
#[derive(Debug, Default)]
pub(super) struct WatchTable {
    entries: HashMap<Uri, WatchEntry>,
    /// By the provider that is called first; `None` for URIs without a provider.
    queues: HashMap<Option<ProviderName>, ProviderQueue>,
    known_count: usize,
}

/// A watched URI.
#[derive(Debug)]
struct WatchEntry {
    content: KnownContent,
    /// The providers that a read would reach, in order.
    owners: Vec<OwningRevision>,
    /// When the provider itself reported an update that the next answer shows. The watchers were notified of
    /// it.
    provider_updated: Option<Instant>,
    /// When the content became known; none if it is known from before a restart.
    known_since: Option<Instant>,
    /// Whether a client was told that it is subscribed before the content was known.
    announced_early: bool,
    /// The version in the catalog when the URI was added.
    listed_version: Option<String>,
    /// Another change may be hidden by a report of the provider. The next answer is reported in any case.
    must_notify: bool,
    /// A change was reported before the first answer, which may show the content before or after it. The next answer
    /// is reported, unless it has the version that the catalog listed when the URI was added.
    in_doubt: bool,
    /// Set while a check is unanswered, with the value of `provider_updated` before it.
    in_flight: Option<Option<Instant>>,
}

/// A revision of a provider. It does not keep the revision alive.
#[derive(Debug, Clone)]
struct OwningRevision {
    name: ProviderName,
    provider: Weak<Provider>,
}

impl PartialEq for OwningRevision {
    fn eq(&self, other: &Self) -> bool {
        self.provider.ptr_eq(&other.provider)
    }
}

/// How a provider is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CheckMethod {
    /// By comparing versions.
    Version,
    /// By reading.
    Read,
}

/// Checks that are sent together.
pub(super) struct Batch {
    /// The provider to call first; `None` if there is none.
    pub(super) provider: Option<Arc<Provider>>,
    pub(super) checks: Vec<Check>,
}

impl WatchTable {
    /// Adds a URI that is now watched. It is checked soon, to have something to compare with.
    pub(super) fn add(&mut self, watched: Uri, catalog: &Catalog) {
        if self.entries.contains_key(&watched) {
            return;
        }
        let owners = owners(catalog, &watched);
        self.queue(owners.first()).due.insert(watched.clone());
        let listed_version = listed_version(catalog, &watched);
        self.entries.insert(
            watched,
            WatchEntry {
                content: KnownContent::Unknown,
                owners,
                provider_updated: None,
                known_since: None,
                announced_early: false,
                listed_version,
                must_notify: false,
                in_doubt: false,
                in_flight: None,
            },
        );
    }

    /// Whether the content of a URI is known, so that a change of it will be found.
    pub(super) fn is_known(&self, watched: &Uri) -> bool {
        self.entries.get(watched).is_some_and(|entry| entry.content != KnownContent::Unknown)
    }

    /// Records that the content of a URI becomes known. `announced` tells whether a client was told before that it is
    /// subscribed.
    pub(super) fn settle(&mut self, watched: &Uri, announced: bool) {
        if let Some(entry) = self.entries.get_mut(watched) {
            (entry.known_since, entry.announced_early) = (Some(Instant::now()), announced);
        }
    }

    /// Sets what a watcher knew of a URI before a restart, to compare the first answer with. Returns whether the
    /// watchers must be notified, because something else is known already.
    pub(super) fn resume(&mut self, watched: &Uri, last: ContentState) -> bool {
        let Some(entry) = self.entries.get_mut(watched) else { return false };
        if let Some(known) = entry.content.state() {
            return known.differs(&last);
        }
        self.known_count += usize::from(entry.content == KnownContent::Unknown);
        entry.content = last.into();
        false
    }

    /// Returns what is known of a URI.
    pub(super) fn state(&self, watched: &Uri) -> Option<ContentState> {
        self.entries.get(watched)?.content.state()
    }

    /// Records that the provider reported an update to the watchers. They already know what the next answer
    /// shows.
    pub(super) fn provider_updated(&mut self, watched: &Uri) {
        if let Some(entry) = self.entries.get_mut(watched) {
            entry.provider_updated = Some(Instant::now());
            let owner = entry.owners.first().cloned();
            self.queue(owner.as_ref()).due.insert(watched.clone());
        }
    }

    /// Removes URIs that nobody watches any more.
    pub(super) fn retain(&mut self, watched: &HashSet<Uri>) {
        self.entries.retain(|key, _| watched.contains(key));
        self.known_count =
            self.entries.values().filter(|entry| entry.content != KnownContent::Unknown).count();
        self.queues.retain(|_, queue| {
            queue.unanswered.retain(|key| watched.contains(key));
            queue.busy
                || !queue.due.is_empty()
                || !queue.unanswered.is_empty()
                || queue.paused_until.is_some()
        });
    }

    /// Compares with a new catalog. URIs with other owners, or other revisions of them, are due.
    pub(super) fn update_owners(&mut self, catalog: &Catalog) {
        let mut due = Vec::new();
        for (watched, entry) in &mut self.entries {
            let owners = owners(catalog, watched);
            if owners != entry.owners {
                due.push((owners.first().cloned(), watched.clone()));
                entry.owners = owners;
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
                // The provider's own report may concern an earlier change, and would hide this one.
                let may_be_hidden =
                    entry.provider_updated.is_some() || matches!(entry.in_flight, Some(Some(_)));
                entry.must_notify |= may_be_hidden;
                entry.in_doubt |= entry.may_contain_change(since);
                due.push((entry.owners.first().cloned(), watched.clone()));
            }
        }
        for (owner, watched) in due {
            self.queue(owner.as_ref()).due.insert(watched);
        }
    }

    /// Marks everything as due that is checked by this method, except at paused or busy providers.
    pub(super) fn mark_due(&mut self, method: CheckMethod, now: Instant) {
        let mut due: HashMap<Option<ProviderName>, HashSet<Uri>> = HashMap::new();
        for (watched, entry) in &self.entries {
            let Some(owner) = entry.owners.first() else { continue };
            if owner.check_method() == Some(method) {
                due.entry(Some(owner.name.clone())).or_default().insert(watched.clone());
            }
        }
        for (name, due) in due {
            let queue = self.queues.entry(name).or_default();
            let is_paused = queue.paused_until.is_some_and(|until| now < until);
            if !is_paused && !queue.busy && queue.due.is_empty() {
                queue.due = due;
            }
        }
    }

    /// Returns the batches that can start now: one for each provider that is not busy.
    pub(super) fn take_batches(&mut self) -> Vec<Batch> {
        let mut batches = Vec::new();
        for (name, queue) in &mut self.queues {
            if queue.busy || queue.due.is_empty() {
                continue;
            }
            let mut batch = Batch { provider: None, checks: Vec::new() };
            let uris: Vec<_> = queue.due.iter().take(queue.batch_size()).cloned().collect();
            for watched in uris {
                queue.due.remove(&watched);
                queue.unanswered.remove(&watched);
                let Some(entry) = self.entries.get_mut(&watched) else { continue };
                let first = entry.owners.first();
                // The URI moved to another provider meanwhile, and is due there.
                if first.map(|owner| &owner.name) != name.as_ref() {
                    continue;
                }
                batch.provider = first.and_then(|owner| owner.provider.upgrade());
                let (version, update) = (entry.content.version(), entry.provider_updated.take());
                let already_notified = update.is_some_and(|at| at.elapsed() < SIGNAL_COVERAGE);
                entry.in_flight = Some(update);
                batch.checks.push(Check { uri: watched, version, already_notified });
            }
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
        let Some(entry) = self.entries.get_mut(&check.uri) else {
            return false;
        };
        let (was_unknown, is_failure) = (entry.content == KnownContent::Unknown, answer.is_failure());
        if answer == Answer::BatchTooLarge {
            // Checked again soon. What the watchers were notified of does not change.
            entry.return_unanswered();
            let owner = entry.owners.first().cloned();
            let queue = self.queue(owner.as_ref());
            queue.batch_too_large = true;
            queue.due.insert(check.uri.clone());
            return false;
        }
        let is_answer = !is_failure && answer != Answer::Deferred;
        if is_answer {
            entry.in_flight = None;
        }
        let changed =
            entry.content.update(answer) && !check.already_notified && entry.provider_updated.is_none();
        let in_doubt = is_answer && std::mem::take(&mut entry.in_doubt) && !entry.is_older_than_watch();
        let notify = changed | in_doubt | (is_answer && std::mem::take(&mut entry.must_notify));
        self.known_count += usize::from(was_unknown && entry.content != KnownContent::Unknown);
        let owner = entry.owners.first().cloned();
        let queue = self.queue(owner.as_ref());
        *(if is_failure { &mut queue.failed } else { &mut queue.answered }) = true;
        notify
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
            let Some(entry) = self.entries.get_mut(watched) else { continue };
            if !entry.return_unanswered() {
                continue;
            }
            // A URI that moved to another provider meanwhile is due there.
            if entry.owners.first().map(|owner| &owner.name) == provider {
                queue.unanswered.insert(watched.clone());
            }
        }
        queue.finish_batch(duration, now);
    }

    /// Returns when unanswered checks are retried.
    pub(super) fn next_retry(&self) -> Option<Instant> {
        self.queues.values().filter(|queue| !queue.busy).filter_map(|queue| queue.retry_at).min()
    }

    /// Marks unanswered checks as due once their retry time is reached.
    pub(super) fn retry(&mut self, now: Instant) {
        let is_due = |queue: &&mut ProviderQueue| !queue.busy && queue.retry_at.is_some_and(|at| at <= now);
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
        self.queues.entry(owner.map(|owner| owner.name.clone())).or_default()
    }
}

impl WatchEntry {
    /// Whether the known content may be from after the change of an event that was observed at this time.
    fn may_contain_change(&self, observed: Instant) -> bool {
        // A listed version proves for most URIs that they did not change. Without it, a client that read before it
        // subscribed has to read again.
        let is_late = self.announced_early || self.listed_version.is_some();
        let window = if is_late { EARLY_HINT_WINDOW } else { Duration::ZERO };
        self.content == KnownContent::Unknown
            || self.known_since.is_some_and(|since| observed < since + window)
    }

    /// Whether the catalog had the known version already when the URI was added. That is no proof if a client was told
    /// too early that it is subscribed: the URI is added to the table a moment later.
    fn is_older_than_watch(&self) -> bool {
        let listed = self.listed_version.as_ref().filter(|_| !self.announced_early);
        listed.is_some_and(|listed| self.content.version().as_ref() == Some(listed))
    }

    /// Ends an unanswered check and restores `provider_updated`. Returns false if no check was unanswered.
    fn return_unanswered(&mut self) -> bool {
        let Some(update) = self.in_flight.take() else { return false };
        self.provider_updated = self.provider_updated.or(update);
        true
    }
}

impl OwningRevision {
    /// Returns `None` if the revision was unloaded.
    fn check_method(&self) -> Option<CheckMethod> {
        let provider = self.provider.upgrade()?;
        Some(if provider.supports_versions() { CheckMethod::Version } else { CheckMethod::Read })
    }
}

fn listed_version(catalog: &Catalog, uri: &Uri) -> Option<String> {
    let entries = &catalog.by_uri(uri.as_str())?.entries;
    let at = entries.binary_search_by(|entry| entry.uri.cmp(uri)).ok()?;
    entries[at].version.clone()
}

fn owners(catalog: &Catalog, uri: &Uri) -> Vec<OwningRevision> {
    let offers = catalog.routes(uri).filter_map(|route| match route {
        Route::Listed(offer) | Route::Matched(offer, _) | Route::Claimed(offer) => Some(offer),
        Route::Refused(_) => None,
    });
    offers
        .map(|offer| OwningRevision { name: offer.name().clone(), provider: Arc::downgrade(&offer.provider) })
        .collect()
}

#[cfg(test)]
mod tests;
