//! The configuration while the house runs. Whom to believe is read by itself: who takes a credential back waits for no
//! folder of any team, and for no mending of what else is wrong in the file.

use std::sync::Arc;

use tokio::sync::Notify;

use super::follow::Follow;
use super::keeping::Keeping;
use crate::config::Config;
use crate::drain::Drain;
use crate::endpoint::auth::Gate;
use crate::health::Health;
use crate::name::TeamName;
use crate::reconcile::Orders;

/// Reads the configuration again whenever it differs.
pub(super) struct Reread {
    config: Config,
    gate: Gate,
    teams: Vec<(TeamName, Orders)>,
    health: Health,
    wakes: [Arc<Notify>; 2],
}

impl Reread {
    /// None where there is no file.
    pub(super) fn new(
        config: &Config,
        gate: &Gate,
        teams: impl Iterator<Item = (TeamName, Orders)>,
        health: &Health,
    ) -> Option<Self> {
        config.file.as_ref()?;
        let (config, gate, health) = (config.clone(), gate.clone(), health.clone());
        Some(Self { config, gate, teams: teams.collect(), health, wakes: Default::default() })
    }

    /// Who say "look again".
    pub(super) fn wakes(&self) -> impl Iterator<Item = Arc<Notify>> {
        self.wakes.iter().cloned()
    }

    /// Follows the file from now on.
    pub(super) fn keep_up(self, keeping: &Keeping, drain: &Drain) {
        let Some(file) = self.config.file.clone() else { return };
        let known = self.config.seen;
        let poll = self.config.teams.values().map(|team| team.reconcile.poll).min().unwrap_or_default();
        let [first, second] = self.wakes;
        let follow =
            |what, wake| Follow { what, file: file.clone(), known, poll, health: self.health.clone(), wake };
        let credentials = follow("the credentials", first).run(drain.clone(), {
            let config = self.config.clone();
            move || believe(&config, &self.gate)
        });
        keeping.spawn("credentials", credentials);
        let (config, teams) = (self.config, self.teams);
        let rest = follow("the configuration", second);
        keeping.spawn("configuration", rest.run(drain.clone(), move || order(&config, &teams)));
    }
}

fn believe(config: &Config, gate: &Gate) -> Result<(), String> {
    let believed = config.believed(&gate.config()).map_err(|error| error.to_string())?;
    gate.believe(believed.auth);
    match believed.faults {
        None => Ok(()),
        Some(faults) => Err(format!(
            "those that were taken out hold no more, and others are as they were until this is mended: {faults}"
        )),
    }
}

fn order(config: &Config, teams: &[(TeamName, Orders)]) -> Result<(), String> {
    let mut again = config.again().map_err(|faults| format!("it stays as it was: {faults}"))?;
    for key in again.later {
        tracing::warn!(key, "changed; it takes effect at the next start");
    }
    for team in again.new {
        tracing::warn!(
            "[team.{team}] is new: it comes at the next start, and until then those who belong to it are shown nothing of it"
        );
    }
    for (team, orders) in teams {
        match again.now.remove(team) {
            Some(config) => orders.give(config),
            None => tracing::warn!("there is no [team.{team}] any more: it goes at the next start"),
        }
    }
    Ok(())
}
