//! All that one team has of its own, and shares with no other: its folder, its catalog, what keeps that up to date.

use std::sync::Arc;

use tokio::sync::Notify;
use tracing::Instrument as _;

use super::keeping::Keeping;
use crate::catalog::{self, Reader};
use crate::config::{self, Config};
use crate::drain::Drain;
use crate::endpoint::auth::Gate;
use crate::health::Health;
use crate::lookout::{self, Lookout};
use crate::name::TeamName;
use crate::policy::Ration;
use crate::reconcile::{Reconcile, Reread};
use crate::sandbox::{Outbox, Sandbox};

/// What runs for one team.
pub(super) struct Team {
    pub(super) reader: Reader,
    pub(super) signals: Outbox,
    /// None where there are no teams: then nobody is there to be fair to.
    pub(super) ration: Option<Arc<Ration>>,
    reconcile: Reconcile,
    lookout: Lookout,
    /// Log lines tell of which team they are where there are several.
    span: tracing::Span,
}

/// What all teams are built with.
#[derive(Clone)]
pub(super) struct Ground {
    pub(super) sandbox: Arc<Sandbox>,
    pub(super) drain: Drain,
    pub(super) health: Health,
    pub(super) watched_uris: usize,
    pub(super) lookout: lookout::Config,
}

impl Team {
    /// Nothing of it is loaded yet.
    pub(super) fn new(config: config::Team, ground: Ground, reread: Option<Reread>) -> Self {
        let Ground { sandbox, drain, health, watched_uris, lookout } = ground;
        let name = config.reconcile.team.clone();
        let span = match config.quota {
            Some(_) => tracing::error_span!("team", %name),
            None => tracing::Span::none(),
        };
        let ration = config.quota.map(|quota| Arc::new(Ration::new(quota)));
        let (writer, reader) = catalog::catalog(name, watched_uris);
        let herald = writer.herald();
        let reconcile = Reconcile::new(config.reconcile, sandbox, writer, ration.clone(), drain.clone());
        let reconcile = reconcile.with_health(health);
        let reconcile = match reread {
            Some(reread) => reconcile.with_reread(reread),
            None => reconcile,
        };
        let signals = reconcile.signals();
        let lookout = Lookout::new(lookout, reader.clone(), herald, signals.clone(), drain);
        Self { reader, signals, ration, reconcile, lookout, span }
    }

    /// Loads what is in its folder.
    pub(super) async fn load(&mut self) {
        let round = self.reconcile.round().instrument(self.span.clone()).await;
        self.span.in_scope(|| tracing::debug!(%round, "loaded"));
    }

    /// Says "look again".
    pub(super) fn wake(&self) -> Arc<Notify> {
        self.reconcile.wake()
    }

    /// Follows the folder and what providers say. Who only has a look beside a server does not announce what is
    /// held back: that is for the server to say.
    pub(super) fn keep_up(self, keeping: &Keeping, announces: bool) {
        let reconcile = if announces { self.reconcile } else { self.reconcile.quietly() };
        keeping.spawn("reconcile", reconcile.run().instrument(self.span.clone()));
        keeping.spawn("lookout", self.lookout.run().instrument(self.span));
    }
}

/// How this team's part of the configuration is read again when the file changes. One of the teams does what is for
/// all of them: it says what takes effect later, and to the gate whom to believe now.
pub(super) fn reread(config: &Config, team: &TeamName, gate: &Gate) -> Option<Reread> {
    let gate = gate.clone();
    let says = config.teams.keys().next() == Some(team);
    let (file, config, team) = (config.file.clone()?, config.clone(), team.clone());
    let read = move || {
        let mut again = config.again().map_err(|error| error.to_string())?;
        if says {
            for key in again.later {
                tracing::warn!(key, "changed; it takes effect at the next start");
            }
            gate.believe(again.auth);
        }
        again
            .now
            .remove(&team)
            .ok_or_else(|| format!("there is no [team.{team}] any more; it goes at the next start"))
    };
    Some(Reread { file, read: Arc::new(read) })
}
