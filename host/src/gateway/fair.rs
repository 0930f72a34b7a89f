//! What a caller may ask for now, by what his teams have left of their quotas. Where there are no teams nothing is
//! counted here: nobody is there to be fair to. What an answer costs is charged to the team of who gave it.

use std::sync::Arc;

use tokio::sync::OwnedSemaphorePermit;

use super::Gateway;
use crate::metrics::Metrics;
use crate::policy::{Ration, UsedUp};
use crate::resource::Caller;

impl Gateway {
    /// Lets a request in, or says at once why not. Who belongs to several teams asks for the first of them that has
    /// something left: another that floods is no reason to turn him away.
    pub fn admit(&self, caller: &Caller) -> Result<(), UsedUp> {
        self.first_of(caller, Ration::request).map(drop)
    }

    /// A place among the requests that are under way, for as long as it is held.
    pub fn place(&self, caller: &Caller) -> Result<Option<OwnedSemaphorePermit>, UsedUp> {
        self.first_of(caller, Ration::place)
    }

    /// Lets somebody listen, or says why not.
    pub fn seat(&self, caller: &Caller) -> Result<Option<OwnedSemaphorePermit>, UsedUp> {
        self.first_of(caller, Ration::listener)
    }

    /// Shows how often something was refused, by team.
    pub fn show_refusals(&self, metrics: &Metrics) {
        for (team, ration) in self.rations.iter() {
            let ration = ration.clone();
            metrics.refusals(team, move || ration.refusals());
        }
    }

    fn first_of<T>(
        &self,
        caller: &Caller,
        take: impl Fn(&Ration) -> Result<T, UsedUp>,
    ) -> Result<Option<T>, UsedUp> {
        let mut refused = None;
        for ration in self.rations_of(caller) {
            match take(ration) {
                Ok(taken) => return Ok(Some(taken)),
                Err(used_up) => refused = refused.or(Some((ration, used_up))),
            }
        }
        let Some((ration, used_up)) = refused else { return Ok(None) };
        ration.refused();
        Err(used_up)
    }

    /// Those whose teams are not served share one: nobody asks without a bound where others have one.
    fn rations_of(&self, caller: &Caller) -> impl Iterator<Item = &Arc<Ration>> {
        let own = caller.teams.iter().filter_map(|team| self.rations.get(team));
        let is_nobodys =
            !self.rations.is_empty() && !caller.teams.iter().any(|team| self.rations.contains_key(team));
        own.chain(is_nobodys.then_some(&self.others))
    }
}
