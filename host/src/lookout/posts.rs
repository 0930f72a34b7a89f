//! What is watched, what is known of each, and which questions are due to whom. It asks nobody itself.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use super::ask::Job;
use super::held::{Answer, Held};
use crate::catalog::{Catalog, Route, Watched};
use crate::name::ProviderName;
use crate::provider::Provider;

/// Hints come later than the changes that they are of. One that comes so soon after the watching began may be
/// of a change that the first answer shows already, and that nobody was told of: told once too often costs a
/// reading, once too few leaves somebody with what is old.
const DOUBT: Duration = Duration::from_secs(3);
/// URIs in one question.
const BATCH: usize = 256;
/// Batches in a row without any answer, after which the rest is left for another time.
const FAILURES: u32 = 8;
/// After a round of questions its provider is left alone for so many times as long as it took.
const REST: u32 = 3;
/// The longest rest of a provider that fails.
const LONGEST_REST: Duration = Duration::from_secs(5 * 60);

/// Everything that is watched.
#[derive(Debug, Default)]
pub(super) struct Posts {
    all: HashMap<Watched, Post>,
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
    /// Those who watch were told by the provider itself what the next answer shows.
    quiet: bool,
    began: Instant,
    /// What is known may be from before or after a change of which a hint came late: the next answer is told.
    doubt: bool,
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

/// Questions to one provider.
#[derive(Debug, Default)]
struct Desk {
    due: HashSet<Watched>,
    busy: bool,
    spent: Duration,
    answered: bool,
    failed: bool,
    /// Questions that were too much for one call are asked in smaller batches, each a quarter of the one before.
    quarters: u32,
    too_much: bool,
    /// Batches in a row in which there was no answer to anything.
    failures: u32,
    rests_until: Option<Instant>,
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
    pub(super) fn begin(&mut self, watched: Watched, catalog: &Catalog) {
        if self.all.contains_key(&watched) {
            return;
        }
        let owners = owners(catalog, &watched);
        self.desk(owners.first()).due.insert(watched.clone());
        self.all.insert(
            watched,
            Post { held: Held::Unknown, owners, quiet: false, began: Instant::now(), doubt: false },
        );
    }

    /// Its provider told those who watch: the next answer is what they know.
    pub(super) fn said(&mut self, watched: &Watched) {
        if let Some(post) = self.all.get_mut(watched) {
            post.quiet = true;
            let owner = post.owners.first().cloned();
            self.desk(owner.as_ref()).due.insert(watched.clone());
        }
    }

    /// Forgets what nobody watches any more.
    pub(super) fn keep(&mut self, watched: &HashSet<Watched>) {
        self.all.retain(|key, _| watched.contains(key));
        self.known = self.all.values().filter(|post| post.held != Held::Unknown).count();
        self.desks.retain(|_, desk| desk.busy || !desk.due.is_empty() || desk.rests_until.is_some());
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
                post.doubt |= post.held == Held::Unknown || post.began.elapsed() < DOUBT;
                due.push((post.owners.first().cloned(), watched.clone()));
            }
        }
        for (owner, watched) in due {
            self.desk(owner.as_ref()).due.insert(watched);
        }
    }

    /// It is time: due is all that is asked in this way, of providers that do not rest.
    pub(super) fn tick(&mut self, way: Way, now: Instant) {
        let mut due: HashMap<Option<ProviderName>, HashSet<Watched>> = HashMap::new();
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
                let Some(post) = self.all.get_mut(&watched) else { continue };
                let first = post.owners.first();
                // It went to another provider meanwhile, and is due there.
                if first.map(|owner| &owner.name) != name.as_ref() {
                    continue;
                }
                batch.provider = first.and_then(|owner| owner.provider.upgrade());
                let (version, quiet) = (post.held.version(), std::mem::take(&mut post.quiet));
                batch.jobs.push(Job { watched, version, quiet });
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
        let Some(post) = self.all.get_mut(&job.watched) else {
            return false;
        };
        let (unknown, failure) = (post.held == Held::Unknown, answer.is_failure());
        if answer == Answer::TooMuch {
            // Asked again soon, and whoever watches still knows what he knew.
            post.quiet |= job.quiet;
            let owner = post.owners.first().cloned();
            let desk = self.desk(owner.as_ref());
            desk.too_much = true;
            desk.due.insert(job.watched.clone());
            return false;
        }
        let news = post.held.take(answer) | (!failure && std::mem::take(&mut post.doubt));
        self.known += usize::from(unknown && post.held != Held::Unknown);
        let (tell, owner) = (news && !job.quiet && !post.quiet, post.owners.first().cloned());
        let desk = self.desk(owner.as_ref());
        *(if failure { &mut desk.failed } else { &mut desk.answered }) = true;
        tell
    }

    /// All answers to a batch are there.
    pub(super) fn finish(&mut self, provider: Option<&ProviderName>, took: Duration, now: Instant) {
        let desk = self.desks.entry(provider.cloned()).or_default();
        desk.busy = false;
        desk.spent += took;
        desk.note();
        if !desk.due.is_empty() {
            return;
        }
        let penalty = match desk.failures {
            0 => Duration::ZERO,
            n => Duration::from_secs(1 << n.min(10)),
        };
        let rest = (desk.spent * REST).max(penalty).min(LONGEST_REST);
        (desk.rests_until, desk.spent) = (Some(now + rest), Duration::ZERO);
    }

    /// Of how many something is known.
    pub(super) fn known(&self) -> usize {
        self.known
    }

    fn desk(&mut self, owner: Option<&Owner>) -> &mut Desk {
        self.desks.entry(owner.map(|owner| owner.name.clone())).or_default()
    }
}

impl Desk {
    fn batch(&self) -> usize {
        (BATCH >> (2 * self.quarters)).max(1)
    }

    /// Draws its conclusions from the batch that came to its end.
    fn note(&mut self) {
        let (answered, failed) = (std::mem::take(&mut self.answered), std::mem::take(&mut self.failed));
        if std::mem::take(&mut self.too_much) {
            self.quarters = (self.quarters + 1).min(4);
        } else if answered && !failed {
            self.quarters = self.quarters.saturating_sub(1);
        }
        self.failures = match (answered, failed) {
            (true, _) => 0,
            (false, true) => self.failures.saturating_add(1),
            (false, false) => self.failures,
        };
        if self.failures >= FAILURES {
            self.due.clear();
        }
    }
}

impl Owner {
    /// None where this revision is gone.
    fn way(&self) -> Option<Way> {
        let provider = self.provider.upgrade()?;
        Some(if provider.tells_versions() { Way::Versions } else { Way::Reading })
    }
}

fn owners(catalog: &Catalog, (team, uri): &Watched) -> Vec<Owner> {
    let offers = catalog.routes(uri).filter_map(|route| match route {
        Route::Matched(offer, _) | Route::Claimed(offer) => Some(offer),
        Route::Refused(_) => None,
    });
    let own = offers.filter(|offer| offer.provider.team() == team);
    own.map(|offer| Owner { name: offer.name().clone(), provider: Arc::downgrade(&offer.provider) }).collect()
}

#[cfg(test)]
mod tests {
    use super::super::held::Print;
    use super::*;
    use crate::name::TeamName;
    use crate::uri::Uri;

    fn watched(n: usize) -> Watched {
        (TeamName::sole(), Uri::parse(&format!("x:{n}")).unwrap())
    }

    fn version(text: &str) -> Answer {
        Answer::Here(Print::of_version(text.into()))
    }

    /// Asks all that is due, and says how many questions and how many news there were.
    fn round(posts: &mut Posts, answer: &Answer) -> (usize, usize) {
        let batches = posts.dispatch();
        let jobs: Vec<Job> = batches.into_iter().flat_map(|batch| batch.jobs).collect();
        let news = jobs.iter().filter(|job| posts.settle(job, answer.clone())).count();
        posts.finish(None, Duration::ZERO, Instant::now());
        (jobs.len(), news)
    }

    #[test]
    fn what_begins_is_asked_once_and_in_batches() {
        let (mut posts, catalog) = (Posts::default(), Catalog::default());
        for n in (0..BATCH + 1).chain(0..BATCH) {
            posts.begin(watched(n), &catalog);
        }
        let asked: Vec<_> = (0..3).map(|_| round(&mut posts, &Answer::Gone)).collect();
        assert_eq!(asked, [(BATCH, 0), (1, 0), (0, 0)]);
        assert_eq!(posts.known(), BATCH + 1);
        posts.keep(&HashSet::from([watched(0)]));
        assert_eq!((posts.known(), posts.all.len()), (1, 1));
    }

    #[test]
    fn a_hint_that_comes_soon_is_told_whatever_the_answer() {
        let mut posts = Posts::default();
        let provider = ProviderName::parse("p").unwrap();
        posts.begin(watched(0), &Catalog::default());
        let owner = Owner { name: provider.clone(), provider: Weak::new() };
        // The first answer is from after the change; the hint of the change comes behind it.
        assert_eq!(round(&mut posts, &version("2")), (1, 0));
        posts.all.get_mut(&watched(0)).unwrap().owners = vec![owner];
        posts.hint(&provider);
        posts.all.get_mut(&watched(0)).unwrap().owners = vec![];
        posts.desk(None).due.insert(watched(0));
        assert_eq!(round(&mut posts, &version("2")), (1, 1));
        posts.desk(None).due.insert(watched(0));
        assert_eq!(round(&mut posts, &version("2")), (1, 0));
    }

    #[test]
    fn what_the_provider_said_is_not_told_again() {
        let mut posts = Posts::default();
        posts.begin(watched(0), &Catalog::default());
        assert_eq!(round(&mut posts, &version("1")), (1, 0));
        posts.said(&watched(0));
        assert_eq!(round(&mut posts, &version("2")), (1, 0));
        posts.desk(None).due.insert(watched(0));
        assert_eq!(round(&mut posts, &version("3")), (1, 1));
        // An answer that was on its way while the provider said so is covered by what it said.
        posts.desk(None).due.insert(watched(0));
        let jobs = posts.dispatch().remove(0).jobs;
        posts.said(&watched(0));
        assert!(!posts.settle(&jobs[0], version("4")));
        posts.finish(None, Duration::ZERO, Instant::now());
        assert_eq!(round(&mut posts, &version("4")), (1, 0));
    }

    #[test]
    fn what_is_too_much_for_one_call_is_asked_in_smaller_ones() {
        let (mut posts, catalog) = (Posts::default(), Catalog::default());
        (0..BATCH).for_each(|n| posts.begin(watched(n), &catalog));
        let asked: Vec<_> = (0..2).map(|_| round(&mut posts, &Answer::TooMuch).0).collect();
        assert_eq!(asked, [BATCH, BATCH / 4]);
        let asked: Vec<_> = (0..4).map(|_| round(&mut posts, &version("1"))).collect();
        assert_eq!(asked, [(BATCH / 16, 0), (BATCH / 4, 0), (BATCH - BATCH / 16 - BATCH / 4, 0), (0, 0)]);
        assert_eq!(posts.known(), BATCH);
    }

    #[test]
    fn who_only_fails_rests_longer_and_longer() {
        let mut posts = Posts::default();
        posts.begin(watched(0), &Catalog::default());
        let now = Instant::now();
        let rest = |posts: &mut Posts, answer: &Answer| {
            posts.desk(None).due.insert(watched(0));
            let jobs = posts.dispatch().remove(0).jobs;
            posts.settle(&jobs[0], answer.clone());
            posts.finish(None, Duration::from_millis(10), now);
            posts.desk(None).rests_until.unwrap() - now
        };
        assert_eq!(rest(&mut posts, &Answer::Failed), Duration::from_secs(2));
        assert_eq!(rest(&mut posts, &Answer::Failed), Duration::from_secs(4));
        assert_eq!(rest(&mut posts, &Answer::Gone), Duration::from_millis(30));
        let long = (0..20).map(|_| rest(&mut posts, &Answer::Failed)).last();
        assert_eq!(long, Some(LONGEST_REST));
    }
}
