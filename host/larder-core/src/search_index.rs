//! Keeps the full-text index of a team up to date, in the background.
//!
//! The text of the listed resources of providers with `index = true` is read without a caller, so that the index
//! contains no content that belongs to a caller. At most one read runs at a time. Content is read when it is new, and
//! again when its version changed, or after a notification, a new list or a new revision.

mod content;
mod plan;
mod progress;
mod provider_work;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;

pub use self::progress::{IndexProgress, ProviderProgress};
use self::provider_work::{ProviderWork, Turn, TurnError};
use crate::catalog::{Catalog, Offer, Reader, UpdateHints};
use crate::retry::Retry;
use larder_model::name::ProviderName;
use larder_model::text_index::{Change, IndexError, TextIndex};
use larder_runtime::drain::Drain;
use larder_runtime::health::{Health, Impact};

/// After the start, the documents of a provider that is not served are kept this long. Its component may still be
/// compiled.
const START_GRACE: Duration = Duration::from_secs(300);
/// How long an index without searches stays in memory.
const MAX_IDLE: Duration = Duration::from_secs(60);

/// Updates the index of one team.
pub struct SearchIndexer {
    reader: Reader,
    index: Arc<dyn TextIndex>,
    progress: IndexProgress,
    health: Health,
    drain: Drain,
    /// The providers whose text is in the index.
    work: BTreeMap<ProviderName, ProviderWork>,
    /// When to use the index again after it could not be used.
    retry: Retry,
    /// When the documents of providers that were never served are removed.
    start_ends: Instant,
}

impl SearchIndexer {
    /// Creates an indexer for the index of this progress; `None` if there is no index. The indexer does nothing before
    /// [`Self::run`].
    pub fn new(
        reader: Reader,
        progress: IndexProgress,
        health: Health,
        drain: Drain,
    ) -> Option<Self> {
        let index = progress.index()?.clone();
        let start_ends = Instant::now() + START_GRACE;
        let retry = Retry::default();
        Some(Self {
            reader,
            index,
            progress,
            health,
            drain,
            work: BTreeMap::new(),
            retry,
            start_ends,
        })
    }

    /// Runs until shutdown.
    pub async fn run(mut self) {
        let mut published = self.reader.published();
        while !self.drain.is_stopping() {
            published.mark_unchanged();
            let catalog = self.reader.snapshot();
            self.follow(&catalog);
            if self.retry.is_due() {
                self.update(&catalog).await;
            }
            self.index.release(MAX_IDLE).await;
            let drain = self.drain.clone();
            let next = self.next_turn();
            tokio::select! {
                biased;
                () = drain.stopping() => break,
                hints = self.reader.next_hints() => self.take_hints(hints),
                Ok(()) = published.changed() => {}
                () = self.index.damaged() => self.begin_anew(),
                () = tokio::time::sleep_until(next.into()) => {}
            }
        }
        self.health.resolve(&self.health_part());
    }

    /// Notes which providers are to be indexed.
    fn follow(&mut self, catalog: &Catalog) {
        let indexed = |offer: &&Arc<Offer>| offer.grant().index;
        for offer in catalog.offers().iter().filter(indexed) {
            self.reader.collect_hints();
            self.work
                .entry(offer.name().clone())
                .or_default()
                .follow(offer);
        }
    }

    /// Gives each provider one turn.
    async fn update(&mut self, catalog: &Arc<Catalog>) {
        let result = match self.remove_others(catalog).await {
            Ok(()) => self.take_turns(catalog).await,
            Err(error) => Err(error),
        };
        match result {
            Ok(()) => {
                self.retry.succeeded();
                self.health.resolve(&self.health_part());
            }
            Err(error) => self.index_failed(&error),
        }
    }

    async fn take_turns(&mut self, catalog: &Arc<Catalog>) -> Result<(), IndexError> {
        for offer in catalog.offers() {
            let Some(work) = self.work.get_mut(offer.name()) else {
                continue;
            };
            if self.drain.is_stopping() || !offer.grant().index || !work.is_due() {
                continue;
            }
            let turn = Turn {
                catalog,
                offer,
                index: &*self.index,
                progress: &self.progress,
                drain: &self.drain,
            };
            match work.take_turn(&turn).await {
                Ok(()) => {}
                Err(TurnError::Index(error)) => return Err(error),
                Err(TurnError::Provider(error)) => work.failed(&turn, &error),
            }
            if let Some(hints) = self.reader.next_hints().now_or_never() {
                self.take_hints(hints);
            }
        }
        Ok(())
    }

    /// Removes the documents of providers that are not served or not indexed any more.
    async fn remove_others(&mut self, catalog: &Catalog) -> Result<(), IndexError> {
        let served: BTreeMap<_, _> = catalog
            .offers()
            .iter()
            .map(|offer| (offer.name(), offer.grant().index))
            .collect();
        let is_indexed = |name: &ProviderName| served.get(name) == Some(&true);
        let is_starting = Instant::now() < self.start_ends;
        let may_start = |name: &ProviderName| {
            is_starting && !served.contains_key(name) && !self.work.contains_key(name)
        };
        if !self.index.open_existing().await? {
            self.work.retain(|name, _| is_indexed(name));
            return Ok(());
        }
        let stored = self.index.usage().into_keys();
        let removed: Vec<_> = stored
            .filter(|name| !is_indexed(name) && !may_start(name))
            .collect();
        if !removed.is_empty() {
            self.index
                .apply(
                    removed
                        .iter()
                        .cloned()
                        .map(Change::RemoveProvider)
                        .collect(),
                )
                .await?;
            self.work.values_mut().for_each(ProviderWork::room_was_made);
        }
        for provider in &removed {
            tracing::info!(%provider, "removed from the full-text index");
        }
        self.work.retain(|name, _| is_indexed(name));
        self.progress.retain(is_indexed);
        Ok(())
    }

    fn take_hints(&mut self, hints: UpdateHints) {
        let catalog = self.reader.snapshot();
        for uri in hints.uris {
            let owner = catalog.by_uri(uri.as_str());
            if let Some(work) = owner.and_then(|owner| self.work.get_mut(owner.name())) {
                work.uri_updated(uri);
            }
        }
        let changed = self.work.iter_mut();
        let changed =
            changed.filter(|(name, _)| hints.is_incomplete || hints.providers.contains(*name));
        changed.for_each(|(_, work)| work.may_have_changed());
    }

    /// Begins from the start, because the index is empty, or because documents could not be stored.
    fn begin_anew(&mut self) {
        self.work.values_mut().for_each(ProviderWork::begin_anew);
    }

    fn index_failed(&mut self, error: &IndexError) {
        self.begin_anew();
        self.retry.failed(Duration::ZERO);
        if matches!(error, IndexError::Damaged(_)) {
            return;
        }
        let message = format!("team {}: {error}", self.reader.team());
        self.health
            .report(&self.health_part(), message, Impact::OperatorOnly);
        if self.retry.is_first_failure() {
            tracing::warn!(%error, "the full-text index is not up to date");
        }
        for name in self.work.keys() {
            self.progress.set_error(name, Some(error.to_string()));
        }
    }

    /// Returns when the next work is due, if no event happens before.
    fn next_turn(&self) -> Instant {
        let now = Instant::now();
        let next = self.work.values().map(ProviderWork::next_turn).min();
        // At that time the start ends, or an unused index is released.
        next.unwrap_or(now + START_GRACE)
            .min(now + MAX_IDLE)
            .max(self.retry.at())
    }

    fn health_part(&self) -> String {
        format!("full-text index of {}", self.reader.team())
    }
}
