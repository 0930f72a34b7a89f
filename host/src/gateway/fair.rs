//! What a caller may ask for now, by what his teams have left of their quotas. Where there are no teams nothing is
//! counted here: nobody is there to be fair to.

use std::sync::Arc;

use super::Gateway;
use crate::metrics::Metrics;
use crate::policy::{Admission, Ration, UsedUp};
use crate::resource::Caller;

impl Gateway {
    /// Lets a request in, or says at once why not. Who belongs to several teams asks for the first of them that has
    /// something left: another that floods is no reason to turn him away.
    pub fn admit(&self, caller: &Caller) -> Result<Option<Admission>, UsedUp> {
        first_of(self.rations(caller), Ration::admit)
    }

    /// Lets somebody listen, or says why not.
    pub fn seat(&self, caller: &Caller) -> Result<Option<tokio::sync::OwnedSemaphorePermit>, UsedUp> {
        first_of(self.rations(caller), |ration| ration.listener())
    }

    /// Shows how often something was refused, by team.
    pub fn show_refusals(&self, metrics: &Metrics) {
        for (team, ration) in self.rations.iter() {
            let ration = ration.clone();
            metrics.refusals(team, move || ration.refusals());
        }
    }

    fn rations(&self, caller: &Caller) -> impl Iterator<Item = &Arc<Ration>> {
        caller.teams.iter().filter_map(|team| self.rations.get(team))
    }
}

fn first_of<'a, T>(
    rations: impl Iterator<Item = &'a Arc<Ration>>,
    take: impl Fn(&'a Arc<Ration>) -> Result<T, UsedUp>,
) -> Result<Option<T>, UsedUp> {
    let mut refused = None;
    for ration in rations {
        match take(ration) {
            Ok(taken) => return Ok(Some(taken)),
            Err(used_up) => refused = refused.or(Some(used_up)),
        }
    }
    refused.map_or(Ok(None), Err)
}
