//! The turn of a team at searching. What is done in it is charged to the team as CPU time.

use std::sync::Arc;

use crate::gateway::Gateway;
use larder_model::name::TeamName;
use larder_model::policy::QuotaUsage;
use larder_model::text_index::ChargeTime;
use larder_runtime::low_priority_threads::LowPriorityThreads;
use larder_runtime::metrics::process::thread_cpu_time;
use larder_runtime::turns::{EQUAL_WEIGHT, Turn};

/// The turn of a team. It ends on drop, although what runs in it may still run.
pub(super) struct SearchTurn {
    _turn: Turn,
    quota_usage: Option<Arc<QuotaUsage>>,
    threads: Arc<LowPriorityThreads>,
}

impl Gateway {
    /// Waits for the turn of a team. If the team has no CPU time left, its turn begins when it has some.
    pub(super) async fn search_turn(&self, team: &TeamName) -> Option<SearchTurn> {
        let quota_usage = self.state.load().quotas.get(team).cloned();
        let mut weight = EQUAL_WEIGHT;
        if let Some(quota_usage) = &quota_usage {
            while let Some(wait) = quota_usage.cpu_wait() {
                tokio::time::sleep(wait).await;
            }
            weight = quota_usage.quota().cpu;
        }
        Some(SearchTurn {
            _turn: self.search_turns.take(team, weight).await?,
            quota_usage,
            threads: self.low_priority_threads.clone(),
        })
    }
}

impl SearchTurn {
    /// Runs work on a thread of lower priority, and charges its CPU time.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> T {
        let charge = self.charge();
        let charged = move || {
            let start = thread_cpu_time();
            let output = work();
            charge(thread_cpu_time().saturating_sub(start));
            output
        };
        self.threads.run(charged).await
    }

    /// What charges CPU time to the team.
    pub(super) fn charge(&self) -> ChargeTime {
        let quota_usage = self.quota_usage.clone();
        Box::new(move |time| {
            if let Some(quota_usage) = quota_usage {
                quota_usage.charge_cpu(time);
            }
        })
    }
}
