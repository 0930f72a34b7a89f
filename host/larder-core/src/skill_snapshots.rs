//! Keeps the skills and the approved pages of a team up to date, in the background. The files of a skill and the pages
//! are read without a caller and kept in memory, so that each read returns the bytes of the published digest. The skills
//! and pages of a provider are built completely and then published in one step; on failure the old ones remain.

mod approval;
mod build;
mod long_list;
mod provider_state;
mod restore;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

#[cfg(any(test, feature = "test-util"))]
use futures_util::FutureExt as _;

use self::approval::ContentApprovals;
use self::build::{Build, Obstacle};
use self::provider_state::ProviderState;
use crate::catalog::{Catalog, Offer, PendingApproval, Reader, SkillWriter, UpdateHints};
use crate::reconcile::Approvals;
use larder_model::name::ProviderName;
use larder_model::policy::ApprovalMode;
use larder_provider::{Signal, SignalSender};
use larder_runtime::drain::Drain;
use larder_skills::ProviderSkills;

/// Maximum size in bytes of the skills and pages of a team, which are in memory. Those that wait for approval take the
/// same again.
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
    /// None if everything is approved.
    approvals: Option<ContentApprovals>,
    providers: BTreeMap<ProviderName, ProviderState>,
}

impl SkillFollower {
    /// Creates a follower. `signals` receives requests to refresh lists that are older than the content.
    pub fn new(
        reader: &Reader,
        writer: SkillWriter,
        signals: &SignalSender,
        drain: &Drain,
    ) -> Self {
        Self {
            reader: reader.clone(),
            writer,
            signals: signals.clone(),
            drain: drain.clone(),
            approvals: None,
            providers: BTreeMap::new(),
        }
    }

    /// From now on, skills and pages of providers in the mode `Ask` need an approval when they change.
    pub fn with_approvals(self, approvals: Approvals) -> Self {
        let approvals = ContentApprovals {
            approvals,
            drain: self.drain.clone(),
        };
        Self {
            approvals: Some(approvals),
            ..self
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
                () = self.writer.approvals_changed() => self.decide_again(),
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

    /// Builds the skills and pages of each provider whose skills or pages may have changed. Cancel safe.
    pub async fn update(&mut self) {
        let catalog = self.reader.snapshot();
        self.remove_others(&catalog);
        for offer in catalog
            .offers()
            .iter()
            .filter(|offer| offer.has_snapshots())
        {
            let state = self.providers.entry(offer.name().clone()).or_default();
            state.follow(offer);
            if state.is_due() && !self.drain.is_stopping() {
                self.build(&catalog, offer).await;
            }
            self.publish(offer).await;
        }
    }

    /// Decides again about what waits for approval.
    pub(crate) fn decide_again(&mut self) {
        for state in self.providers.values_mut() {
            state.decide_again();
        }
    }

    /// Removes the skills and pages of providers that have none any more, are not served or have no grant.
    fn remove_others(&mut self, catalog: &Catalog) {
        let has_snapshots = |offer: &Arc<Offer>| offer.has_snapshots();
        let is_gone = |name: &ProviderName| !catalog.offer(name).is_some_and(has_snapshots);
        let published = self.reader.skills();
        let gone: BTreeSet<_> = published.providers().filter(|name| is_gone(name)).collect();
        for name in gone {
            self.writer.publish(name, None, None);
        }
        self.providers.retain(|name, _| !is_gone(name));
    }

    async fn build(&mut self, catalog: &Arc<Catalog>, offer: &Arc<Offer>) {
        let Some(state) = self.providers.get_mut(offer.name()) else {
            return;
        };
        let known = state.built().cloned();
        if let Some(known) = &known {
            state.check(offer, known).await;
        }
        if !state.is_outdated() {
            return;
        }
        let published = self.reader.skills();
        let build = Build::new(
            catalog,
            offer,
            known.as_ref().filter(|_| state.is_same_revision()),
            MAX_TEAM_BYTES.saturating_sub(published.bytes_without(offer.name())),
            state.request(),
        );
        match self.drain.run_until_stopping(Box::pin(build.run())).await {
            Some(Ok(built)) => state.succeeded(built),
            Some(Err(obstacle)) => {
                state.failed(&obstacle);
                self.wait_for(offer, &obstacle);
            }
            None => {}
        }
    }

    /// Publishes what is approved of the skills and pages that were built. Cancel safe.
    async fn publish(&mut self, offer: &Arc<Offer>) {
        let Some(state) = self.providers.get_mut(offer.name()) else {
            return;
        };
        let Some(built) = state.undecided() else {
            return;
        };
        let approvals = self.approvals.as_ref();
        let approvals = approvals.filter(|_| offer.approval_mode == ApprovalMode::Ask);
        let published = self.reader.skills().of(offer.name()).cloned();
        let published = published.unwrap_or_default();
        match approved(approvals, offer, &built, &published).await {
            Ok(approved) => {
                state.decided();
                log_problems(offer, &approved.offered, &published);
                self.writer
                    .publish(offer.name(), Some(approved.offered), approved.request);
            }
            Err(error) => {
                tracing::error!(provider = %offer.name(), error, "cannot compare skills and pages with their approvals");
                state.decide_later();
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
            let owner = catalog.by_uri(uri.as_str()).map(|owner| owner.name());
            for (name, state) in &mut self.providers {
                // The catalog does not hold the end of a long list.
                if owner.map_or_else(|| state.has_file(uri), |owner| owner == name) {
                    state.uri_updated(uri);
                }
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

/// What is offered of the skills and pages of a provider, and what waits for approval.
struct ApprovedContent {
    offered: Arc<ProviderSkills>,
    request: Option<PendingApproval>,
}

/// Decides what is approved. Without approvals, everything is.
async fn approved(
    approvals: Option<&ContentApprovals>,
    offer: &Offer,
    built: &Arc<ProviderSkills>,
    published: &Arc<ProviderSkills>,
) -> Result<ApprovedContent, String> {
    let Some(approvals) = approvals else {
        return Ok(ApprovedContent {
            offered: built.clone(),
            request: None,
        });
    };
    let decision = approvals.decide(offer, built).await?;
    let known = approvals
        .restore(offer, built, &decision, published)
        .await?;
    let offered = Arc::new(decision.offered(built, &known));
    let request = decision.request(offer, built, &known);
    approvals.store(offer, &offered).await;
    Ok(ApprovedContent { offered, request })
}

/// Logs each problem once.
fn log_problems(offer: &Offer, skills: &ProviderSkills, known: &ProviderSkills) {
    let known = known.problems();
    for problem in skills.problems().iter().filter(|one| !known.contains(one)) {
        let text = problem.to_string();
        if offer.provider.is_first_line("not offered", "skill", &text) {
            tracing::warn!(provider = %offer.name(), problem = text, "not offered");
        }
    }
}
