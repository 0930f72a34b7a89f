//! Metric families whose samples are read when the metrics are exported.

use std::fmt;

use prometheus_client::encoding::{
    EncodeCounterValue, EncodeGaugeValue, EncodeMetric, MetricEncoder, NoLabelSet,
};
use prometheus_client::metrics::MetricType;

/// A metric family whose values another part of the server stores.
pub struct ComputedFamily {
    kind: MetricType,
    write: Box<dyn Fn(&mut Samples<'_>) -> fmt::Result + Send + Sync>,
}

impl ComputedFamily {
    /// A family of counters. `write` is called for each export.
    pub fn counters(
        write: impl Fn(&mut Samples<'_>) -> fmt::Result + Send + Sync + 'static,
    ) -> Self {
        Self {
            kind: MetricType::Counter,
            write: Box::new(write),
        }
    }

    /// A family of gauges. `write` is called for each export.
    pub fn gauges(write: impl Fn(&mut Samples<'_>) -> fmt::Result + Send + Sync + 'static) -> Self {
        Self {
            kind: MetricType::Gauge,
            write: Box::new(write),
        }
    }

    /// A family of histograms. `write` is called for each export.
    pub(super) fn histograms(
        write: impl Fn(&mut Samples<'_>) -> fmt::Result + Send + Sync + 'static,
    ) -> Self {
        Self {
            kind: MetricType::Histogram,
            write: Box::new(write),
        }
    }
}

impl EncodeMetric for ComputedFamily {
    fn encode(&self, encoder: MetricEncoder<'_>) -> fmt::Result {
        (self.write)(&mut Samples(encoder))
    }

    fn metric_type(&self) -> MetricType {
        self.kind
    }
}

impl fmt::Debug for ComputedFamily {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ComputedFamily")
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}

/// Writes the samples of one family.
#[derive(Debug)]
pub struct Samples<'e>(MetricEncoder<'e>);

impl Samples<'_> {
    /// Writes a counter.
    pub fn counter(
        &mut self,
        labels: &[(&str, &str)],
        value: impl EncodeCounterValue,
    ) -> fmt::Result {
        self.encode_with(labels, |encoder| {
            encoder.encode_counter::<NoLabelSet, _, u64>(&value, None)
        })
    }

    /// Writes a gauge.
    pub fn gauge(&mut self, labels: &[(&str, &str)], value: impl EncodeGaugeValue) -> fmt::Result {
        self.encode_with(labels, |encoder| encoder.encode_gauge(&value))
    }

    /// Writes a metric of any kind.
    pub(super) fn metric(
        &mut self,
        labels: &[(&str, &str)],
        metric: &impl EncodeMetric,
    ) -> fmt::Result {
        metric.encode(self.0.encode_family(&labels)?)
    }

    /// Calls `write`. Without labels the braces are omitted.
    fn encode_with(
        &mut self,
        labels: &[(&str, &str)],
        write: impl FnOnce(&mut MetricEncoder<'_>) -> fmt::Result,
    ) -> fmt::Result {
        if labels.is_empty() {
            write(&mut self.0)
        } else {
            write(&mut self.0.encode_family(&labels)?)
        }
    }
}
