//! The only room that loads. What is seen in the folder is compared with what is served; what differs is
//! loaded in the background, and published in one step when it is known to work. Nothing that is wrong with
//! a component is an error here: it is a line in the catalog, and the last good revision keeps serving.

mod approvals;
mod load;
mod notes;
mod orders;
mod pace;
mod relist;
mod round;
mod sight;
mod state;
mod wanted;

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{Notify, Semaphore, mpsc};

pub use self::approvals::{Approvals, ApprovalsError, Held, Imports};
pub use self::load::LARGEST_ASK;
use self::load::{Load, Loaded};
use self::notes::{Note, Notes};
pub use self::orders::{Config, Orders, Terms};
use self::pace::Pace;
use self::relist::Relists;
pub use self::round::{Arrival, Round};
use self::sight::{Looked, Sight};
use self::state::State;
use self::wanted::Wants;
use crate::catalog::Writer;
use crate::drain::Drain;
use crate::health::{Concerns, Health};
use crate::metrics::process::thread_time;
use crate::name::{ProviderName, TeamName};
use crate::policy::Ration;
use crate::sandbox::{Inbox, Outbox, Sandbox, Signal, outbox};
use crate::uri::Uri;

/// Components that are loaded at the same time: one that takes long leaves room for the others.
const LOADS: usize = 4;

/// Compares, loads, publishes.
pub struct Reconcile {
    sight: Sight,
    notes: Notes,
    state: State,
    relists: Relists,
    writer: Writer,
    load: Arc<Load>,
    team: TeamName,
    poll: Duration,
    loaded: mpsc::UnboundedReceiver<Loaded>,
    inbox: Inbox,
    orders: Orders,
    announces: bool,
    /// Until all is loaded that was there at the start: it came at the same time, whenever it is loaded.
    starting: bool,
    health: Health,
    drain: Drain,
}

impl Reconcile {
    /// Nothing is loaded before the first round.
    pub fn new(
        config: Config,
        sandbox: Arc<Sandbox>,
        writer: Writer,
        ration: Option<Arc<Ration>>,
        drain: Drain,
    ) -> Self {
        let (signals, inbox) = outbox();
        let (done, loaded) = mpsc::unbounded_channel();
        let (team, poll) = (config.team.clone(), config.poll);
        let most = ration.as_ref().map_or(usize::MAX, |ration| ration.quota().providers as usize);
        let orders = Orders::new(config);
        let ordered = orders.config();
        let config = ordered.borrow().clone();
        let notes = Notes::new(config.approvals.clone(), team.clone(), drain.clone());
        let load = Load {
            team: team.clone(),
            counts: sandbox.metrics().loads(&team),
            sandbox,
            signals,
            drain: drain.clone(),
            folder: config.relative_to.clone(),
            read_ask: config.read_ask,
            approvals: config.approvals.clone(),
            turns: Semaphore::new(LOADS),
            checks: Semaphore::new(1),
            wake: orders.wake(),
            ration,
            done,
        };
        let mut wants = Wants::new(ordered);
        wants.at_most(most);
        Self {
            sight: Sight::new(wants, drain.clone()),
            notes,
            state: State::default(),
            relists: Relists::default(),
            writer,
            load: Arc::new(load),
            team,
            poll,
            loaded,
            inbox,
            orders,
            announces: true,
            starting: true,
            health: Health::default(),
            drain,
        }
    }

    /// Keeps to itself what is held back: for one who only has a look beside a server.
    pub fn quietly(mut self) -> Self {
        self.announces = false;
        self
    }

    /// Says here when the folder cannot be read.
    pub fn with_health(mut self, health: Health) -> Self {
        self.health = health;
        self
    }

    /// Says "look again".
    pub fn wake(&self) -> Arc<Notify> {
        self.orders.wake()
    }

    /// Where to say what is decided since.
    pub fn orders(&self) -> Orders {
        self.orders.clone()
    }

    /// Where to say that something differs which a provider offers.
    pub fn signals(&self) -> Outbox {
        self.load.signals.clone()
    }

    /// One pass to its end: look, compare, load all, publish once. What a house does before it serves.
    pub async fn round(&mut self) -> Round {
        self.round_within(None).await
    }

    /// The same, but not longer than this: what is not loaded by then comes when it is.
    pub async fn round_within(&mut self, most: Option<Duration>) -> Round {
        let began = Instant::now();
        let mut round = Round::default();
        // Who comes in one round came at the same time, whichever was loaded first.
        self.state.arrival();
        let pass = self.pass(&mut round);
        let ended = match most {
            Some(most) => tokio::time::timeout(most, pass).await.is_ok(),
            None => {
                pass.await;
                true
            }
        };
        if !ended {
            tracing::warn!("not all of its components were loaded in time: each comes when it is");
        }
        self.starting = !ended;
        self.publish(&round);
        round.collisions = self.writer.current().collisions().to_vec();
        round.took = began.elapsed();
        round
    }

    /// May be dropped without loss: what looks and loads goes on.
    async fn pass(&mut self, round: &mut Round) {
        loop {
            self.sight.look();
            let looked = self.sight.seen().await;
            let Some(rest) = self.compare(looked, round) else { break };
            tokio::time::sleep(rest).await;
        }
        while self.state.is_loading() {
            let Some(loaded) = self.loaded.recv().await else { break };
            self.state.take(loaded, round);
        }
    }

    /// Compares what is seen with what is served, starts to load what differs, and lets go what is gone.
    fn compare(&mut self, looked: Looked, round: &mut Round) -> Option<Duration> {
        self.load.counts.rounds.one();
        self.tell_health(&looked);
        round.troubles.extend(looked.troubles);
        let seen = looked.found?;
        self.state.keep_only(&seen.wanted, round);
        for wanted in seen.wanted {
            self.state.want(wanted, &self.load);
        }
        seen.again
    }

    /// A folder that cannot be read is a reason to send nobody here only where nothing is served from before, by
    /// any team: else one could shut the door for all others.
    fn tell_health(&self, looked: &Looked) {
        let (folder, files) = (&looked.unreadable, &looked.unclear);
        for (part, trouble, concerns) in
            [("folder", folder, Concerns::OneTeam), ("files", files, Concerns::Operator)]
        {
            let part = format!("{part} of {}", self.team);
            match trouble {
                Some(trouble) => self.health.wrong(&part, format!("team {}: {trouble}", self.team), concerns),
                None => self.health.right(&part),
            }
        }
    }

    fn publish(&mut self, round: &Round) {
        self.writer.publish(self.state.catalog());
        if round.unseen {
            self.writer.list_changed();
        }
    }

    /// Tells `larder approve`, which is another process, what is held back, and the next start what was served.
    fn write_down(&mut self) {
        if !self.announces {
            return;
        }
        let catalog = self.writer.current();
        let held = catalog.held_back().iter();
        let held = held.map(|held| Held::new(&self.team, &held.provider, held.digest, held.lines.clone()));
        self.notes.take(Note { held: held.collect(), served: self.state.imports() });
    }

    /// Watches the folder, loads what changes, and works off what providers say, until the house stops.
    pub async fn run(mut self) {
        let (drain, wake) = (self.drain.clone(), self.wake());
        self.sight.watch(&wake);
        let mut pace = Pace::new(self.poll);
        self.write_down();
        loop {
            let due = pace.due(self.state.next_retry());
            let lists = Instant::now() + self.relists.next().min(self.state.next_list());
            tokio::select! {
                biased;
                () = drain.stopping() => break,
                (provider, signal) = self.inbox.next() => self.hear(&provider, signal),
                Some(loaded) = self.loaded.recv() => self.charged(|own| own.arrived(loaded)),
                () = self.notes.written() => {}
                // Not after a look: a folder that does not answer is no reason not to ask providers.
                () = tokio::time::sleep_until(lists.into()) => self.ask_for_lists(),
                looked = self.sight.seen() => self.charged(|own| own.seen(looked, &mut pace)),
                () = wake.notified() => pace.wake(),
                () = tokio::time::sleep_until(due.into()), if !self.sight.is_looking() => {
                    pace.begin();
                    self.sight.look();
                }
            }
        }
        // The next start is to know what was served last.
        self.notes.finish().await;
    }

    /// What the host does for a team's lists is charged to the team: its providers are asked again when it is paid.
    fn charged<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let began = thread_time();
        let done = work(self);
        if let Some(ration) = &self.load.ration {
            ration.computed(thread_time().saturating_sub(began));
        }
        done
    }

    fn seen(&mut self, looked: Looked, pace: &mut Pace) {
        let (mut round, saw) = (Round::default(), looked.found.is_some());
        let again = self.compare(looked, &mut round);
        self.starting &= self.state.is_loading();
        pace.end(saw, again);
        // What could not be written before is tried again.
        self.notes.write();
        if !round.is_quiet() {
            self.publish(&round);
            self.write_down();
            round.tell();
        }
    }

    /// A load came to its end.
    fn arrived(&mut self, loaded: Loaded) {
        let mut round = Round { took: loaded.took, ..Round::default() };
        let before = self.writer.current();
        if !self.starting {
            self.state.arrival();
        }
        self.state.take(loaded, &mut round);
        self.starting &= self.state.is_loading();
        for provider in self.state.stale() {
            self.list_again(&provider);
        }
        if round.is_quiet() && !round.relisted {
            return;
        }
        self.publish(&round);
        self.write_down();
        let now = self.writer.current();
        round.collisions =
            now.collisions().iter().filter(|c| !before.collisions().contains(c)).cloned().collect();
        round.tell();
    }

    /// Asks a provider anew for its lists, now or after the pause.
    fn list_again(&mut self, provider: &ProviderName) {
        if self.relists.want(provider) {
            self.state.list_again(provider, &self.load);
        }
    }

    /// Asks those whose pause is over, and those that could not answer before.
    fn ask_for_lists(&mut self) {
        for provider in self.relists.due() {
            self.state.list_again(&provider, &self.load);
        }
        for provider in self.state.lists_due() {
            self.list_again(&provider);
        }
    }

    fn hear(&mut self, provider: &ProviderName, signal: Signal) {
        match signal {
            Signal::Updated(uri) => match Uri::parse(&uri) {
                Ok(uri) if self.writer.current().speaks_for(provider, &uri) => {
                    self.writer.updated(&uri);
                }
                Ok(uri) => {
                    let uri = self.clean(provider, uri.as_str());
                    tracing::warn!(%provider, uri, "it says that a URI was updated which is not its own")
                }
                Err(error) => tracing::warn!(%provider, %error, "it says that something was updated"),
            },
            Signal::ListChanged => {
                self.state.list_differs(provider);
                self.list_again(provider);
            }
            Signal::ListStale => self.list_again(provider),
        }
    }

    /// What a provider said, without what nobody may see; nothing of it where it is not served any more.
    fn clean(&self, provider: &ProviderName, text: &str) -> Option<String> {
        let catalog = self.writer.current();
        let offer = catalog.offers().iter().find(|offer| offer.name() == provider)?;
        Some(offer.provider.grant().secrets.redact(text).into_owned())
    }
}
