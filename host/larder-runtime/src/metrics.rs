//! Metrics and their rendering in the Prometheus text format. Recording costs a few atomic operations: no
//! lock, no allocation. Labels are names of teams and providers, or fixed words, never a URI or text from a
//! guest. The metrics of a provider are dropped with its last revision, so the number of label values stays
//! bounded.

mod loads;
mod outcome;
pub mod process;
mod provider;
mod render;
mod server;
mod text;
mod value;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::SystemTime;

pub use self::loads::{LoadMetrics, LoadOutcome};
pub use self::outcome::Outcome;
pub use self::provider::{CacheResult, LastError, ProviderMetrics};
pub use self::server::{METHODS, ProtocolEra, ServerMetrics, WriteCounters};
pub use self::text::{MetricKind, PrometheusText};
pub use self::value::{Counter, Gauge, GaugeGuard, Histogram};
use larder_model::name::{ProviderName, TeamName};

/// All metrics of the process. Clones share the same values.
#[derive(Debug, Clone, Default)]
pub struct Metrics(Arc<Inner>);

struct Inner {
    server: ServerMetrics,
    loads: Mutex<BTreeMap<TeamName, Arc<LoadMetrics>>>,
    providers: Mutex<BTreeMap<(TeamName, ProviderName), Weak<ProviderMetrics>>>,
    callback_gauges: Mutex<Vec<CallbackGauge>>,
    quota_refusals: Mutex<BTreeMap<TeamName, GaugeCallback>>,
    started: SystemTime,
}

/// A gauge whose value is kept elsewhere and read when the metrics are rendered.
struct CallbackGauge {
    name: &'static str,
    help: &'static str,
    /// One callback per team, or a single one without a team for the whole server.
    callbacks: Vec<(Option<TeamName>, GaugeCallback)>,
}

/// Returns the current value.
pub type GaugeCallback = Box<dyn Fn() -> u64 + Send + Sync>;

impl Default for Inner {
    fn default() -> Self {
        Self {
            server: ServerMetrics::default(),
            loads: Mutex::default(),
            providers: Mutex::default(),
            callback_gauges: Mutex::default(),
            quota_refusals: Mutex::default(),
            started: SystemTime::now(),
        }
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
    pub fn load_metrics(&self, team: &TeamName) -> Arc<LoadMetrics> {
        lock(&self.0.loads).entry(team.clone()).or_default().clone()
    }

    /// Metrics of one provider, shared by all its live revisions. Called once for each revision, when it is
    /// loaded.
    pub fn provider(&self, team: &TeamName, name: &ProviderName) -> Arc<ProviderMetrics> {
        let mut providers = lock(&self.0.providers);
        let key = (team.clone(), name.clone());
        if let Some(metrics) = providers.get(&key).and_then(Weak::upgrade) {
            return metrics;
        }
        providers.retain(|_, metrics| metrics.strong_count() > 0);
        let metrics = Arc::new(ProviderMetrics::default());
        providers.insert(key, Arc::downgrade(&metrics));
        metrics
    }

    /// Registers a gauge whose value is kept elsewhere.
    pub fn register_gauge(
        &self,
        name: &'static str,
        help: &'static str,
        callback: impl Fn() -> u64 + Send + Sync + 'static,
    ) {
        let callbacks: Vec<(_, GaugeCallback)> = vec![(None, Box::new(callback))];
        lock(&self.0.callback_gauges).push(CallbackGauge { name, help, callbacks });
    }

    /// Registers a gauge with one value per team.
    pub fn register_team_gauges(
        &self,
        name: &'static str,
        help: &'static str,
        callbacks: Vec<(TeamName, GaugeCallback)>,
    ) {
        let callbacks = callbacks.into_iter().map(|(team, callback)| (Some(team), callback)).collect();
        lock(&self.0.callback_gauges).push(CallbackGauge { name, help, callbacks });
    }

    /// Registers the counter of requests that were refused because this team's quota was exhausted.
    pub fn register_quota_refusals(
        &self,
        team: &TeamName,
        callback: impl Fn() -> u64 + Send + Sync + 'static,
    ) {
        lock(&self.0.quota_refusals).insert(team.clone(), Box::new(callback));
    }

    /// Renders all metrics.
    pub fn render(&self, text: &mut PrometheusText) {
        process::render(text, self.0.started);
        self.0.server.render(text);
        let teams: Vec<_> =
            lock(&self.0.loads).iter().map(|(team, loads)| (team.clone(), loads.clone())).collect();
        loads::render(text, &teams);
        for gauge in lock(&self.0.callback_gauges).iter() {
            text.family(gauge.name, MetricKind::Gauge, gauge.help);
            for (team, callback) in &gauge.callbacks {
                let labels: Vec<_> = team.iter().map(|team| ("team", team.as_str())).collect();
                text.sample(gauge.name, &labels, callback());
            }
        }
        let name = "larder_quota_refusals_total";
        text.family(name, MetricKind::Counter, "Requests refused because the team's quota was exhausted.");
        for (team, callback) in lock(&self.0.quota_refusals).iter() {
            text.sample(name, &[("team", team.as_str())], callback());
        }
        render::providers(text, &self.live_providers());
    }

    fn live_providers(&self) -> Vec<(TeamName, ProviderName, Arc<ProviderMetrics>)> {
        let mut providers = lock(&self.0.providers);
        providers.retain(|_, metrics| metrics.strong_count() > 0);
        let live = providers
            .iter()
            .filter_map(|((team, name), metrics)| Some((team.clone(), name.clone(), metrics.upgrade()?)));
        live.collect()
    }
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").field("started", &self.started).finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn provider_metrics_are_dropped_with_the_last_revision() {
        let metrics = Metrics::default();
        let team = TeamName::default_team();
        let of = |name: &str| metrics.provider(&team, &ProviderName::parse(name).unwrap());
        let rendered = || {
            let mut text = PrometheusText::default();
            metrics.render(&mut text);
            text.into_string()
        };
        let (old, new) = (of("a"), of("a"));
        old.record_call(Outcome::Ok);
        new.record_call(Outcome::Ok);
        drop(old);
        let calls = r#"larder_calls_total{team="default",provider="a",outcome="ok"} 2"#;
        assert!(rendered().contains(calls), "{}", rendered());
        let before = rendered().lines().count();
        for n in 0..100 {
            of(&format!("p{n}"));
        }
        assert_eq!(rendered().lines().count(), before);
        drop(new);
        assert!(!rendered().contains("provider="), "{}", rendered());
        assert_eq!(of("a").calls(Outcome::Ok), 0);
    }
}
