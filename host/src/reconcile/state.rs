//! What is served, what is on its way, and what did not work: all by the component's name.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use tokio::task::AbortHandle;

use super::approvals::Imports;
use super::load::{Errand, Known, Load, Loaded, Offered, Outcome, Revision};
use super::round::{Arrival, Round};
use super::wanted::Wanted;
use crate::catalog::{Catalog, HeldBack, Offer, Rejected};
use crate::name::ProviderName;
use crate::provider::LoadError;
use crate::sandbox::Rejection;

/// After what time a component is asked again that loaded but did not answer; twice as long each time.
const RETRY: Duration = Duration::from_secs(15);
const LONGEST_RETRY: Duration = Duration::from_secs(600);
/// The same for its lists, of which older ones serve meanwhile.
const LIST_RETRY: Duration = Duration::from_millis(500);
/// Notes about one provider in a line of the log; `larder status` has them all.
const NOTES: usize = 10;
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
    serving: Option<Serving>,
    loading: Option<(u64, AbortHandle)>,
    failed: Option<Failed>,
    held_back: Option<HeldBack>,
    relist: Relist,
}

/// Asking a provider anew for its lists: one question at a time, so that no older answer comes last.
#[derive(Default)]
struct Relist {
    running: Option<u64>,
    again: bool,
    /// The provider says that its lists differ, and not only that they might. It holds until a newer list is there,
    /// however often and late it is asked for.
    said: bool,
    /// When it is asked again, as it could not answer, and after what time.
    retry: Option<(Instant, Duration)>,
}

struct Serving {
    offer: Arc<Offer>,
    revision: Revision,
    /// What it asks for, which a newer one may ask for as well.
    asks: BTreeSet<String>,
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
                round.gone.extend(part.serving.as_ref().map(|serving| serving.offer.name().clone()));
                round.over.extend(part.is_wrong().then(|| stem.clone()));
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
        let known = Known {
            serving: part.serving.as_ref().map(|serving| serving.revision.clone()),
            asks: part.serving.as_ref().map(|serving| serving.asks.clone()),
            failed: failed.and_then(|failed| failed.revision.clone()),
        };
        part.loading = Some((self.tickets, load.start(self.tickets, wanted, known)));
    }

    /// A provider says that its lists differ.
    pub(super) fn list_differs(&mut self, provider: &ProviderName) {
        if let Some(part) = self.parts.get_mut(provider.as_str()) {
            part.relist.said = true;
        }
    }

    /// Asks a provider anew what it offers; its component stays as it is.
    pub(super) fn list_again(&mut self, provider: &ProviderName, load: &Arc<Load>) {
        let Some(part) = self.parts.get_mut(provider.as_str()) else { return };
        match &part.serving {
            // What is being loaded may have listed before the change.
            Some(serving) if part.loading.is_none() && part.relist.running.is_none() => {
                self.tickets += 1;
                part.relist.running = Some(self.tickets);
                let Serving { offer, revision, asks } = serving;
                load.list_again(self.tickets, offer.provider.clone(), revision.clone(), asks.clone());
            }
            _ => part.relist.again = true,
        }
    }

    /// Those that have to be asked anew now that what was under way has ended.
    pub(super) fn stale(&mut self) -> Vec<ProviderName> {
        let idle =
            |part: &&mut Part| part.relist.again && part.loading.is_none() && part.relist.running.is_none();
        let stale = self.parts.values_mut().filter(idle).filter_map(|part| {
            part.relist.again = false;
            part.serving.as_ref().map(|serving| serving.offer.name().clone())
        });
        stale.collect()
    }

    /// Those that could not say what they list, and are asked again now.
    pub(super) fn lists_due(&mut self) -> Vec<ProviderName> {
        let (now, mut due) = (Instant::now(), Vec::new());
        for part in self.parts.values_mut().filter(|part| part.awaits_list()) {
            if let (Some((at, wait)), Some(serving)) = (&mut part.relist.retry, &part.serving)
                && *at <= now
            {
                // Once, even if it is not asked at once.
                *at = now + *wait;
                due.push(serving.offer.name().clone());
            }
        }
        due
    }

    /// How long until the next of them is due.
    pub(super) fn next_list(&self) -> Duration {
        let waiting = self.parts.values().filter(|part| part.awaits_list());
        soonest(waiting.filter_map(|part| part.relist.retry))
    }

    /// Takes what came of a load. What was overtaken by a newer one is left alone.
    pub(super) fn take(&mut self, loaded: Loaded, round: &mut Round) {
        let Some(part) = self.parts.get_mut(&loaded.stem) else { return };
        match loaded.errand {
            Errand::Load(ticket) if part.loading.as_ref().is_some_and(|(current, _)| *current == ticket) => {
                part.loading = None;
            }
            Errand::List(ticket) if part.relist.running == Some(ticket) => {
                part.relist.running = None;
                // Another revision serves by now.
                if part.serving.as_ref().map(|serving| &serving.revision) != loaded.revision() {
                    return;
                }
            }
            // The next look reads it.
            Errand::Doubt => return part.wanted = None,
            _ => return,
        }
        let relisted = matches!(loaded.errand, Errand::List(_));
        if !loaded.covered && matches!(loaded.outcome, Outcome::HeldBack(_) | Outcome::Rejected(..)) {
            part.withdraw(round);
        }
        match loaded.outcome {
            Outcome::Same(revision) => round.over.extend(part.is_same(&revision).then_some(loaded.stem)),
            Outcome::Offer(offered) => part.serve(*offered, relisted, self.arrivals, round),
            Outcome::Rejected(error, revision) if relisted => {
                // Whatever kept it from answering may pass. What is not its contract's is so for good.
                let is_passing = matches!(error, LoadError::Probe { .. });
                part.relist.retry = is_passing.then(|| later(part.relist.retry, LIST_RETRY));
                let digest = revision.map(|revision| revision.digest.short());
                tracing::warn!(provider = loaded.stem, digest, %error, "its list changed, but the one from before stays");
            }
            Outcome::Rejected(error, revision) => part.fail(&loaded.stem, &error, revision, round),
            Outcome::HeldBack(held) => {
                let held = held.or_before(part.held_back.as_ref());
                if part.held_back.as_ref() != Some(&held) {
                    round.held_back.push(held.clone());
                }
                part.failed = None;
                part.held_back = Some(held);
            }
        }
    }

    /// By provider, the imports of what is served that would let it reach out.
    pub(super) fn imports(&self) -> Imports {
        let serving = self.parts.values().filter_map(|part| part.serving.as_ref());
        let imports = |asks: &BTreeSet<String>| {
            asks.iter().filter(|line| line.starts_with("import ")).cloned().collect()
        };
        serving.map(|serving| (serving.offer.name().to_string(), imports(&serving.asks))).collect()
    }

    /// When something that did not answer is asked again.
    pub(super) fn next_retry(&self) -> Duration {
        let waiting = self.parts.values().filter(|part| part.loading.is_none());
        soonest(waiting.filter_map(|part| part.failed.as_ref()?.retry))
    }

    pub(super) fn catalog(&self) -> Catalog {
        let parts = || self.parts.values();
        let offers = parts().filter_map(|part| Some(part.serving.as_ref()?.offer.clone()));
        let rejected = parts().filter_map(|part| Some(part.failed.as_ref()?.line.clone()));
        let held_back = parts().filter_map(|part| part.held_back.clone());
        Catalog::new(offers.collect(), rejected.collect(), held_back.collect())
    }
}

impl Part {
    fn stop(&mut self) {
        if let Some((_, load)) = self.loading.take() {
            load.abort();
        }
    }

    /// It serves what it listed before, and nobody is asking it.
    fn awaits_list(&self) -> bool {
        self.serving.is_some() && self.loading.is_none() && self.relist.running.is_none()
    }

    fn is_wrong(&self) -> bool {
        self.failed.is_some() || self.held_back.is_some()
    }

    /// It turned out to be what is served, or what failed before. If the former, nothing is wrong any more.
    /// Says whether something was.
    fn is_same(&mut self, revision: &Revision) -> bool {
        if !self.serving.as_ref().is_some_and(|serving| serving.revision == *revision) {
            return false;
        }
        let wrong = self.is_wrong();
        (self.failed, self.held_back) = (None, None);
        wrong
    }

    /// The last good revision keeps serving, but not with what its operator took from it.
    fn withdraw(&mut self, round: &mut Round) {
        if let Some(serving) = self.serving.take() {
            let name = serving.offer.name().clone();
            tracing::warn!(provider = %name, "it is not served any more: what it was granted was taken back");
            round.gone.push(name);
        }
    }

    fn serve(&mut self, offered: Offered, again: bool, arrival: u64, round: &mut Round) {
        let Offered { provider, probed, revision, asks } = offered;
        let since = self.serving.as_ref().map_or(arrival, |serving| serving.offer.since);
        let offer = Arc::new(Offer::new(provider, probed, since, revision.terms.priority));
        let before = self.serving.as_ref().map(|serving| &serving.offer.left_out);
        if before.is_none_or(|before| *before != offer.left_out) {
            round.left_out.extend(left_out(&offer));
        }
        self.relist.retry = None;
        // What the host is not shown, it cannot compare: it believes who says so, and takes another revision for a reason.
        let is_unseen = offer.rest.is_some() || offer.is_personal();
        if again {
            round.relisted = true;
            round.unseen |= std::mem::take(&mut self.relist.said) && is_unseen;
        } else {
            round.unseen |= self.serving.is_some() && is_unseen;
            let told = if self.serving.is_some() { &mut round.replaced } else { &mut round.loaded };
            told.push(Arrival::of(&offer));
            (self.failed, self.held_back) = (None, None);
        }
        self.serving = Some(Serving { offer, revision, asks });
    }

    fn fail(&mut self, stem: &str, error: &LoadError, revision: Option<Revision>, round: &mut Round) {
        let digest = revision.as_ref().map(|revision| revision.digest);
        let (file, reason, since) = (format!("{stem}.wasm"), error.to_string(), SystemTime::now());
        let before = self.failed.as_ref().map(|failed| &failed.line);
        let line = Rejected { file, digest, reason, since }.or_before(before);
        if self.failed.as_ref().is_none_or(|failed| failed.line != line) {
            round.rejected.push(line.clone());
        }
        self.held_back = None;
        // Once approvals can be read again, it is not the same any more.
        let revision = revision.filter(|_| !matches!(error, LoadError::Approvals(_)));
        self.failed = Some(Failed { retry: retry(self.failed.as_ref(), error), line, revision });
    }
}

impl Failed {
    fn is_due(&self) -> bool {
        self.retry.is_some_and(|(at, _)| at <= Instant::now())
    }
}

/// What was left out of its lists, or changed, in one sentence.
fn left_out(offer: &Offer) -> Option<String> {
    let (secrets, notes) = (&offer.provider.grant().secrets, offer.left_out.iter().take(NOTES));
    let mut notes: Vec<_> = notes.map(|note| secrets.redact(note).into_owned()).collect();
    if let more @ 1.. = offer.left_out.len().saturating_sub(NOTES) {
        notes.push(format!("and {more} more"));
    }
    (!notes.is_empty()).then(|| format!("left out or changed in {}: {}", offer.name(), notes.join(", ")))
}

/// A component that does not fit will not fit later; one that did not answer may, when what it needs is there,
/// and a compiler may have ended for reasons of its own.
fn retry(before: Option<&Failed>, error: &LoadError) -> Option<(Instant, Duration)> {
    let is_passing = match error {
        LoadError::Probe { .. }
        | LoadError::Unreadable(_)
        | LoadError::Approvals(_)
        | LoadError::Beside(_) => true,
        LoadError::Rejected(rejection) => matches!(rejection, Rejection::Compiler(_)),
        LoadError::BadName(_) | LoadError::TooLarge { .. } | LoadError::TooMany(_) => false,
    };
    if !is_passing {
        return None;
    }
    Some(later(before.and_then(|failed| failed.retry), RETRY))
}

/// When to try again, and after what time that is: twice as long as before.
fn later(before: Option<(Instant, Duration)>, first: Duration) -> (Instant, Duration) {
    let wait = before.map_or(first, |(_, wait)| (wait * 2).min(LONGEST_RETRY));
    (Instant::now() + wait, wait)
}

fn soonest(retries: impl Iterator<Item = (Instant, Duration)>) -> Duration {
    let now = Instant::now();
    retries.map(|(at, _)| at.saturating_duration_since(now)).min().unwrap_or(NEVER)
}
