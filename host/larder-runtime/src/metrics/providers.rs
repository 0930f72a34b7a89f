//! The metrics of all providers, with the labels `team` and `provider`. They are dropped with the last revision
//! of their provider, so the number of label values stays bounded. Counters and histograms have no samples before their
//! first event: most values of labels never occur, and a server can have a thousand providers.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use prometheus_client::registry::Registry;

use super::family::{ComputedFamily, Samples};
use super::{
    CacheResult, ConnectOutcome, CredentialOutcome, Histogram, KeyValueResult, Outcome,
    ProviderMetrics,
};
use larder_model::name::{ProviderName, TeamName};

type Key = (TeamName, ProviderName);

/// A counter for each value of one more label.
struct LabelledCounter<T: 'static> {
    label: &'static str,
    values: &'static [T],
    /// The text of a value.
    text: fn(T) -> &'static str,
    count: fn(&ProviderMetrics, T) -> u64,
}

/// The metrics of all providers. Clones share the same metrics.
#[derive(Debug, Clone, Default)]
pub(super) struct Providers(Arc<Mutex<BTreeMap<Key, Weak<ProviderMetrics>>>>);

impl Providers {
    pub(super) fn get_or_create(&self, key: Key) -> Arc<ProviderMetrics> {
        let mut providers = self.0.lock();
        if let Some(metrics) = providers.get(&key).and_then(Weak::upgrade) {
            return metrics;
        }
        providers.retain(|_, metrics| metrics.strong_count() > 0);
        let metrics = Arc::new(ProviderMetrics::default());
        providers.insert(key, Arc::downgrade(&metrics));
        metrics
    }

    pub(super) fn live(&self) -> Vec<(Key, Arc<ProviderMetrics>)> {
        let mut providers = self.0.lock();
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
        self.register_calls(registry);
        self.register_stores(registry);
        self.register_times(registry);
        self.register_connections(registry);
        self.register_credentials(registry);
        self.register_guests(registry);
    }

    fn register_calls(&self, registry: &mut Registry) {
        let calls = LabelledCounter {
            label: "outcome",
            values: Outcome::ALL,
            text: Outcome::label,
            count: ProviderMetrics::calls,
        };
        let help = "Calls into guests, by outcome";
        self.labelled(registry, "larder_calls", help, calls);
        let moved = self
            .each(|samples, labels, metrics| samples.counter(labels, metrics.moved_calls.get()));
        let help = "Calls that were moved to threads of their own, because they took long or needed much memory";
        registry.register("larder_calls_moved", help, ComputedFamily::counters(moved));
    }

    fn register_stores(&self, registry: &mut Registry) {
        let reads = LabelledCounter {
            label: "result",
            values: &CacheResult::ALL,
            text: CacheResult::label,
            count: ProviderMetrics::reads,
        };
        let help =
            "Reads, by whether a response was cached (hit) or the provider was called (miss)";
        self.labelled(registry, "larder_cache_reads", help, reads);
        let operations = LabelledCounter {
            label: "result",
            values: &KeyValueResult::ALL,
            text: KeyValueResult::label,
            count: ProviderMetrics::key_value_operations,
        };
        let help = "Operations of the key-value store, by result";
        self.labelled(registry, "larder_key_value_operations", help, operations);
    }

    fn register_times(&self, registry: &mut Registry) {
        let durations =
            self.each(|samples, labels, metrics| histogram(samples, labels, &metrics.durations));
        let durations = ComputedFamily::histograms(durations);
        let help = "Duration of a call, without queueing";
        registry.register("larder_call_seconds", help, durations);
        let waits =
            self.each(|samples, labels, metrics| histogram(samples, labels, &metrics.waits));
        let waits = ComputedFamily::histograms(waits);
        let help = "Time that a call spends queued";
        registry.register("larder_queue_seconds", help, waits);
        let cpu =
            self.each(|samples, labels, metrics| samples.counter(labels, metrics.cpu_seconds()));
        let cpu = ComputedFamily::counters(cpu);
        registry.register("larder_guest_cpu_seconds", "CPU time of guests", cpu);
    }

    fn register_guests(&self, registry: &mut Registry) {
        self.gauge(registry, "larder_guests", "Open guests", |metrics| {
            metrics.guests.get()
        });
        let help = "Memory of all open guests";
        self.gauge(registry, "larder_guest_memory_bytes", help, |metrics| {
            metrics.memory()
        });
        let help = "Peak memory of a single guest";
        let largest = ProviderMetrics::largest_memory;
        self.gauge(registry, "larder_guest_memory_largest_bytes", help, largest);
    }

    fn register_connections(&self, registry: &mut Registry) {
        let attempts = LabelledCounter {
            label: "outcome",
            values: &ConnectOutcome::ALL,
            text: ConnectOutcome::label,
            count: ProviderMetrics::connections,
        };
        let help = "Attempts of guests to open a TCP connection, by outcome";
        self.labelled(registry, "larder_tcp_connections", help, attempts);
        let bytes = self.each(|samples, labels, metrics| {
            let sent = with_label(labels, ("direction", "sent"));
            counter(samples, &sent, metrics.tcp_sent.get())?;
            let received = with_label(labels, ("direction", "received"));
            counter(samples, &received, metrics.tcp_received.get())
        });
        let help = "Bytes that guests sent and received over TCP connections";
        registry.register("larder_tcp_bytes", help, ComputedFamily::counters(bytes));
        let help = "Open TCP connections of guests";
        let open = self.each(|samples, labels, metrics| {
            if metrics.connections(ConnectOutcome::Ok) == 0 {
                return Ok(());
            }
            samples.gauge(labels, metrics.open_connections.get())
        });
        let open = ComputedFamily::gauges(open);
        registry.register("larder_tcp_connections_open", help, open);
    }

    fn register_credentials(&self, registry: &mut Registry) {
        let requests = LabelledCounter {
            label: "outcome",
            values: &CredentialOutcome::ALL,
            text: CredentialOutcome::label,
            count: ProviderMetrics::credentials,
        };
        let help = "HTTP requests of guests to which the host added a credential, by outcome";
        self.labelled(registry, "larder_credential_requests", help, requests);
    }

    fn labelled<T: Copy + Send + Sync + 'static>(
        &self,
        registry: &mut Registry,
        name: &str,
        help: &str,
        labelled: LabelledCounter<T>,
    ) {
        let write = self.each(move |samples, labels, metrics| {
            labelled.values.iter().try_for_each(|value| {
                let labels = with_label(labels, (labelled.label, (labelled.text)(*value)));
                counter(samples, &labels, (labelled.count)(metrics, *value))
            })
        });
        registry.register(name, help, ComputedFamily::counters(write));
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

/// Writes a counter, unless it is zero.
fn counter(samples: &mut Samples<'_>, labels: &[(&str, &str)], count: u64) -> fmt::Result {
    if count == 0 {
        return Ok(());
    }
    samples.counter(labels, count)
}

/// Writes a histogram, unless it has no observations.
fn histogram(
    samples: &mut Samples<'_>,
    labels: &[(&str, &str)],
    histogram: &Histogram,
) -> fmt::Result {
    if histogram.counts().total() == 0 {
        return Ok(());
    }
    samples.metric(labels, histogram)
}

fn with_label<'l>(
    labels: &[(&'l str, &'l str)],
    last: (&'l str, &'l str),
) -> Vec<(&'l str, &'l str)> {
    labels.iter().copied().chain([last]).collect()
}
