//! All that one team has of its own, and shares with no other: its folder, its catalog, what keeps that up to date.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tracing::Instrument as _;

use super::keeping::Keeping;
use crate::catalog::{self, Reader};
use crate::config;
use crate::drain::Drain;
use crate::health::Health;
use crate::lookout::{self, Lookout};
use crate::policy::Ration;
use crate::reconcile::{Orders, Reconcile};
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
    pub(super) fn new(config: config::Team, ground: Ground) -> Self {
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
        let signals = reconcile.signals();
        let lookout = Lookout::new(lookout, reader.clone(), herald, signals.clone(), drain);
        Self { reader, signals, ration, reconcile, lookout, span }
    }

    /// Loads what is in its folder, or as much of it as there is time for.
    pub(super) async fn load(&mut self, most: Option<Duration>) {
        let round = self.reconcile.round_within(most).instrument(self.span.clone()).await;
        self.span.in_scope(|| tracing::debug!(%round, "loaded"));
    }

    /// Says "look again".
    pub(super) fn wake(&self) -> Arc<Notify> {
        self.reconcile.wake()
    }

    /// Where to say what it is given from now on.
    pub(super) fn orders(&self) -> Orders {
        self.reconcile.orders()
    }

    /// Follows the folder and what providers say. Who only has a look beside a server does not announce what is
    /// held back: that is for the server to say.
    pub(super) fn keep_up(self, keeping: &Keeping, announces: bool) {
        let reconcile = if announces { self.reconcile } else { self.reconcile.quietly() };
        keeping.spawn("reconcile", reconcile.run().instrument(self.span.clone()));
        keeping.spawn("lookout", self.lookout.run().instrument(self.span));
    }
}
