//! The text formats in which metrics are exported.

use std::fmt::{self, Write as _};

use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::registry::Registry;

/// A text format for metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextFormat {
    /// OpenMetrics 1.0.
    OpenMetrics,
    /// The text format of Prometheus, version 0.0.4, for clients that do not request OpenMetrics.
    Prometheus,
}

impl TextFormat {
    /// The media type of OpenMetrics, without parameters.
    pub const OPEN_METRICS: &str = "application/openmetrics-text";

    /// The value of the `Content-Type` header.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
        }
    }

    /// Writes the metrics of these registries.
    pub(super) fn encode<'r>(
        self,
        registries: impl IntoIterator<Item = &'r Registry>,
    ) -> Result<String, fmt::Error> {
        let mut text = String::new();
        for registry in registries {
            encode_registry(&mut text, registry)?;
        }
        match self {
            Self::OpenMetrics => encode_eof(&mut text)?,
            Self::Prometheus => text = name_counters_like_samples(&text)?,
        }
        Ok(text)
    }
}

/// Converts OpenMetrics to the text format of Prometheus, in which HELP and TYPE of a counter contain the name of its
/// samples, which ends with `_total`.
fn name_counters_like_samples(text: &str) -> Result<String, fmt::Error> {
    let mut converted = String::with_capacity(text.len() + text.len() / 16);
    let mut help = "";
    for line in text.split_inclusive('\n') {
        if let Some(text) = line.strip_prefix("# HELP ") {
            help = text;
        } else if let Some(kind) = line.strip_prefix("# TYPE ") {
            let suffix = if kind.ends_with(" counter\n") {
                "_total"
            } else {
                ""
            };
            for (keyword, text) in [("HELP", help), ("TYPE", kind)] {
                let (name, text) = text.split_once(' ').ok_or(fmt::Error)?;
                write!(converted, "# {keyword} {name}{suffix} {text}")?;
            }
        } else {
            converted.push_str(line);
        }
    }
    Ok(converted)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use prometheus_client::metrics::counter::Counter;
    use prometheus_client::metrics::gauge::Gauge;

    use super::*;

    #[test]
    fn names_counters_as_each_format_requires() {
        let mut registry = Registry::default();
        registry.register("x", "What it counts", Counter::<u64>::default());
        registry.register("y", "What it is", Gauge::<i64>::default());
        let of = |format: TextFormat| format.encode([&registry]).unwrap();
        expect![[r#"
            # HELP x What it counts.
            # TYPE x counter
            x_total 0
            # HELP y What it is.
            # TYPE y gauge
            y 0
            # EOF
        "#]]
        .assert_eq(&of(TextFormat::OpenMetrics));
        expect![[r#"
            # HELP x_total What it counts.
            # TYPE x_total counter
            x_total 0
            # HELP y What it is.
            # TYPE y gauge
            y 0
        "#]]
        .assert_eq(&of(TextFormat::Prometheus));
    }
}
