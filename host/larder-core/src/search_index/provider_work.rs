//! The work for one provider: a plan of reads, and the reasons to make a new plan.

mod batch;
mod list_pages;

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use self::batch::Batch;
use self::list_pages::ListPages;
use super::content::{self, Content};
use super::plan::{PlannedRead, Situation, planned_reads};
use super::progress::IndexProgress;
use crate::catalog::{Catalog, Offer};
use crate::host_reads::MAX_PAGES;
use crate::retry::Retry;
use larder_model::name::Digest;
use larder_model::text_index::{self, Change, IndexError, TextIndex};
use larder_model::uri::Uri;
use larder_provider::CallError;
use larder_runtime::drain::Drain;

/// The time between two queries of the versions. Reported changes are handled at once.
const VERSION_INTERVAL: Duration = Duration::from_secs(60);
/// After this time, content without a version is read again, and documents that failed or did not fit are tried again.
const READ_INTERVAL: Duration = Duration::from_secs(3_600);
/// After this many failed reads in one plan, the provider is not called for some time.
const MAX_FAILED_READS: usize = 8;

/// The state of the work for one provider.
#[derive(Debug, Default)]
pub(super) struct ProviderWork {
    /// The revision and the list that the plan is for.
    planned_for: Option<(u64, Digest)>,
    /// The remaining reads of the pages that were listed. `None` if the list has to begin.
    reads: Option<VecDeque<PlannedRead>>,
    /// The list, if pages of it are left.
    listing: Option<ListPages>,
    /// When the list may begin again.
    next_listing: Option<Instant>,
    /// Whether the list is longer than the index can be.
    is_too_long: bool,
    /// Whether something changed after the plan was made.
    is_outdated: bool,
    /// URIs whose update was noticed, before or after the plan was made.
    updated: HashSet<Uri>,
    planned_updates: HashSet<Uri>,
    /// URIs whose state does not show whether they changed, and that were already read from this revision.
    already_read: HashSet<Uri>,
    /// URIs that could not be read, and the last error.
    failed: HashSet<Uri>,
    last_error: Option<String>,
    is_full: bool,
    checked: Option<Instant>,
    read_all: Option<Instant>,
    /// When to call a provider again that cannot answer, and when to try failed reads again.
    retry: Retry,
    retry_reads: Retry,
}

/// What one turn of a provider needs.
pub(super) struct Turn<'a> {
    pub(super) catalog: &'a Arc<Catalog>,
    pub(super) offer: &'a Arc<Offer>,
    pub(super) index: &'a dyn TextIndex,
    pub(super) progress: &'a IndexProgress,
    pub(super) drain: &'a Drain,
}

/// Why a turn ended early.
#[derive(Debug)]
pub(super) enum TurnError {
    /// The provider cannot answer now.
    Provider(CallError),
    /// The index cannot be used.
    Index(IndexError),
}

impl From<IndexError> for TurnError {
    fn from(error: IndexError) -> Self {
        Self::Index(error)
    }
}

impl ProviderWork {
    /// Records the revision that is served now.
    pub(super) fn follow(&mut self, offer: &Offer) {
        let now = (offer.provider.revision(), offer.list_digest);
        if self.planned_for == Some(now) {
            return;
        }
        if self
            .planned_for
            .is_none_or(|(revision, _)| revision != now.0)
        {
            self.already_read.clear();
            self.failed.clear();
            self.retry.succeeded();
            self.next_listing = None;
        }
        self.planned_for = Some(now);
        self.replan();
    }

    /// Records that the content of a URI changed.
    pub(super) fn uri_updated(&mut self, uri: Uri) {
        self.updated.insert(uri);
        self.is_outdated = true;
    }

    /// Records that any content may have changed.
    pub(super) fn may_have_changed(&mut self) {
        self.already_read.clear();
        self.is_outdated = true;
    }

    /// Records that the index has room again.
    pub(super) fn room_was_made(&mut self) {
        self.is_outdated |= std::mem::take(&mut self.is_full);
    }

    /// Makes a new plan, because the index is empty or because documents could not be stored.
    pub(super) fn begin_anew(&mut self) {
        self.already_read.clear();
        self.failed.clear();
        self.is_full = false;
        self.replan();
    }

    fn replan(&mut self) {
        self.reads = None;
        self.listing = None;
        self.is_outdated = false;
        self.updated.extend(self.planned_updates.drain());
    }

    /// Whether work is due now.
    pub(super) fn is_due(&self) -> bool {
        self.next_turn() <= Instant::now()
    }

    /// Returns when work is due, if no event happens before.
    pub(super) fn next_turn(&self) -> Instant {
        let has_reads = self.reads.as_ref().is_some_and(|reads| !reads.is_empty());
        if has_reads || self.listing.is_some() {
            return self.retry.at();
        }
        let earliest = self.next_listing.max(Some(self.retry.at()));
        let earliest = earliest.unwrap_or_else(Instant::now);
        if self.reads.is_none() || self.is_outdated {
            return earliest;
        }
        let after =
            |last: Option<Instant>, time| last.map_or_else(Instant::now, |last| last + time);
        let next = after(self.checked, VERSION_INTERVAL).min(after(self.read_all, READ_INTERVAL));
        let next = if self.failed.is_empty() {
            next
        } else {
            next.min(self.retry_reads.at())
        };
        next.max(earliest)
    }

    /// Plans the next page of the list if no reads are left, and reads one batch.
    pub(super) async fn take_turn(&mut self, turn: &Turn<'_>) -> Result<(), TurnError> {
        if turn.offer.is_personal() {
            return self.skip_personal(turn).await;
        }
        if self.reads.as_ref().is_none_or(VecDeque::is_empty) {
            self.plan_page(turn).await?;
        }
        let read = self.read_batch(turn).await;
        turn.progress.set_pending(
            turn.offer.name(),
            self.reads.as_ref().map_or(0, VecDeque::len),
        );
        read?;
        self.retry.succeeded();
        if self.reads.as_ref().is_some_and(VecDeque::is_empty) && self.listing.is_none() {
            self.plan_finished(turn);
        }
        Ok(())
    }

    /// The list of the provider depends on the caller, so no entry in it is for everybody.
    async fn skip_personal(&mut self, turn: &Turn<'_>) -> Result<(), TurnError> {
        let name = turn.offer.name();
        if turn.index.usage().contains_key(name) {
            turn.index
                .apply(vec![Change::RemoveProvider(name.clone())])
                .await?;
        }
        self.reads = Some(VecDeque::new());
        (self.is_outdated, self.checked, self.read_all) =
            (false, Some(Instant::now()), Some(Instant::now()));
        let message = "its list depends on the caller, so its content is not indexed";
        turn.progress.set_error(name, Some(message.into()));
        Ok(())
    }

    /// Plans the reads of the next page of the list.
    async fn plan_page(&mut self, turn: &Turn<'_>) -> Result<(), TurnError> {
        let mut listing = match self.listing.take() {
            Some(listing) => listing,
            None => self.begin_listing(turn).await?,
        };
        let page = match listing.next_page(turn).await {
            Ok(page) => page,
            Err(error) => {
                // If the page cannot be read later either, the list begins again.
                self.listing = is_temporary(&error).then_some(listing);
                return Err(TurnError::Provider(error));
            }
        };
        let situation = Situation {
            versions: page.versions,
            updated: &self.planned_updates,
            already_read: &self.already_read,
            failed: &self.failed,
            is_full: self.is_full || turn.index.is_full(),
        };
        let entries = page.entries.iter().map(AsRef::as_ref);
        let reads = planned_reads(entries, &mut listing.unlisted, &situation);
        turn.progress.set_pending(turn.offer.name(), reads.len());
        self.reads = Some(reads);
        self.is_too_long = listing.is_too_long();
        if listing.is_complete() || self.is_too_long {
            self.end_listing(turn, listing).await
        } else {
            self.listing = Some(listing);
            let rest = "later pages of its list are not read yet".to_owned();
            turn.progress.set_error(turn.offer.name(), Some(rest));
            Ok(())
        }
    }

    async fn begin_listing(&mut self, turn: &Turn<'_>) -> Result<ListPages, TurnError> {
        let now = Instant::now();
        self.replan();
        if self.read_all.is_none_or(|last| now >= last + READ_INTERVAL) {
            self.read_all = Some(now);
            self.is_full = false;
            self.already_read.clear();
        }
        if self.retry_reads.is_due() {
            self.failed.clear();
        }
        let known = turn.index.known(turn.offer.name()).await?;
        self.planned_updates = std::mem::take(&mut self.updated);
        Ok(ListPages::new(known))
    }

    /// Removes the documents that are not listed any more.
    async fn end_listing(&mut self, turn: &Turn<'_>, listing: ListPages) -> Result<(), TurnError> {
        let now = Instant::now();
        self.checked = Some(now);
        self.next_listing = Some(now + listing.pause(turn.offer));
        if self.is_too_long {
            return Ok(());
        }
        let mut removed: Vec<_> = listing.unlisted.into_keys().collect();
        removed.sort();
        if !removed.is_empty() {
            let remove = |uri| Change::Remove(turn.offer.name().clone(), uri);
            let changes = removed.into_iter().map(remove).collect();
            turn.index.apply(changes).await?;
        }
        Ok(())
    }

    /// Reads until the batch is complete, and stores it.
    async fn read_batch(&mut self, turn: &Turn<'_>) -> Result<(), TurnError> {
        let mut batch = Batch::default();
        let mut ended = Ok(());
        while let Some(read) = self.reads.as_mut().and_then(VecDeque::pop_front) {
            if self.is_full && !read.is_stored {
                continue;
            }
            let content = content::read(
                turn.catalog,
                turn.offer,
                &read.uri,
                read.known_version.clone(),
                turn.index.limits().document_bytes,
            );
            match turn.drain.run_until_stopping(content).await {
                // Documents that were read are stored, so that they are not read again after the restart.
                None => break,
                Some(Ok((content, version))) => {
                    self.add(&mut batch, turn.offer, &read, content, version)
                }
                Some(Err(error)) => {
                    if let Err(error) = self.read_failed(read, error) {
                        ended = Err(TurnError::Provider(error));
                        break;
                    }
                }
            }
            if batch.is_complete() {
                break;
            }
        }
        match batch.store(turn.index).await {
            Ok(()) => ended,
            Err(IndexError::Full { .. }) => {
                self.is_full = true;
                ended
            }
            Err(error) => Err(error.into()),
        }
    }

    fn add(
        &mut self,
        batch: &mut Batch,
        offer: &Offer,
        read: &PlannedRead,
        content: Content,
        version: Option<String>,
    ) {
        self.failed.remove(&read.uri);
        if !read.is_versioned() || content == Content::NeedsCaller {
            self.already_read.insert(read.uri.clone());
        }
        batch.add(offer.name(), read, content, version);
    }

    /// Records a failed read. Returns the error if the provider should not be called for some time.
    fn read_failed(&mut self, read: PlannedRead, error: CallError) -> Result<(), CallError> {
        if is_temporary(&error) {
            self.reads.get_or_insert_default().push_front(read);
            return Err(error);
        }
        self.last_error = Some(format!("cannot read {}: {error}", read.uri));
        self.failed.insert(read.uri);
        if self.failed.len().is_multiple_of(MAX_FAILED_READS) {
            Err(error)
        } else {
            Ok(())
        }
    }

    fn plan_finished(&mut self, turn: &Turn<'_>) {
        let name = turn.offer.name();
        self.planned_updates.clear();
        if self.failed.is_empty() {
            self.retry_reads.succeeded();
        } else if self.retry_reads.is_due() {
            self.retry_reads.failed(VERSION_INTERVAL / 2);
        }
        let failed = self.last_error.take().filter(|_| !self.failed.is_empty());
        let failed =
            failed.map(|error| format!("{} resources cannot be read; {error}", self.failed.len()));
        let full = (self.is_full || turn.index.is_full()).then(|| {
            "the full-text index of the team is full, so some resources cannot be found by their content"
                .to_owned()
        });
        let partial = self.is_too_long.then(|| {
            let count = text_index::MAX_DOCUMENTS;
            format!("its list is too long: at most {count} resources are indexed, of at most {MAX_PAGES} pages")
        });
        turn.progress.set_error(name, failed.or(full).or(partial));
        tracing::debug!(provider = %name, "the full-text index is up to date");
    }

    /// Records that the provider cannot answer now.
    pub(super) fn failed(&mut self, turn: &Turn<'_>, error: &CallError) {
        let at_least = match error {
            CallError::QuotaExceeded(exceeded) => exceeded.retry,
            CallError::CircuitOpen(time) => *time,
            _ => Duration::ZERO,
        };
        self.retry.failed(at_least);
        turn.progress.set_error(
            turn.offer.name(),
            Some(format!("cannot be read now: {error}")),
        );
    }
}

/// Whether the same call may succeed later.
fn is_temporary(error: &CallError) -> bool {
    matches!(
        error,
        CallError::Busy
            | CallError::NoMemory
            | CallError::QuotaExceeded(_)
            | CallError::CircuitOpen(_)
            | CallError::Unavailable(_)
    )
}
