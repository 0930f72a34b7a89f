//! The metrics of all providers, with the labels `team` and `provider`. They are dropped with the last revision
//! of their provider, so the number of label values stays bounded.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, Weak};

use prometheus_client::registry::Registry;

use super::family::{ComputedFamily, Samples};
use super::{CacheResult, ConnectOutcome, KeyValueResult, Outcome, ProviderMetrics, lock};
use larder_model::name::{ProviderName, TeamName};

type Key = (TeamName, ProviderName);

/// The metrics of all providers. Clones share the same metrics.
#[derive(Debug, Clone, Default)]
pub(super) struct Providers(Arc<Mutex<BTreeMap<Key, Weak<ProviderMetrics>>>>);

impl Providers {
    pub(super) fn get_or_create(&self, key: Key) -> Arc<ProviderMetrics> {
        let mut providers = lock(&self.0);
        if let Some(metrics) = providers.get(&key).and_then(Weak::upgrade) {
            return metrics;
        }
        providers.retain(|_, metrics| metrics.strong_count() > 0);
        let metrics = Arc::new(ProviderMetrics::default());
        providers.insert(key, Arc::downgrade(&metrics));
        metrics
    }

    pub(super) fn live(&self) -> Vec<(Key, Arc<ProviderMetrics>)> {
        let mut providers = lock(&self.0);
        providers.retain(|_, metrics| metrics.strong_count() > 0);
        providers
            .iter()
            .filter_map(|(key, metrics)| Some((key.clone(), metrics.upgrade()?)))
            .collect()
    }

    /// Returns a function that writes one family.
    fn each(
        &self,
        write: impl Fn(&mut Samples<'_>, &[(&str, &str)], &ProviderMetrics) -> fmt::Result
        + Send
        + Sync
        + 'static,
    ) -> impl Fn(&mut Samples<'_>) -> fmt::Result + Send + Sync + 'static {
        let all = self.clone();
        move |samples| {
            all.live()
                .iter()
                .try_for_each(|((team, provider), metrics)| {
                    write(
                        samples,
                        &[("team", team.as_str()), ("provider", provider.as_str())],
                        metrics,
                    )
                })
        }
    }

    pub(super) fn register(&self, registry: &mut Registry) {
        let calls = self.each(|samples, labels, metrics| {
            Outcome::ALL.iter().try_for_each(|outcome| {
                samples.counter(
                    &with(labels, ("outcome", outcome.label())),
                    metrics.calls(*outcome),
                )
            })
        });
        let help = "Calls into guests, by outcome";
        registry.register("larder_calls", help, ComputedFamily::counters(calls));
        let moved = self
            .each(|samples, labels, metrics| samples.counter(labels, metrics.moved_calls.get()));
        let help = "Calls that were moved to threads of their own, because they took long or needed much memory";
        registry.register("larder_calls_moved", help, ComputedFamily::counters(moved));
        let reads = self.each(|samples, labels, metrics| {
            CacheResult::ALL.iter().try_for_each(|result| {
                samples.counter(
                    &with(labels, ("result", result.label())),
                    metrics.reads(*result),
                )
            })
        });
        let help =
            "Reads, by whether a response was cached (hit) or the provider was called (miss)";
        registry.register("larder_cache_reads", help, ComputedFamily::counters(reads));
        let operations = self.each(|samples, labels, metrics| {
            KeyValueResult::ALL.iter().try_for_each(|result| {
                let count = metrics.key_value_operations(*result);
                samples.counter(&with(labels, ("result", result.label())), count)
            })
        });
        let help = "Operations of the key-value store, by result";
        registry.register(
            "larder_key_value_operations",
            help,
            ComputedFamily::counters(operations),
        );
        let durations =
            self.each(|samples, labels, metrics| samples.metric(labels, &metrics.durations));
        let help = "Duration of a call, without queueing";
        registry.register(
            "larder_call_seconds",
            help,
            ComputedFamily::histograms(durations),
        );
        let waits = self.each(|samples, labels, metrics| samples.metric(labels, &metrics.waits));
        let help = "Time that a call spends queued";
        registry.register(
            "larder_queue_seconds",
            help,
            ComputedFamily::histograms(waits),
        );
        let cpu =
            self.each(|samples, labels, metrics| samples.counter(labels, metrics.cpu_seconds()));
        registry.register(
            "larder_guest_cpu_seconds",
            "CPU time of guests",
            ComputedFamily::counters(cpu),
        );
        self.register_connections(registry);
        self.gauge(registry, "larder_guests", "Open guests", |metrics| {
            metrics.guests.get()
        });
        let help = "Memory of all open guests";
        self.gauge(registry, "larder_guest_memory_bytes", help, |metrics| {
            metrics.memory()
        });
        let help = "Peak memory of a single guest";
        self.gauge(
            registry,
            "larder_guest_memory_largest_bytes",
            help,
            |metrics| metrics.largest_memory(),
        );
    }

    fn register_connections(&self, registry: &mut Registry) {
        let attempts = self.each(|samples, labels, metrics| {
            ConnectOutcome::ALL.iter().try_for_each(|outcome| {
                samples.counter(
                    &with(labels, ("outcome", outcome.label())),
                    metrics.connections(*outcome),
                )
            })
        });
        let help = "Attempts of guests to open a TCP connection, by outcome";
        registry.register(
            "larder_tcp_connections",
            help,
            ComputedFamily::counters(attempts),
        );
        let bytes = self.each(|samples, labels, metrics| {
            samples.counter(&with(labels, ("direction", "sent")), metrics.tcp_sent.get())?;
            samples.counter(
                &with(labels, ("direction", "received")),
                metrics.tcp_received.get(),
            )
        });
        let help = "Bytes that guests sent and received over TCP connections";
        registry.register("larder_tcp_bytes", help, ComputedFamily::counters(bytes));
        let help = "Open TCP connections of guests";
        self.gauge(registry, "larder_tcp_connections_open", help, |metrics| {
            u64::try_from(metrics.open_connections.get()).unwrap_or_default()
        });
    }

    fn gauge(
        &self,
        registry: &mut Registry,
        name: &str,
        help: &str,
        value: fn(&ProviderMetrics) -> u64,
    ) {
        let write =
            self.each(move |samples, labels, metrics| samples.gauge(labels, value(metrics)));
        registry.register(name, help, ComputedFamily::gauges(write));
    }
}

fn with<'l>(labels: &[(&'l str, &'l str)], last: (&'l str, &'l str)) -> Vec<(&'l str, &'l str)> {
    labels.iter().copied().chain([last]).collect()
}
