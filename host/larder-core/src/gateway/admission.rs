//! Admission of requests by the quota of the caller's first team. Without teams there are no quotas. The cost of a
//! response is charged to the team of its provider.

use tokio::sync::OwnedSemaphorePermit;

use super::{Gateway, State};
use larder_model::policy::{QuotaExceeded, QuotaUsage};
use larder_model::resource::Caller;
use larder_runtime::metrics::{ComputedFamily, Metrics};

impl Gateway {
    /// Admits a request, or rejects it at once. The first team of a caller pays for all of its requests. When its quota
    /// is used up, no other team pays, because the other members of that team would then be refused.
    pub fn admit(&self, caller: &Caller) -> Result<(), QuotaExceeded> {
        self.charge_quota(caller, QuotaUsage::admit_request)
            .map(drop)
    }

    /// Acquires a permit for a request in flight.
    pub fn request_permit(
        &self,
        caller: &Caller,
    ) -> Result<Option<OwnedSemaphorePermit>, QuotaExceeded> {
        self.charge_quota(caller, QuotaUsage::request_permit)
    }

    /// Acquires a permit for a notification stream.
    pub fn stream_permit(
        &self,
        caller: &Caller,
    ) -> Result<Option<OwnedSemaphorePermit>, QuotaExceeded> {
        self.charge_quota(caller, QuotaUsage::stream_permit)
    }

    /// Registers the number of rejected requests, by team.
    pub fn register_refusal_metrics(&self, metrics: &Metrics) {
        let state = self.state.clone();
        let refusals = ComputedFamily::counters(move |samples| {
            let state = state.load();
            let mut quotas = state.quotas.iter();
            quotas.try_for_each(|(team, quota)| {
                samples.counter(&[("team", team.as_str())], quota.refusals())
            })
        });
        let help = "Requests refused because the team's quota was exhausted";
        metrics.register("larder_quota_refusals", help, refusals);
    }

    fn charge_quota<T>(
        &self,
        caller: &Caller,
        acquire: impl Fn(&QuotaUsage) -> Result<T, QuotaExceeded>,
    ) -> Result<Option<T>, QuotaExceeded> {
        let state = self.state.load();
        let Some(quota) = self.quota_of(&state, caller) else {
            return Ok(None);
        };
        acquire(quota)
            .map(Some)
            .inspect_err(|_| quota.count_refusal())
    }

    /// If there are quotas, callers whose team has none share the default quota.
    fn quota_of<'a>(&'a self, state: &'a State, caller: &Caller) -> Option<&'a QuotaUsage> {
        let own = caller.teams.first().and_then(|team| state.quotas.get(team));
        match own {
            Some(own) => Some(own),
            None if state.quotas.is_empty() => None,
            None => Some(&self.default_quota),
        }
    }
}
