//! The only room that loads. A round compares the folder with the catalog, loads what is new on a thread
//! of its own, and publishes one new catalog. Nothing that is wrong with a component is an error here:
//! it is a line in the catalog, and the last good revision keeps serving.

mod load;
mod round;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::mpsc;

pub use self::load::load;
pub use self::round::Round;
use crate::catalog::{Catalog, Offer, Rejected, Writer};
use crate::drain::Drain;
use crate::name::{Digest, ProviderName, TeamName};
use crate::policy::Grant;
use crate::sandbox::{Sandbox, Signal};
use crate::source::{File, Folder};
use crate::uri::Uri;

/// Signals of providers that may wait to be worked off.
const SIGNALS: usize = 4_096;

/// What the operator decides about loading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The folder with the components.
    pub plugins: PathBuf,
    /// Whose it is.
    pub team: TeamName,
    /// Providers that the configuration names.
    pub terms: BTreeMap<ProviderName, Terms>,
    /// All others.
    pub default: Terms,
}

/// On what terms a provider is served.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Terms {
    /// What it gets.
    pub grant: Arc<Grant>,
    /// Decides, before the name does, who keeps a URI that two offer.
    pub priority: i32,
}

/// Compares, loads, publishes.
pub struct Reconcile {
    config: Config,
    folder: Folder,
    sandbox: Arc<Sandbox>,
    writer: Writer,
    drain: Drain,
    rounds: u64,
    signals: mpsc::Sender<(ProviderName, Signal)>,
    inbox: mpsc::Receiver<(ProviderName, Signal)>,
}

/// What became of one file in a round.
enum Outcome {
    Kept(Arc<Offer>),
    Loaded(Arc<Offer>),
    Rejected(Rejected),
}

impl Reconcile {
    /// Nothing is loaded before the first round.
    pub fn new(config: Config, sandbox: Arc<Sandbox>, writer: Writer, drain: Drain) -> Self {
        let (signals, inbox) = mpsc::channel(SIGNALS);
        let folder = Folder::new(config.plugins.clone());
        Self { config, folder, sandbox, writer, drain, rounds: 0, signals, inbox }
    }

    /// One pass: look, compare, load, publish.
    pub async fn round(&mut self) -> Round {
        self.rounds += 1;
        let began = std::time::Instant::now();
        let old = self.writer.current();
        let mut round = Round::default();
        let files = self.folder.look().unwrap_or_else(|error| {
            round.trouble = Some(format!("cannot look into {}: {error}", self.folder.path().display()));
            Vec::new()
        });
        let mut offers = Vec::new();
        let mut rejected = Vec::new();
        for file in &files {
            match self.settle(file, &old).await {
                Outcome::Kept(offer) => offers.push(offer),
                Outcome::Loaded(offer) => {
                    round.loaded.push(offer.name().clone());
                    offers.push(offer);
                }
                Outcome::Rejected(line) => {
                    // A revision that does not load leaves the one before it in place.
                    offers.extend(find(&old, file.stem()).cloned());
                    round.rejected.extend((!old.rejected().contains(&line)).then(|| line.clone()));
                    rejected.push(line);
                }
            }
        }
        round.gone = gone(&old, &offers);
        self.writer.publish(Catalog::new(offers, rejected));
        round.collisions = self.writer.current().collisions().to_vec();
        round.took = began.elapsed();
        round
    }

    async fn settle(&self, file: &File, old: &Catalog) -> Outcome {
        let known = find(old, file.stem());
        let terms = self.terms(file.stem());
        let reject = |digest, error: &crate::provider::LoadError| {
            let reason = error.to_string();
            Outcome::Rejected(Rejected { file: file.name.clone(), digest, reason })
        };
        let bytes = match load::read(file, &terms.grant, &self.drain).await {
            Ok(bytes) => bytes,
            Err(error) => return reject(None, &error),
        };
        let digest = Digest::of(&bytes);
        if let Some(offer) = known.filter(|offer| offer.provider.digest() == digest) {
            return Outcome::Kept(offer.clone());
        }
        let same = |line: &&Rejected| line.file == file.name && line.digest == Some(digest);
        if let Some(line) = old.rejected().iter().find(same) {
            return Outcome::Rejected(line.clone());
        }
        let since = known.map_or(self.rounds, |offer| offer.since);
        match self.load(file, bytes, &terms, since).await {
            Ok(offer) => Outcome::Loaded(Arc::new(offer)),
            Err(error) => reject(Some(digest), &error),
        }
    }

    async fn load(
        &self,
        file: &File,
        bytes: bytes::Bytes,
        terms: &Terms,
        since: u64,
    ) -> Result<Offer, crate::provider::LoadError> {
        let name = ProviderName::parse(file.stem())?;
        let owner = (name, self.config.team.clone());
        let (provider, probed) =
            load(owner, bytes, terms.grant.clone(), &self.sandbox, &self.signals, &self.drain).await?;
        Ok(Offer::new(Arc::new(provider), probed, since, terms.priority))
    }

    fn terms(&self, stem: &str) -> Terms {
        let named = ProviderName::parse(stem).ok().and_then(|name| self.config.terms.get(&name));
        named.unwrap_or(&self.config.default).clone()
    }

    /// Works off what providers say during their calls, until the house stops.
    pub async fn run(mut self) {
        let drain = self.drain.clone();
        loop {
            tokio::select! {
                () = drain.stopping() => return,
                Some((provider, signal)) = self.inbox.recv() => self.hear(&provider, signal).await,
            }
        }
    }

    async fn hear(&mut self, provider: &ProviderName, signal: Signal) {
        let now = self.writer.current();
        match signal {
            Signal::Updated(uri) => match Uri::parse(&uri) {
                Ok(uri) if now.speaks_for(provider, &uri) => self.writer.updated(&self.config.team, &uri),
                Ok(uri) => {
                    tracing::warn!(%provider, ?uri, "it says that a URI was updated which is not its own")
                }
                Err(error) => tracing::warn!(%provider, %error, "it says that something was updated"),
            },
            Signal::ListChanged => self.list_again(&now, provider).await,
        }
    }

    /// Asks a provider anew for what it offers; its component stays as it is.
    async fn list_again(&mut self, now: &Catalog, provider: &ProviderName) {
        let Some(offer) = find(now, provider.as_str()) else {
            return;
        };
        match offer.provider.probe().await {
            Ok(probed) => {
                let fresh = Offer::new(offer.provider.clone(), probed, offer.since, offer.priority);
                let offers = now
                    .offers()
                    .iter()
                    .map(|offer| if offer.name() == provider { None } else { Some(offer.clone()) });
                let offers = offers.flatten().chain([Arc::new(fresh)]).collect();
                self.writer.publish(Catalog::new(offers, now.rejected().to_vec()));
            }
            Err(error) => {
                tracing::warn!(%provider, %error, "its list changed, but the list from before stays")
            }
        }
    }
}

fn find<'a>(catalog: &'a Catalog, stem: &str) -> Option<&'a Arc<Offer>> {
    catalog.offers().iter().find(|offer| offer.name().as_str() == stem)
}

fn gone(old: &Catalog, offers: &[Arc<Offer>]) -> Vec<ProviderName> {
    let is_there = |name: &ProviderName| offers.iter().any(|offer| offer.name() == name);
    old.offers().iter().map(|offer| offer.name()).filter(|name| !is_there(name)).cloned().collect()
}
