//! From a file to a provider: read, compile, probe. Each load is a task of its own, and a file that turns
//! out to hold what is served already costs only its reading.

mod component;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use futures_util::FutureExt as _;
use tokio::sync::{Notify, Semaphore, mpsc};
use tokio::task::AbortHandle;

use self::component::Component;
use super::wanted::Wanted;
use super::{Approvals, ApprovalsError, Terms};
use crate::catalog::HeldBack;
use crate::drain::Drain;
use crate::metrics;
use crate::name::{Digest, ProviderName, TeamName};
use crate::policy::{Approve, Ask, Grant, Ration, granted, import_asks};
use crate::provider::{LoadError, Probed, Provider, Sides};
use crate::sandbox::{Outbox, Rejection, Sandbox};
use crate::source::{Fetched, File};

/// Bytes of the file beside a component.
pub const LARGEST_ASK: u64 = 64 << 10;

/// What makes two revisions the same: the component and its terms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Revision {
    pub(super) digest: Digest,
    pub(super) terms: Terms,
}

/// What a load came to.
pub(super) struct Loaded {
    pub(super) stem: String,
    pub(super) errand: Errand,
    pub(super) outcome: Outcome,
    /// Whether what serves may still have what it has.
    pub(super) covered: bool,
    pub(super) took: Duration,
}

/// What was done, each with a number of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Errand {
    /// A component was loaded.
    Load(u64),
    /// A provider was asked anew for its lists.
    List(u64),
    /// A component that was known by its stamp was read, and is another one.
    Doubt,
}

pub(super) enum Outcome {
    /// It is a revision that is known.
    Same(Revision),
    /// It works.
    Offer(Box<Offered>),
    /// It does not.
    Rejected(LoadError, Option<Revision>),
    /// It asks for more than it may have.
    HeldBack(HeldBack),
}

impl Outcome {
    fn counted_as(&self) -> metrics::Load {
        match self {
            Self::Same(_) => metrics::Load::Same,
            Self::Offer(_) => metrics::Load::Served,
            Self::Rejected(..) => metrics::Load::Rejected,
            Self::HeldBack(_) => metrics::Load::HeldBack,
        }
    }
}

/// A revision that works.
pub(super) struct Offered {
    pub(super) provider: Arc<Provider>,
    pub(super) probed: Probed,
    pub(super) revision: Revision,
    /// What it asks for beyond what its operator granted.
    pub(super) asks: BTreeSet<String>,
}

/// What need not be loaded again, and what the serving revision asks for.
pub(super) struct Known {
    pub(super) serving: Option<Revision>,
    pub(super) asks: Option<BTreeSet<String>>,
    pub(super) failed: Option<Revision>,
}

impl Loaded {
    pub(super) fn revision(&self) -> Option<&Revision> {
        match &self.outcome {
            Outcome::Same(revision) => Some(revision),
            Outcome::Offer(offered) => Some(&offered.revision),
            Outcome::Rejected(_, revision) => revision.as_ref(),
            Outcome::HeldBack(_) => None,
        }
    }
}

/// Makes loads.
pub(super) struct Load {
    pub(super) team: TeamName,
    pub(super) sandbox: Arc<Sandbox>,
    pub(super) counts: Arc<metrics::Loads>,
    pub(super) signals: Outbox,
    pub(super) drain: Drain,
    pub(super) folder: PathBuf,
    pub(super) read_ask: fn(&str, &Path) -> Result<Ask, String>,
    pub(super) approvals: Approvals,
    pub(super) ration: Option<Arc<Ration>>,
    pub(super) turns: Semaphore,
    /// Of those that read what is served already, one at a time.
    pub(super) checks: Semaphore,
    pub(super) wake: Arc<Notify>,
    pub(super) done: mpsc::UnboundedSender<Loaded>,
}

impl Load {
    /// Loads a component in a task of its own, unless it is one of the known revisions.
    pub(super) fn start(self: &Arc<Self>, ticket: u64, wanted: Wanted, known: Known) -> AbortHandle {
        let load = self.clone();
        let task = self.drain.spawn(async move {
            let began = Instant::now();
            let stem = wanted.file.stem().to_owned();
            let (file, mut known_by_stamp) = (wanted.file.clone(), None);
            // Closed never: the semaphore is ours.
            let turn = load.turns.acquire().await;
            // What is one too many is not served, even if it was before there were so many.
            let covered = !wanted.is_too_many && load.covers(&wanted, &known).await;
            let outcome = or_panicked(load.load(wanted, known, &mut known_by_stamp)).await;
            load.counts.ended(outcome.counted_as());
            load.counts.times.note(began.elapsed());
            let errand = Errand::Load(ticket);
            // Nobody is there to take it when the house stops.
            let _ = load.done.send(Loaded { stem, errand, outcome, covered, took: began.elapsed() });
            drop(turn);
            if let Some(revision) = known_by_stamp {
                load.check(&file, revision).await;
            }
        });
        task.abort_handle()
    }

    /// Asks a provider anew what it offers.
    pub(super) fn list_again(
        self: &Arc<Self>,
        ticket: u64,
        provider: Arc<Provider>,
        revision: Revision,
        asks: BTreeSet<String>,
    ) {
        let load = self.clone();
        self.drain.spawn(async move {
            let began = Instant::now();
            let stem = provider.name().to_string();
            let probe = async {
                match provider.probe().await {
                    Ok(probed) => Outcome::Offer(Box::new(Offered { provider, probed, revision, asks })),
                    Err(error) => Outcome::Rejected(error, Some(revision)),
                }
            };
            let (outcome, errand) = (or_panicked(probe).await, Errand::List(ticket));
            let _ = load.done.send(Loaded { stem, errand, outcome, covered: true, took: began.elapsed() });
        });
    }

    /// Whether everything that the serving revision has is still granted or approved: an operator's no counts
    /// whether or not there is something newer to serve.
    async fn covers(&self, wanted: &Wanted, known: &Known) -> bool {
        let (Some(serving), Ok(name)) = (&known.serving, ProviderName::parse(wanted.file.stem())) else {
            return true;
        };
        let had = wanted.ceiling.cut_ask(Ask::for_all_of(&serving.terms.grant));
        if !had.off.is_empty() {
            return false;
        }
        let beyond = had.left.beyond(&wanted.terms.grant);
        // Where approvals cannot be read, nothing is known to have been taken back.
        let missing = self.missing(&name, beyond, wanted.terms.approve).await;
        missing.map_or(true, |missing| missing.is_empty())
    }

    async fn load(&self, wanted: Wanted, known: Known, by_stamp: &mut Option<Revision>) -> Outcome {
        let (mut reached, mut is_known) = (None, false);
        let outcome = self.try_load(wanted, known, &mut reached, &mut is_known).await;
        *by_stamp = reached.clone().filter(|_| is_known);
        outcome.unwrap_or_else(|error| Outcome::Rejected(error, reached))
    }

    /// Read, see what it asks for, compile, probe; where that ends early, `reached` says for which revision.
    async fn try_load(
        &self,
        wanted: Wanted,
        known: Known,
        reached: &mut Option<Revision>,
        is_known: &mut bool,
    ) -> Result<Outcome, LoadError> {
        let name = ProviderName::parse(wanted.file.stem())?;
        if let (true, Some(ration)) = (wanted.is_too_many, &self.ration) {
            return Err(LoadError::TooMany(ration.quota().providers));
        }
        let component = self.identify(&wanted.file, &wanted.terms.grant).await?;
        let digest = component.digest();
        *is_known = matches!(component, Component::Known(_));
        let ask = self.ask(wanted.beside).await?;
        let sides = Sides { asked: ask.lines(), allowed: granted(&wanted.terms.grant) };
        let cut = wanted.ceiling.cut_ask(ask);
        for line in cut.off {
            tracing::warn!(provider = %name, line, "it asks for what its team may not have, and does not get it");
        }
        let ask = cut.left;
        let mut asks = ask.beyond(&wanted.terms.grant);
        let grant = Arc::new(ask.grant(&wanted.terms.grant));
        let revision = Revision { digest, terms: Terms { grant: grant.clone(), ..wanted.terms } };
        *reached = Some(revision.clone());
        let unapproved = self.missing(&name, asks.clone(), revision.terms.approve).await?;
        if !unapproved.is_empty() {
            return Ok(self.held_back(name, digest, unapproved));
        }
        if known.serving.as_ref() == Some(&revision) || known.failed.as_ref() == Some(&revision) {
            return Ok(Outcome::Same(revision));
        }
        let compiled = match component {
            Component::Known(recalled) => self.sandbox.link(recalled)?,
            Component::Read(hashed) => self.sandbox.compile_hashed(&self.team, hashed).await?,
        };
        let imports = import_asks(&compiled.imports, &grant);
        let before = match known.asks {
            Some(serving) => Some(serving),
            None => self.remembered(&name).await?,
        };
        // Toolchains import more than is ever called: of imports, only what the one before did not have counts.
        let is_new = |line: &&String| before.as_ref().is_some_and(|before| !before.contains(*line));
        let news: BTreeSet<_> = imports.iter().filter(is_new).cloned().collect();
        let lines = self.missing(&name, news, revision.terms.approve).await?;
        if !lines.is_empty() {
            return Ok(self.held_back(name, digest, lines));
        }
        // What it imports, whatever its grant covers: a narrower grant later is no reason to ask.
        asks.extend(import_asks(&compiled.imports, &Grant::default()));
        let owner = (name, self.team.clone());
        let provider = Provider::new(
            owner,
            digest,
            compiled,
            grant,
            self.sandbox.clone(),
            self.signals.clone(),
            self.ration.clone(),
        );
        let provider = provider.with_sides(sides);
        let probed = provider.probe().await?;
        Ok(Outcome::Offer(Box::new(Offered { provider: Arc::new(provider), probed, revision, asks })))
    }

    fn held_back(&self, provider: ProviderName, digest: Digest, lines: BTreeSet<String>) -> Outcome {
        let (team, since) = (self.team.clone(), SystemTime::now());
        Outcome::HeldBack(HeldBack { team, provider, digest, lines, since })
    }

    /// Of what is asked for, what nobody approved.
    async fn missing(
        &self,
        name: &ProviderName,
        lines: BTreeSet<String>,
        approve: Approve,
    ) -> Result<BTreeSet<String>, LoadError> {
        if approve == Approve::Always || lines.is_empty() {
            return Ok(BTreeSet::new());
        }
        let name = name.clone();
        self.approved(move |approvals, team| approvals.missing(team, &name, &lines)).await
    }

    /// What the revision imported that was served last, before a restart or before its file was away.
    async fn remembered(&self, name: &ProviderName) -> Result<Option<BTreeSet<String>>, LoadError> {
        let name = name.clone();
        self.approved(move |approvals, team| approvals.served(team, &name)).await
    }

    /// Asks the approvals, which are files.
    async fn approved<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&Approvals, &TeamName) -> Result<T, ApprovalsError> + Send + 'static,
    ) -> Result<T, LoadError> {
        let (approvals, team) = (self.approvals.clone(), self.team.clone());
        let answer = self.drain.spawn_blocking(move || ask(&approvals, &team)).await;
        let answer = answer.map_err(|error| LoadError::Approvals(error.to_string()))?;
        answer.map_err(|error| LoadError::Approvals(error.to_string()))
    }

    /// What the file beside a component says.
    async fn ask(&self, beside: Option<File>) -> Result<Ask, LoadError> {
        let Some(file) = beside else { return Ok(Ask::default()) };
        let (read_ask, folder) = (self.read_ask, self.folder.clone());
        let work = self.drain.spawn_blocking(move || match file.fetch(LARGEST_ASK) {
            Ok(Fetched::Bytes(bytes)) => {
                let text =
                    std::str::from_utf8(&bytes).map_err(|error| LoadError::Beside(error.to_string()))?;
                read_ask(text, &folder).map_err(LoadError::Beside)
            }
            Ok(Fetched::TooLarge(size)) => {
                Err(LoadError::Beside(format!("it has {size} bytes; {LARGEST_ASK} are enough")))
            }
            Err(error) => Err(LoadError::Unreadable(error.to_string())),
        });
        work.await.unwrap_or_else(|error| Err(LoadError::Unreadable(error.to_string())))
    }
}

/// A panic of the engine below is one bad component, and never a load that does not end.
async fn or_panicked(work: impl Future<Output = Outcome>) -> Outcome {
    let ended = std::panic::AssertUnwindSafe(work).catch_unwind().await;
    ended.unwrap_or_else(|_| {
        let gave_up = Rejection::Compiler("the engine gave up on it; the log says why".into());
        Outcome::Rejected(LoadError::Rejected(gave_up), None)
    })
}
