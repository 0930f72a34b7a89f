//! Looks at the folders that providers were granted to read. What happens there is only a hint: it makes
//! the provider's answers and its list worth asking for again.

mod bell;
mod watching;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;

use self::bell::{Bell, Changes};
use self::watching::{Place, Watching};
use crate::catalog::{Catalog, Reader};
use crate::drain::Drain;
use crate::name::ProviderName;
use crate::policy::Access;
use crate::sandbox::{Outbox, Signal};

/// What is written in one go is looked at once.
const SETTLE: Duration = Duration::from_millis(50);
/// What is written all the time is looked at no more often than this.
const PAUSE: Duration = Duration::from_millis(250);

pub(super) struct Folders {
    pub(super) reader: Reader,
    /// How often is looked whether a folder was replaced.
    pub(super) look: Duration,
    /// How often a folder is gone through that the system does not watch for us.
    pub(super) poll: Duration,
    pub(super) hints: mpsc::Sender<ProviderName>,
    pub(super) signals: Outbox,
    pub(super) drain: Drain,
}

/// Folders, and who may read them.
type Granted = BTreeMap<PathBuf, BTreeSet<ProviderName>>;

impl Folders {
    /// Looks until the house stops.
    pub(super) async fn run(self) {
        let mut published = self.reader.published();
        let bell = Arc::new(Bell::default());
        let mut watching = Watching::default();
        loop {
            let granted = granted(&self.reader.snapshot());
            watching = self.follow(watching, &granted, &bell).await;
            tokio::select! {
                () = self.drain.stopping() => return,
                Ok(()) = published.changed() => {}
                () = tokio::time::sleep(self.look) => {}
                () = bell.rung() => {
                    if !self.pause(SETTLE).await {
                        return;
                    }
                    self.tell(&granted, &watching, &bell.take()).await;
                    if !self.pause(PAUSE).await {
                        return;
                    }
                }
            }
        }
    }

    /// False if the house stops meanwhile.
    async fn pause(&self, time: Duration) -> bool {
        tokio::select! {
            () = self.drain.stopping() => false,
            () = tokio::time::sleep(time) => true,
        }
    }

    /// Watches what is granted now. Folders come, go and are replaced, and a system's watch stays with the old one.
    async fn follow(&self, old: Watching, granted: &Granted, bell: &Arc<Bell>) -> Watching {
        let paths: Vec<PathBuf> = granted.keys().cloned().collect();
        let (bell, poll) = (bell.clone(), self.poll);
        let work = move || {
            let places: BTreeMap<_, _> =
                paths.into_iter().filter_map(|path| Some((path.clone(), Place::at(&path)?))).collect();
            if places == old.places {
                return old;
            }
            let differs = |path: &&PathBuf| old.places.get(*path) != places.get(*path);
            let differing: Vec<_> = places.keys().chain(old.places.keys()).filter(differs).cloned().collect();
            drop(old);
            let watching = Watching::begin(places, poll, &bell);
            // What happened between the provider's answer and this moment nobody saw; and all were unwatched for
            // a moment, not only those that differ.
            differing.into_iter().chain(watching.places.keys().cloned()).for_each(|path| bell.changed(path));
            watching
        };
        self.drain.spawn_blocking(work).await.unwrap_or_default()
    }

    async fn tell(&self, granted: &Granted, watching: &Watching, changes: &Changes) {
        let touched = granted.iter().filter(|(path, _)| {
            changes.touch(path) || watching.places.get(*path).is_some_and(|place| changes.touch(&place.path))
        });
        let providers: BTreeSet<_> = touched.flat_map(|(_, providers)| providers).collect();
        for provider in providers {
            tracing::debug!(%provider, "something changed in a folder that it may read");
            let _ = self.hints.send(provider.clone()).await;
            self.signals.say(provider, Signal::ListChanged);
        }
    }
}

/// A folder that a provider may write to is left out: what the provider writes there while it is asked
/// would make it worth asking again, for ever.
fn granted(catalog: &Catalog) -> Granted {
    let mut granted = Granted::new();
    for offer in catalog.offers() {
        for dir in offer.provider.grant().dirs.iter().filter(|dir| dir.access == Access::Read) {
            granted.entry(dir.host.clone()).or_default().insert(offer.name().clone());
        }
    }
    granted
}
