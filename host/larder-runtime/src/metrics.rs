//! Metrics and their export in a text format. Recording costs a few atomic operations: no lock, no allocation.
//! Labels are names of teams and providers, or fixed words, never a URI or text from a guest. The metrics of a
//! provider are dropped with its last revision, so the number of label values stays bounded.
//!
//! Families are registered without `_total` and without the final full stop of the help text, because prometheus-client
//! adds both.

mod call_totals;
mod family;
mod loads;
mod outcome;
pub mod process;
mod provider;
mod providers;
mod refusal;
mod sampler;
mod server;
mod text;
mod value;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;

pub use prometheus_client::registry::Registry;

pub use self::call_totals::CallTotals;
pub use self::family::{ComputedFamily, Samples};
use self::loads::LoadFamilies;
pub use self::loads::{LoadMetrics, LoadOutcome};
pub use self::outcome::Outcome;
pub use self::provider::{
    CacheResult, ConnectOutcome, CredentialOutcome, KeyValueResult, LastError, ProviderMetrics,
};
use self::providers::Providers;
pub use self::refusal::{Refusal, RefusalCounters};
use self::sampler::ProcessHistory;
pub use self::server::{METHODS, ProtocolEra, ServerMetrics, WriteCounters};
pub use self::text::TextFormat;
pub use self::value::{GaugeGuard, Histogram, HistogramCounts};
use crate::health::{Health, Impact};
use crate::history::{CallerVolumes, EventLog};
use larder_model::name::{ProviderName, TeamName};

/// All metrics of the process. Clones share the same values.
#[derive(Clone)]
pub struct Metrics(Arc<Inner>);

struct Inner {
    registry: Mutex<Registry>,
    gauges: Mutex<BTreeMap<&'static str, Gauge>>,
    server: ServerMetrics,
    loads: LoadFamilies,
    providers: Providers,
    process: ProcessHistory,
    events: EventLog,
    callers: CallerVolumes,
    started: SystemTime,
}

/// Returns the value of a gauge that another part of the server stores.
type Gauge = Arc<dyn Fn() -> u64 + Send + Sync>;

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Metrics")
    }
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::default();
        let started = SystemTime::now();
        process::register(&mut registry, started);
        let server = ServerMetrics::register(&mut registry);
        let loads = LoadFamilies::register(&mut registry);
        let providers = Providers::default();
        providers.register(&mut registry);
        Self(Arc::new(Inner {
            registry: Mutex::new(registry),
            gauges: Mutex::default(),
            server,
            loads,
            providers,
            process: ProcessHistory::default(),
            events: EventLog::default(),
            callers: CallerVolumes::default(),
            started,
        }))
    }
}

impl Metrics {
    /// Metrics of the server as a whole.
    pub fn server(&self) -> &ServerMetrics {
        &self.0.server
    }

    /// Start time of the process.
    pub fn started(&self) -> SystemTime {
        self.0.started
    }

    /// Metrics of one team's plugins folder. They are never dropped, because teams come from the
    /// configuration.
    pub fn load_metrics(&self, team: &TeamName) -> LoadMetrics {
        self.0.loads.of(team)
    }

    /// Metrics of one provider, shared by all its live revisions. Called once for each revision, when it is
    /// loaded.
    pub fn provider(&self, team: &TeamName, name: &ProviderName) -> Arc<ProviderMetrics> {
        self.0.providers.get_or_create((team.clone(), name.clone()))
    }

    /// Registers a gauge whose value another part of the server stores.
    pub fn register_gauge(
        &self,
        name: &'static str,
        help: &'static str,
        value: impl Fn() -> u64 + Send + Sync + 'static,
    ) {
        let value: Gauge = Arc::new(value);
        self.0.gauges.lock().insert(name, value.clone());
        self.register(
            name,
            help,
            ComputedFamily::gauges(move |samples| samples.gauge(&[], value())),
        );
    }

    /// Registers how many problems the server has, by their impact.
    pub fn register_problems(&self, health: &Health) {
        let health = health.clone();
        let problems = ComputedFamily::gauges(move |samples| {
            let problems = health.problems();
            Impact::ALL.iter().try_for_each(|impact| {
                let count = problems
                    .iter()
                    .filter(|problem| problem.impact == *impact)
                    .count();
                samples.gauge(&[("impact", impact.label())], count as u64)
            })
        });
        self.register(
            "larder_problems",
            "Current problems of the server, by impact",
            problems,
        );
    }

    /// The value of a gauge that was registered with [`Self::register_gauge`]; 0 if there is no gauge of this name.
    pub fn gauge(&self, name: &str) -> u64 {
        // The gauge is not called under the lock, because its value may need locks of its own.
        let gauge = self.0.gauges.lock().get(name).cloned();
        gauge.map_or(0, |value| value())
    }

    /// The events of the process.
    pub fn events(&self) -> &EventLog {
        &self.0.events
    }

    /// How much each caller uses the server.
    pub fn callers(&self) -> &CallerVolumes {
        &self.0.callers
    }

    /// Registers a family.
    pub fn register(&self, name: &'static str, help: &'static str, family: ComputedFamily) {
        self.0.registry.lock().register(name, help, family);
    }

    /// Writes all metrics, and the metrics of another registry, which must not have families of the same name.
    pub fn encode(
        &self,
        format: TextFormat,
        other: Option<&Registry>,
    ) -> Result<String, fmt::Error> {
        format.encode([&*self.0.registry.lock()].into_iter().chain(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn provider_metrics_are_dropped_with_the_last_revision() {
        let metrics = Metrics::default();
        let team = TeamName::default_team();
        let of = |name: &str| metrics.provider(&team, &ProviderName::parse(name).unwrap());
        let encoded = || metrics.encode(TextFormat::OpenMetrics, None).unwrap();
        let old = of("a");
        let new = of("a");
        old.record_call(Outcome::Ok);
        new.record_call(Outcome::Ok);
        drop(old);
        let calls = r#"larder_calls_total{team="default",provider="a",outcome="ok"} 2"#;
        assert!(encoded().contains(calls), "{}", encoded());
        let before = encoded().lines().count();
        for n in 0..100 {
            of(&format!("p{n}"));
        }
        assert_eq!(encoded().lines().count(), before);
        drop(new);
        assert!(!encoded().contains("provider="), "{}", encoded());
        assert_eq!(of("a").calls(Outcome::Ok), 0);
    }
}
