//! The text format of Prometheus, version 0.0.4.

use std::fmt::{Display, Write as _};

use super::number::Times;

/// What kind of number a family has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Only grows.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Counts by size.
    Histogram,
}

/// The text, family by family.
#[derive(Debug, Default)]
pub struct Text(String);

impl Text {
    /// What the text is, for HTTP.
    pub const TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

    /// Begins a family; its samples follow at once.
    pub fn family(&mut self, name: &str, kind: Kind, help: &str) {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        // Writing into a string cannot fail.
        _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    /// One number.
    pub fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        self.0.push_str(name);
        for (at, (label, value)) in labels.iter().enumerate() {
            _ = write!(self.0, "{}{label}=\"{}\"", if at == 0 { '{' } else { ',' }, escape(value));
        }
        let end = if labels.is_empty() { "" } else { "}" };
        _ = writeln!(self.0, "{end} {value}");
    }

    /// The numbers of a histogram.
    pub fn times(&mut self, name: &str, labels: &[(&str, &str)], times: &Times) {
        let bucket = format!("{name}_bucket");
        let mut count = 0;
        for (bound, up_to) in times.cumulative() {
            let bound = bound.map_or("+Inf".to_owned(), |bound| bound.to_string());
            let labels: Vec<_> = labels.iter().copied().chain([("le", bound.as_str())]).collect();
            self.sample(&bucket, &labels, up_to);
            count = up_to;
        }
        self.sample(&format!("{name}_sum"), labels, times.seconds());
        self.sample(&format!("{name}_count"), labels, count);
    }

    /// The whole text.
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
    fn a_family_is_a_few_lines() {
        let mut text = Text::default();
        text.family("x_total", Kind::Counter, "What it is.");
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
