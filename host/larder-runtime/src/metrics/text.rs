//! The Prometheus text exposition format, version 0.0.4.

use std::fmt::{Display, Write as _};

use super::value::Histogram;

/// The type of a metric family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    /// A value that only increases.
    Counter,
    /// A value that increases and decreases.
    Gauge,
    /// Counts of observations by bucket.
    Histogram,
}

/// A metrics page, written family by family.
#[derive(Debug, Default)]
pub struct PrometheusText(String);

impl PrometheusText {
    /// Media type for the `Content-Type` header.
    pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

    /// Writes the header of a family. Its samples must follow before the next family.
    pub fn family(&mut self, name: &str, kind: MetricKind, help: &str) {
        let kind = match kind {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
            MetricKind::Histogram => "histogram",
        };
        // Writing to a `String` cannot fail.
        _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    /// Writes one sample.
    pub fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        self.0.push_str(name);
        for (at, (label, value)) in labels.iter().enumerate() {
            _ = write!(self.0, "{}{label}=\"{}\"", if at == 0 { '{' } else { ',' }, escape(value));
        }
        let end = if labels.is_empty() { "" } else { "}" };
        _ = writeln!(self.0, "{end} {value}");
    }

    /// Writes the samples of a histogram: buckets, sum and count.
    pub fn histogram(&mut self, name: &str, labels: &[(&str, &str)], histogram: &Histogram) {
        let bucket = format!("{name}_bucket");
        let mut count = 0;
        for (bound, up_to) in histogram.cumulative() {
            let bound = bound.map_or("+Inf".to_owned(), |bound| bound.to_string());
            let labels: Vec<_> = labels.iter().copied().chain([("le", bound.as_str())]).collect();
            self.sample(&bucket, &labels, up_to);
            count = up_to;
        }
        self.sample(&format!("{name}_sum"), labels, histogram.sum_seconds());
        self.sample(&format!("{name}_count"), labels, count);
    }

    /// Returns the whole page.
    pub fn into_string(self) -> String {
        self.0
    }
}

fn escape(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn writes_a_family() {
        let mut text = PrometheusText::default();
        text.family("x_total", MetricKind::Counter, "What it is.");
        text.sample("x_total", &[], 1);
        text.sample("x_total", &[("a", "q\"\\\n"), ("b", "")], 2.5);
        expect![[r#"
            # HELP x_total What it is.
            # TYPE x_total counter
            x_total 1
            x_total{a="q\"\\\n",b=""} 2.5
        "#]]
        .assert_eq(&text.into_string());
    }
}
