//! Looks at the folders that providers were granted to read. What happens there is only a hint: it makes
//! the provider's answers and its list worth asking for again.

mod bell;
mod errands;
mod watching;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;

use self::bell::{Bell, Changes};
use self::errands::Errands;
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

/// What is followed, and what is being found out about it.
struct Followed {
    granted: Granted,
    watched: BTreeMap<PathBuf, Watching>,
    errands: Errands<Found>,
    bell: Arc<Bell>,
}

/// What a look at a folder finds.
enum Found {
    /// The folder that is watched already.
    Same,
    /// None.
    Nothing,
    /// Another one, which is watched from now on.
    Another(Watching),
}

impl Folders {
    /// Looks until the house stops.
    pub(super) async fn run(self) {
        let mut published = self.reader.published();
        let bell = Arc::new(Bell::default());
        let errands = Errands::new(self.drain.clone());
        let mut followed =
            Followed { granted: Granted::new(), watched: BTreeMap::new(), errands, bell: bell.clone() };
        let mut look = super::every(self.look);
        loop {
            tokio::select! {
                () = self.drain.stopping() => return,
                (path, found, again) = followed.errands.back() => {
                    followed.take(&path, found);
                    if again && followed.granted.contains_key(&path) {
                        followed.look(&path, self.poll);
                    }
                    continue;
                }
                Ok(()) = published.changed() => {}
                _ = look.tick() => {}
                () = bell.rung() => {
                    if !self.pause(SETTLE).await {
                        return;
                    }
                    // Whoever came meanwhile may have looked before it happened.
                    followed.granted = self.granted(&followed);
                    self.tell(followed.touched(&bell.take())).await;
                    if !self.pause(PAUSE).await {
                        return;
                    }
                }
            }
            followed.granted = self.granted(&followed);
            followed.look_at_all(self.poll);
        }
    }

    /// False if the house stops meanwhile.
    async fn pause(&self, time: Duration) -> bool {
        tokio::select! {
            () = self.drain.stopping() => false,
            () = tokio::time::sleep(time) => true,
        }
    }

    /// Who may read what now. What happened between the answer of one who is new and this moment nobody told him.
    fn granted(&self, followed: &Followed) -> Granted {
        let granted = granted(&self.reader.snapshot());
        for (path, providers) in &granted {
            let before = followed.granted.get(path);
            if before.is_some_and(|before| !providers.is_subset(before)) {
                followed.bell.changed(path.clone());
            }
        }
        granted
    }

    async fn tell(&self, providers: BTreeSet<ProviderName>) {
        for provider in providers {
            tracing::debug!(%provider, "something changed in a folder that it may read");
            self.signals.say(&provider, Signal::ListChanged);
            let _ = self.hints.send(provider).await;
        }
    }
}

impl Followed {
    /// Who may read where something happened.
    fn touched(&self, changes: &Changes) -> BTreeSet<ProviderName> {
        let touched = self.granted.iter().filter(|(path, _)| {
            let watched = self.watched.get(*path);
            changes.touch(path) || watched.is_some_and(|watching| changes.touch(&watching.place.path))
        });
        touched.flat_map(|(_, providers)| providers).cloned().collect()
    }

    /// Looks at each folder that is granted now. Folders come, go and are replaced, and a system's watch stays with the
    /// old one.
    fn look_at_all(&mut self, poll: Duration) {
        self.watched.retain(|path, _| self.granted.contains_key(path));
        let paths: Vec<_> = self.granted.keys().cloned().collect();
        for path in paths {
            self.look(&path, poll);
        }
    }

    fn look(&mut self, path: &Path, poll: Duration) {
        let before = self.watched.get(path).map(|watching| watching.place.clone());
        let (granted, bell) = (path.to_owned(), self.bell.clone());
        self.errands.send(path, move || match Place::at(&granted) {
            None => Found::Nothing,
            now if now == before => Found::Same,
            Some(place) => Found::Another(Watching::begin(place, poll, &bell)),
        });
    }

    /// Takes what came of a look. What is watched until then goes on being watched.
    fn take(&mut self, path: &Path, found: Option<Found>) {
        let differs = match found {
            None | Some(Found::Same) => false,
            Some(Found::Nothing) => self.watched.remove(path).is_some(),
            Some(Found::Another(watching)) => {
                let is_granted = self.granted.contains_key(path);
                if is_granted {
                    self.watched.insert(path.to_owned(), watching);
                }
                is_granted
            }
        };
        if differs {
            // What happened between the provider's answer and this moment nobody saw.
            self.bell.changed(path.to_owned());
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
