//! Metrics of one team's plugins folder: reconcile passes and component loads.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

use super::value::Histogram;
use larder_model::name::TeamName;

/// How loading a component ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadOutcome {
    /// A new revision is served.
    Served,
    /// The component is a revision that was loaded before.
    Unchanged,
    /// The component was rejected.
    Rejected,
    /// The component waits for the operator's approval.
    PendingApproval,
}

impl LoadOutcome {
    const ALL: [Self; 4] = [
        Self::Served,
        Self::Unchanged,
        Self::Rejected,
        Self::PendingApproval,
    ];

    fn label(self) -> &'static str {
        match self {
            Self::Served => "served",
            Self::Unchanged => "unchanged",
            Self::Rejected => "rejected",
            Self::PendingApproval => "pending-approval",
        }
    }
}

/// Metrics of one team's plugins folder.
#[derive(Debug)]
pub struct LoadMetrics {
    outcomes: [Counter; LoadOutcome::ALL.len()],
    /// Duration of loads.
    pub durations: Histogram,
    /// Reconcile passes over the folder.
    pub passes: Counter,
}

impl LoadMetrics {
    /// Counts a load that ended.
    pub fn record(&self, outcome: LoadOutcome) {
        self.outcomes[outcome as usize].inc();
    }
}

/// The labels of a sample: the team, and in one family also the outcome.
type Labels<const N: usize> = [(&'static str, String); N];

/// The metrics of all teams.
#[derive(Debug, Default)]
pub(super) struct LoadFamilies {
    outcomes: Family<Labels<2>, Counter>,
    durations: Family<Labels<1>, Histogram>,
    passes: Family<Labels<1>, Counter>,
}

impl LoadFamilies {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let all = Self::default();
        registry.register(
            "larder_loads",
            "Component loads, by outcome",
            all.outcomes.clone(),
        );
        let help = "Duration of a component load: reading, compiling and probing";
        registry.register("larder_load_seconds", help, all.durations.clone());
        let help = "Reconcile passes over a plugins folder";
        registry.register("larder_reconcile_passes", help, all.passes.clone());
        all
    }

    pub(super) fn of(&self, team: &TeamName) -> LoadMetrics {
        let labels = [("team", team.to_string())];
        let outcomes = LoadOutcome::ALL.map(|outcome| {
            let [team] = labels.clone();
            self.outcomes
                .get_or_create_owned(&[team, ("outcome", outcome.label().to_owned())])
        });
        LoadMetrics {
            outcomes,
            durations: self.durations.get_or_create_owned(&labels),
            passes: self.passes.get_or_create_owned(&labels),
        }
    }
}
