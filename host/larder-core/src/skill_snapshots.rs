//! Keeps the skills of a team up to date, in the background. The files of a skill are read without a caller and kept
//! in memory, so that each read returns the bytes of the published digest. The skills of a provider are built
//! completely and then published in one step; on failure the old ones remain.

mod build;
mod provider_state;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

#[cfg(any(test, feature = "test-util"))]
use futures_util::FutureExt as _;

use self::build::{Build, Obstacle};
use self::provider_state::ProviderState;
use crate::catalog::{Catalog, Offer, Reader, SkillWriter, UpdateHints};
use larder_model::name::ProviderName;
use larder_provider::{Signal, SignalSender};
use larder_runtime::drain::Drain;
use larder_skills::ProviderSkills;

/// Maximum size in bytes of the skills of a team, which are in memory.
const MAX_TEAM_BYTES: u64 = 64 << 20;
/// How often a command tries to build the skills. The last attempt excludes what does not match its list.
const MAX_ATTEMPTS: usize = 5;
/// The longest time without a look at the providers.
const MAX_PAUSE: Duration = Duration::from_secs(300);

/// Updates the skills of one team.
#[derive(Debug)]
pub struct SkillFollower {
    reader: Reader,
    writer: SkillWriter,
    signals: SignalSender,
    drain: Drain,
    providers: BTreeMap<ProviderName, ProviderState>,
}

impl SkillFollower {
    /// Creates a follower. `signals` receives requests to refresh lists that are older than the content.
    pub fn new(reader: Reader, writer: SkillWriter, signals: SignalSender, drain: Drain) -> Self {
        Self {
            reader,
            writer,
            signals,
            drain,
            providers: BTreeMap::new(),
        }
    }

    /// Runs until shutdown.
    pub async fn run(mut self) {
        let mut published = self.reader.published();
        let drain = self.drain.clone();
        while !drain.is_stopping() {
            published.mark_unchanged();
            self.update().await;
            tokio::select! {
                biased;
                () = drain.stopping() => break,
                hints = self.writer.next_hints() => self.take_hints(&hints),
                Ok(()) = published.changed() => {}
                () = tokio::time::sleep_until(self.next_turn().into()) => {}
            }
        }
    }

    /// Builds the skills that the providers have now, for a command that does not run for long.
    pub async fn build_once(&mut self) {
        for _ in 0..MAX_ATTEMPTS {
            self.update().await;
            for state in self.providers.values_mut() {
                state.retry_now();
            }
        }
    }

    /// Takes the hints that wait.
    #[cfg(any(test, feature = "test-util"))]
    pub(crate) fn take_all_hints(&mut self) {
        let waiting = self.writer.next_hints().now_or_never();
        if let Some(hints) = waiting {
            self.take_hints(&hints);
        }
    }

    /// Builds the skills of each provider whose skills may have changed.
    pub(crate) async fn update(&mut self) {
        let catalog = self.reader.snapshot();
        self.remove_others(&catalog);
        for offer in catalog.offers().iter().filter(|offer| offers_skills(offer)) {
            let state = self.providers.entry(offer.name().clone()).or_default();
            state.follow(offer);
            if state.is_due() && !self.drain.is_stopping() {
                self.update_provider(&catalog, offer).await;
            }
        }
    }

    /// Removes the skills of providers that are not served or have no grant any more.
    fn remove_others(&mut self, catalog: &Catalog) {
        let is_gone = |name: &ProviderName| !catalog.offer(name).is_some_and(offers_skills);
        let published = self.reader.skills();
        let gone: BTreeSet<_> = published.providers().filter(|name| is_gone(name)).collect();
        for name in gone {
            self.writer.publish(name, None);
        }
        self.providers.retain(|name, _| !is_gone(name));
    }

    async fn update_provider(&mut self, catalog: &Arc<Catalog>, offer: &Arc<Offer>) {
        let Some(state) = self.providers.get_mut(offer.name()) else {
            return;
        };
        let published = self.reader.skills();
        let known = published.of(offer.name());
        if let Some(known) = known {
            state.check(offer, known).await;
        }
        if !state.is_outdated() {
            return;
        }
        let build = Build::new(
            catalog,
            offer,
            known.filter(|_| state.is_same_revision()),
            MAX_TEAM_BYTES.saturating_sub(published.bytes_without(offer.name())),
            state.request(),
        );
        let Some(result) = self.drain.run_until_stopping(Box::pin(build.run())).await else {
            return;
        };
        match result {
            Ok(skills) => {
                state.succeeded();
                log_problems(offer, &skills, known);
                self.writer.publish(offer.name(), Some(Arc::new(skills)));
            }
            Err(obstacle) => {
                state.failed(&obstacle);
                self.wait_for(offer, &obstacle);
            }
        }
    }

    fn wait_for(&self, offer: &Offer, obstacle: &Obstacle) {
        tracing::debug!(provider = %offer.name(), %obstacle, "the skills are not up to date");
        if matches!(obstacle, Obstacle::Changing(_)) {
            // If the signal queue is full, the next attempt sends the request again.
            self.signals.send(offer.name(), Signal::ListStale);
        }
    }

    fn take_hints(&mut self, hints: &UpdateHints) {
        let catalog = self.reader.snapshot();
        for uri in &hints.uris {
            let owner = catalog.by_uri(uri.as_str());
            let state = owner.and_then(|owner| self.providers.get_mut(owner.name()));
            if let Some(state) = state {
                state.uri_updated(uri);
            }
        }
        for (name, state) in &mut self.providers {
            if hints.is_incomplete || hints.providers.contains(name) {
                state.may_have_changed();
            }
        }
    }

    /// Returns when the next work is due, if no event happens before.
    fn next_turn(&self) -> Instant {
        let next = self.providers.values().map(ProviderState::next_turn).min();
        next.unwrap_or_else(|| Instant::now() + MAX_PAUSE)
    }
}

fn offers_skills(offer: &Arc<Offer>) -> bool {
    offer.provider.grant().skills
}

/// Logs each problem once.
fn log_problems(offer: &Offer, skills: &ProviderSkills, known: Option<&Arc<ProviderSkills>>) {
    let known = known.map_or(&[][..], |known| known.problems());
    for problem in skills.problems().iter().filter(|one| !known.contains(one)) {
        let text = problem.to_string();
        if offer
            .provider
            .is_first_line("a folder is not a skill", "skill", &text)
        {
            tracing::warn!(provider = %offer.name(), problem = text, "a folder is not a skill");
        }
    }
}
