//! Renders the metrics that have the labels `team` and `provider`.

use std::sync::Arc;

use super::text::{MetricKind, PrometheusText};
use super::{CacheResult, Histogram, Outcome, ProviderMetrics};
use larder_model::name::{ProviderName, TeamName};

type Labelled = (TeamName, ProviderName, Arc<ProviderMetrics>);

pub(super) fn providers(text: &mut PrometheusText, all: &[Labelled]) {
    let name = "larder_calls_total";
    text.family(name, MetricKind::Counter, "Calls into guests, by outcome.");
    for (team, provider, metrics) in all {
        for outcome in Outcome::ALL {
            let labels =
                [("team", team.as_str()), ("provider", provider.as_str()), ("outcome", outcome.word())];
            text.sample(name, &labels, metrics.calls(*outcome));
        }
    }
    let name = "larder_cache_reads_total";
    text.family(
        name,
        MetricKind::Counter,
        "Reads, by whether a response was cached (hit) or the provider was called (miss).",
    );
    for (team, provider, metrics) in all {
        for result in CacheResult::ALL {
            let labels =
                [("team", team.as_str()), ("provider", provider.as_str()), ("result", result.word())];
            text.sample(name, &labels, metrics.reads(result));
        }
    }
    histogram(text, all, "larder_call_seconds", "Duration of a call, without queueing.", |m| &m.durations);
    histogram(text, all, "larder_queue_seconds", "Time that a call spends queued.", |m| &m.waits);
    resources(text, all);
}

fn resources(text: &mut PrometheusText, all: &[Labelled]) {
    type Family = (&'static str, MetricKind, &'static str, fn(&ProviderMetrics) -> f64);
    let families: [Family; 4] = [
        (
            "larder_guest_cpu_seconds_total",
            MetricKind::Counter,
            "CPU time of guests.",
            ProviderMetrics::cpu_seconds,
        ),
        ("larder_guests", MetricKind::Gauge, "Open guests.", |metrics| metrics.guests.get() as f64),
        ("larder_guest_memory_bytes", MetricKind::Gauge, "Memory of all open guests.", |metrics| {
            metrics.memory() as f64
        }),
        (
            "larder_guest_memory_largest_bytes",
            MetricKind::Gauge,
            "Peak memory of a single guest.",
            |metrics| metrics.largest_memory() as f64,
        ),
    ];
    for (name, kind, help, value) in families {
        text.family(name, kind, help);
        for (team, provider, metrics) in all {
            text.sample(name, &[("team", team.as_str()), ("provider", provider.as_str())], value(metrics));
        }
    }
}

fn histogram(
    text: &mut PrometheusText,
    all: &[Labelled],
    name: &str,
    help: &str,
    of: fn(&ProviderMetrics) -> &Histogram,
) {
    text.family(name, MetricKind::Histogram, help);
    for (team, provider, metrics) in all {
        text.histogram(name, &[("team", team.as_str()), ("provider", provider.as_str())], of(metrics));
    }
}
