//! What is watched, what is known of each, and which questions are due to whom. It asks nobody itself.

mod desk;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use self::desk::Desk;
use super::ask::Job;
use super::held::{Answer, Held};
use crate::catalog::{Catalog, Route};
use crate::name::ProviderName;
use crate::provider::Provider;
use crate::uri::Uri;

/// Hints come later than the changes that they are of. One that comes so soon after the watching began may be
/// of a change that the first answer shows already, and that nobody was told of: told once too often costs a
/// reading, once too few leaves somebody with what is old.
const DOUBT: Duration = Duration::from_secs(3);
/// What a provider said covers what it is asked right after. What is asked later may show a later change as well.
const COVERED: Duration = Duration::from_secs(1);

/// Everything that is watched.
#[derive(Debug, Default)]
pub(super) struct Posts {
    all: HashMap<Uri, Post>,
    /// By the provider that is asked first; none for what nobody offers.
    desks: HashMap<Option<ProviderName>, Desk>,
    known: usize,
}

/// One URI that is watched.
#[derive(Debug)]
struct Post {
    held: Held,
    /// Whom a reader's question would reach, in order.
    owners: Vec<Owner>,
    /// When those who watch were told by the provider itself what the next answer shows.
    said: Option<Instant>,
    began: Instant,
    /// What is known may be from before or after a change of which a hint came late: the next answer is told.
    doubt: bool,
    /// A question is under way that was not answered yet, and what the provider had said before it.
    asked: Option<Option<Instant>>,
}

/// A revision of a provider. It does not keep the revision alive.
#[derive(Debug, Clone)]
struct Owner {
    name: ProviderName,
    provider: Weak<Provider>,
}

impl PartialEq for Owner {
    fn eq(&self, other: &Self) -> bool {
        self.provider.ptr_eq(&other.provider)
    }
}

/// How a provider is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// For versions.
    Versions,
    /// By reading.
    Reading,
}

/// What is asked together.
pub(super) struct Batch {
    /// The one to ask first; none where there is none.
    pub(super) provider: Option<Arc<Provider>>,
    pub(super) jobs: Vec<Job>,
}

impl Posts {
    /// Somebody watches it from now on. What it holds is asked soon, to compare with later.
    pub(super) fn begin(&mut self, watched: Uri, catalog: &Catalog) {
        if self.all.contains_key(&watched) {
            return;
        }
        let owners = owners(catalog, &watched);
        self.desk(owners.first()).due.insert(watched.clone());
        let (held, began) = (Held::Unknown, Instant::now());
        self.all.insert(watched, Post { held, owners, said: None, began, doubt: false, asked: None });
    }

    /// Its provider told those who watch: the next answer is what they know.
    pub(super) fn said(&mut self, watched: &Uri) {
        if let Some(post) = self.all.get_mut(watched) {
            post.said = Some(Instant::now());
            let owner = post.owners.first().cloned();
            self.desk(owner.as_ref()).due.insert(watched.clone());
        }
    }

    /// Forgets what nobody watches any more.
    pub(super) fn keep(&mut self, watched: &HashSet<Uri>) {
        self.all.retain(|key, _| watched.contains(key));
        self.known = self.all.values().filter(|post| post.held != Held::Unknown).count();
        self.desks.retain(|_, desk| {
            desk.left.retain(|key| watched.contains(key));
            desk.busy || !desk.due.is_empty() || !desk.left.is_empty() || desk.rests_until.is_some()
        });
    }

    /// A newer catalog: what has other owners, or other revisions of them, is due.
    pub(super) fn compare(&mut self, catalog: &Catalog) {
        let mut due = Vec::new();
        for (watched, post) in &mut self.all {
            let owners = owners(catalog, watched);
            if owners != post.owners {
                due.push((owners.first().cloned(), watched.clone()));
                post.owners = owners;
            }
        }
        for (owner, watched) in due {
            self.desk(owner.as_ref()).due.insert(watched);
        }
    }

    /// Something happened that may have changed what this provider answers.
    pub(super) fn hint(&mut self, provider: &ProviderName) {
        let mut due = Vec::new();
        for (watched, post) in &mut self.all {
            if post.owners.iter().any(|owner| owner.name == *provider) {
                // What the provider said may be of an earlier change, and would hide this one.
                let hidden = post.said.is_some() || matches!(post.asked, Some(Some(_)));
                post.doubt |= hidden || post.held == Held::Unknown || post.began.elapsed() < DOUBT;
                due.push((post.owners.first().cloned(), watched.clone()));
            }
        }
        for (owner, watched) in due {
            self.desk(owner.as_ref()).due.insert(watched);
        }
    }

    /// It is time: due is all that is asked in this way, of providers that do not rest.
    pub(super) fn tick(&mut self, way: Way, now: Instant) {
        let mut due: HashMap<Option<ProviderName>, HashSet<Uri>> = HashMap::new();
        for (watched, post) in &self.all {
            let Some(owner) = post.owners.first() else { continue };
            if owner.way() == Some(way) {
                due.entry(Some(owner.name.clone())).or_default().insert(watched.clone());
            }
        }
        for (name, due) in due {
            let desk = self.desks.entry(name).or_default();
            let rests = desk.rests_until.is_some_and(|until| now < until);
            if !rests && !desk.busy && desk.due.is_empty() {
                desk.due = due;
            }
        }
    }

    /// What can be asked now: one batch for each provider that is not being asked.
    pub(super) fn dispatch(&mut self) -> Vec<Batch> {
        let mut batches = Vec::new();
        for (name, desk) in &mut self.desks {
            if desk.busy || desk.due.is_empty() {
                continue;
            }
            let mut batch = Batch { provider: None, jobs: Vec::new() };
            let some: Vec<_> = desk.due.iter().take(desk.batch()).cloned().collect();
            for watched in some {
                desk.due.remove(&watched);
                desk.left.remove(&watched);
                let Some(post) = self.all.get_mut(&watched) else { continue };
                let first = post.owners.first();
                // It went to another provider meanwhile, and is due there.
                if first.map(|owner| &owner.name) != name.as_ref() {
                    continue;
                }
                batch.provider = first.and_then(|owner| owner.provider.upgrade());
                let (version, said) = (post.held.version(), post.said.take());
                let quiet = said.is_some_and(|at| at.elapsed() < COVERED);
                post.asked = Some(said);
                batch.jobs.push(Job { uri: watched, version, quiet });
            }
            // Without its provider there is a newer catalog, which makes all of it due again.
            if !batch.jobs.is_empty() && batch.provider.is_some() == name.is_some() {
                desk.busy = true;
                batches.push(batch);
            }
        }
        batches
    }

    /// Takes in an answer, and says whether those who watch have to hear of it.
    pub(super) fn settle(&mut self, job: &Job, answer: Answer) -> bool {
        let Some(post) = self.all.get_mut(&job.uri) else {
            return false;
        };
        let (unknown, failure) = (post.held == Held::Unknown, answer.is_failure());
        if answer == Answer::TooMuch {
            // Asked again soon, and whoever watches still knows what he knew.
            post.put_off();
            let owner = post.owners.first().cloned();
            let desk = self.desk(owner.as_ref());
            desk.too_much = true;
            desk.due.insert(job.uri.clone());
            return false;
        }
        let is_answer = !failure && answer != Answer::NotNow;
        if is_answer {
            post.asked = None;
        }
        let news = post.held.take(answer) && !job.quiet && post.said.is_none();
        let tell = news | (is_answer && std::mem::take(&mut post.doubt));
        self.known += usize::from(unknown && post.held != Held::Unknown);
        let owner = post.owners.first().cloned();
        let desk = self.desk(owner.as_ref());
        *(if failure { &mut desk.failed } else { &mut desk.answered }) = true;
        tell
    }

    /// All answers to a batch are there that will come. What got none is asked again in a while.
    pub(super) fn finish(
        &mut self,
        provider: Option<&ProviderName>,
        asked: &[Uri],
        took: Duration,
        now: Instant,
    ) {
        let desk = self.desks.entry(provider.cloned()).or_default();
        for watched in asked {
            let Some(post) = self.all.get_mut(watched) else { continue };
            if !post.put_off() {
                continue;
            }
            // What went to another provider meanwhile is due there.
            if post.owners.first().map(|owner| &owner.name) == provider {
                desk.left.insert(watched.clone());
            }
        }
        desk.finish(took, now);
    }

    /// When what got no answer is asked again.
    pub(super) fn next_retry(&self) -> Option<Instant> {
        self.desks.values().filter(|desk| !desk.busy).filter_map(|desk| desk.again_at).min()
    }

    /// It is time for those that got no answer.
    pub(super) fn retry(&mut self, now: Instant) {
        let is_due = |desk: &&mut Desk| !desk.busy && desk.again_at.is_some_and(|at| at <= now);
        for desk in self.desks.values_mut().filter(is_due) {
            desk.again_at = None;
            desk.due.extend(desk.left.drain());
        }
    }

    /// Of how many something is known.
    pub(super) fn known(&self) -> usize {
        self.known
    }

    fn desk(&mut self, owner: Option<&Owner>) -> &mut Desk {
        self.desks.entry(owner.map(|owner| owner.name.clone())).or_default()
    }
}

impl Post {
    /// The question that is under way was not answered; what was said before it is still said. False if there is none.
    fn put_off(&mut self) -> bool {
        let Some(said) = self.asked.take() else { return false };
        self.said = self.said.or(said);
        true
    }
}

impl Owner {
    /// None where this revision is gone.
    fn way(&self) -> Option<Way> {
        let provider = self.provider.upgrade()?;
        Some(if provider.tells_versions() { Way::Versions } else { Way::Reading })
    }
}

fn owners(catalog: &Catalog, uri: &Uri) -> Vec<Owner> {
    let offers = catalog.routes(uri).filter_map(|route| match route {
        Route::Listed(offer) | Route::Matched(offer, _) | Route::Claimed(offer) => Some(offer),
        Route::Refused(_) => None,
    });
    offers
        .map(|offer| Owner { name: offer.name().clone(), provider: Arc::downgrade(&offer.provider) })
        .collect()
}

#[cfg(test)]
mod tests;
