//! Metrics of one team's plugins folder: reconcile passes and component loads.

use std::sync::Arc;

use super::text::{MetricKind, PrometheusText};
use super::value::{Counter, Histogram};
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
    const ALL: [Self; 4] = [Self::Served, Self::Unchanged, Self::Rejected, Self::PendingApproval];

    fn word(self) -> &'static str {
        match self {
            Self::Served => "served",
            Self::Unchanged => "unchanged",
            Self::Rejected => "rejected",
            Self::PendingApproval => "pending-approval",
        }
    }
}

/// Metrics of one team's plugins folder.
#[derive(Debug, Default)]
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
        self.outcomes[outcome as usize].increment();
    }
}

pub(super) fn render(text: &mut PrometheusText, teams: &[(TeamName, Arc<LoadMetrics>)]) {
    let name = "larder_loads_total";
    text.family(name, MetricKind::Counter, "Component loads, by outcome.");
    for (team, loads) in teams {
        for outcome in LoadOutcome::ALL {
            let labels = [("team", team.as_str()), ("outcome", outcome.word())];
            text.sample(name, &labels, loads.outcomes[outcome as usize].get());
        }
    }
    let name = "larder_load_seconds";
    text.family(name, MetricKind::Histogram, "Duration of a component load: reading, compiling and probing.");
    for (team, loads) in teams {
        text.histogram(name, &[("team", team.as_str())], &loads.durations);
    }
    let name = "larder_reconcile_passes_total";
    text.family(name, MetricKind::Counter, "Reconcile passes over a plugins folder.");
    for (team, loads) in teams {
        text.sample(name, &[("team", team.as_str())], loads.passes.get());
    }
}
