//! Admission of requests by the quotas of the caller's teams. Without teams there are no quotas. The cost of
//! a response is charged to the team of its provider.

use std::sync::Arc;

use tokio::sync::OwnedSemaphorePermit;

use super::{Gateway, State};
use larder_model::policy::{QuotaExceeded, QuotaUsage};
use larder_model::resource::Caller;
use larder_runtime::metrics::{ComputedFamily, Metrics};

impl Gateway {
    /// Admits a request, or rejects it at once. A caller in several teams is charged to the first team with
    /// quota left, so that a team that exhausted its quota does not block those who belong to another team as
    /// well.
    pub fn admit(&self, caller: &Caller) -> Result<(), QuotaExceeded> {
        self.first_with_quota(caller, QuotaUsage::admit_request).map(drop)
    }

    /// Acquires a permit for a request in flight.
    pub fn request_permit(&self, caller: &Caller) -> Result<Option<OwnedSemaphorePermit>, QuotaExceeded> {
        self.first_with_quota(caller, QuotaUsage::request_permit)
    }

    /// Acquires a permit for a notification stream.
    pub fn stream_permit(&self, caller: &Caller) -> Result<Option<OwnedSemaphorePermit>, QuotaExceeded> {
        self.first_with_quota(caller, QuotaUsage::stream_permit)
    }

    /// Registers the number of rejected requests, by team.
    pub fn register_refusal_metrics(&self, metrics: &Metrics) {
        let state = self.state.clone();
        let refusals = ComputedFamily::counters(move |samples| {
            let state = state.load();
            let mut quotas = state.quotas.iter();
            quotas.try_for_each(|(team, quota)| samples.counter(&[("team", team.as_str())], quota.refusals()))
        });
        let help = "Requests refused because the team's quota was exhausted";
        metrics.register("larder_quota_refusals", help, refusals);
    }

    fn first_with_quota<T>(
        &self,
        caller: &Caller,
        acquire: impl Fn(&QuotaUsage) -> Result<T, QuotaExceeded>,
    ) -> Result<Option<T>, QuotaExceeded> {
        let state = self.state.load();
        let mut rejected = None;
        for quota in self.quotas_of(&state, caller) {
            match acquire(quota) {
                Ok(permit) => return Ok(Some(permit)),
                Err(exceeded) => rejected = rejected.or(Some((quota, exceeded))),
            }
        }
        let Some((quota, exceeded)) = rejected else { return Ok(None) };
        quota.count_refusal();
        Err(exceeded)
    }

    /// If there are quotas, callers without a team that has one share the default quota.
    fn quotas_of<'a>(
        &'a self,
        state: &'a State,
        caller: &'a Caller,
    ) -> impl Iterator<Item = &'a Arc<QuotaUsage>> {
        let quotas = &state.quotas;
        let own = caller.teams.iter().filter_map(|team| quotas.get(team));
        let has_no_quota = !quotas.is_empty() && !caller.teams.iter().any(|team| quotas.contains_key(team));
        own.chain(has_no_quota.then_some(&self.default_quota))
    }
}
