//! What is served, what is on its way, and what did not work: all by the component's name.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::AbortHandle;

use super::load::{Load, Loaded, Outcome, Revision};
use super::round::{Arrival, Round};
use super::wanted::Wanted;
use crate::catalog::{Catalog, Offer, Rejected};
use crate::name::ProviderName;
use crate::provider::LoadError;

/// After what time a component is asked again that loaded but did not answer; twice as long each time.
const RETRY: Duration = Duration::from_secs(15);
const LONGEST_RETRY: Duration = Duration::from_secs(600);
/// Far enough away.
const NEVER: Duration = Duration::from_secs(3_600);

/// Everything about all components.
#[derive(Default)]
pub(super) struct State {
    parts: BTreeMap<String, Part>,
    arrivals: u64,
    tickets: u64,
}

/// Everything about one component.
#[derive(Default)]
struct Part {
    /// What was last handled, or is being handled.
    wanted: Option<Wanted>,
    serving: Option<(Arc<Offer>, Revision)>,
    loading: Option<(u64, AbortHandle)>,
    failed: Option<Failed>,
}

struct Failed {
    line: Rejected,
    revision: Option<Revision>,
    retry: Option<(Instant, Duration)>,
}

impl State {
    pub(super) fn is_loading(&self) -> bool {
        self.parts.values().any(|part| part.loading.is_some())
    }

    /// What comes from now on comes after all that is there.
    pub(super) fn arrival(&mut self) {
        self.arrivals += 1;
    }

    /// Lets go what is not wanted any more.
    pub(super) fn keep_only(&mut self, wanted: &[Wanted], round: &mut Round) {
        let wanted: BTreeSet<_> = wanted.iter().map(|wanted| wanted.file.stem()).collect();
        self.parts.retain(|stem, part| {
            let stays = wanted.contains(stem.as_str());
            if !stays {
                part.stop();
                round.gone.extend(part.serving.as_ref().map(|(offer, _)| offer.name().clone()));
                round.forgotten |= part.failed.is_some();
            }
            stays
        });
    }

    /// Starts to load a component, unless that was done for what it is now.
    pub(super) fn want(&mut self, wanted: Wanted, load: &Arc<Load>) {
        let part = self.parts.entry(wanted.file.stem().to_owned()).or_default();
        let is_due = part.failed.as_ref().is_some_and(Failed::is_due) && part.loading.is_none();
        if part.wanted.as_ref() == Some(&wanted) && !is_due {
            return;
        }
        part.stop();
        part.wanted = Some(wanted.clone());
        self.tickets += 1;
        let failed = part.failed.as_ref().filter(|_| !is_due);
        let known = [
            part.serving.as_ref().map(|(_, revision)| revision.clone()),
            failed.and_then(|failed| failed.revision.clone()),
        ];
        part.loading = Some((self.tickets, load.start(self.tickets, wanted, known)));
    }

    /// Asks a provider anew what it offers; its component stays as it is.
    pub(super) fn list_again(&mut self, provider: &ProviderName, load: &Arc<Load>) {
        if let Some((offer, revision)) =
            self.parts.get(provider.as_str()).and_then(|part| part.serving.as_ref())
        {
            load.list_again(offer.provider.clone(), revision.clone());
        }
    }

    /// Takes what came of a load. What was overtaken by a newer one is left alone.
    pub(super) fn take(&mut self, loaded: Loaded, round: &mut Round) {
        let Some(part) = self.parts.get_mut(&loaded.stem) else { return };
        match loaded.ticket {
            Some(ticket) if part.loading.as_ref().is_some_and(|(current, _)| *current == ticket) => {
                part.loading = None
            }
            // A list that was asked for anew belongs to the revision that was asked.
            None if part.serving.as_ref().map(|(_, revision)| revision) == loaded.revision() => {}
            _ => return,
        }
        match loaded.outcome {
            Outcome::Same(revision) => part.is_same(&revision),
            Outcome::Offer(provider, probed, revision) => {
                let since = part.serving.as_ref().map_or(self.arrivals, |(offer, _)| offer.since);
                let offer = Arc::new(Offer::new(provider, probed, since, revision.terms.priority));
                match (loaded.ticket, &part.serving) {
                    (None, _) => round.relisted = true,
                    (_, Some(_)) => round.replaced.push(Arrival::of(&offer)),
                    (_, None) => round.loaded.push(Arrival::of(&offer)),
                }
                part.failed = None;
                part.serving = Some((offer, revision));
            }
            Outcome::Rejected(error, revision) if loaded.ticket.is_none() => {
                let digest = revision.map(|revision| revision.digest.short());
                tracing::warn!(provider = loaded.stem, digest, %error, "its list changed, but the one from before stays");
            }
            Outcome::Rejected(error, revision) => {
                let file = format!("{}.wasm", loaded.stem);
                let digest = revision.as_ref().map(|revision| revision.digest);
                let line = Rejected { file, digest, reason: error.to_string() };
                if part.failed.as_ref().is_none_or(|failed| failed.line != line) {
                    round.rejected.push(line.clone());
                }
                part.failed = Some(Failed { retry: retry(part.failed.as_ref(), &error), line, revision });
            }
        }
    }

    /// When something that did not answer is asked again.
    pub(super) fn next_retry(&self) -> Duration {
        let retries = self.parts.values().filter_map(|part| part.failed.as_ref()?.retry);
        let now = Instant::now();
        retries.map(|(at, _)| at.saturating_duration_since(now)).min().unwrap_or(NEVER)
    }

    pub(super) fn catalog(&self) -> Catalog {
        let offers = self.parts.values().filter_map(|part| Some(part.serving.as_ref()?.0.clone()));
        let rejected = self.parts.values().filter_map(|part| Some(part.failed.as_ref()?.line.clone()));
        Catalog::new(offers.collect(), rejected.collect())
    }
}

impl Part {
    fn stop(&mut self) {
        if let Some((_, load)) = self.loading.take() {
            load.abort();
        }
    }

    /// It turned out to be what is served, or what failed before. If the former, nothing is wrong any more.
    fn is_same(&mut self, revision: &Revision) {
        if self.serving.as_ref().is_some_and(|(_, serving)| serving == revision) {
            self.failed = None;
        }
    }
}

impl Failed {
    fn is_due(&self) -> bool {
        self.retry.is_some_and(|(at, _)| at <= Instant::now())
    }
}

/// A component that does not fit will not fit later; one that did not answer may, when what it needs is there.
fn retry(before: Option<&Failed>, error: &LoadError) -> Option<(Instant, Duration)> {
    if !matches!(error, LoadError::Probe { .. } | LoadError::Unreadable(_)) {
        return None;
    }
    let last = before.and_then(|failed| failed.retry);
    let wait = last.map_or(RETRY, |(_, wait)| (wait * 2).min(LONGEST_RETRY));
    Some((Instant::now() + wait, wait))
}
