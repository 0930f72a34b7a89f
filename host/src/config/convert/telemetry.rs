//! Where traces go, and how many.

use http::header::{HeaderName, HeaderValue};
use http::uri::Uri;
use toml::Spanned;

use super::Conversion;
use crate::config::file;
use crate::policy::Secret;
use crate::telemetry::{Collector, Config};

/// Where collectors listen for traces, below the address that people write down.
const PATH: &str = "/v1/traces";

impl Conversion<'_> {
    pub(super) fn telemetry(&mut self, written: &file::Telemetry) -> Config {
        let sample = written.sample.as_ref().map_or(1.0, |sample| *sample.get_ref());
        if let Some(at) = written.sample.as_ref().filter(|_| !(0.0..=1.0).contains(&sample)) {
            self.fault(&at.span(), "must be a part of all requests, from 0.0 to 1.0");
        }
        let headers = written.headers.iter().filter_map(|(name, value)| self.header(name, value)).collect();
        let otlp = written.otlp.as_ref()?;
        let Some(url) = address(otlp.get_ref()) else {
            let what = "must be where a collector takes OTLP over HTTP, such as \"http://127.0.0.1:4318\"; \
                        names and keys belong into `telemetry.headers`";
            self.fault(&otlp.span(), what);
            return None;
        };
        let service = written.service.clone().unwrap_or_else(|| env!("CARGO_PKG_NAME").into());
        Some(Collector { url, headers, service, sample })
    }

    /// A fault names the header, never its value.
    fn header(&mut self, name: &Spanned<String>, value: &Spanned<String>) -> Option<(String, Secret)> {
        if HeaderName::try_from(name.get_ref().as_str()).is_err() {
            self.fault(&name.span(), "is no name of a header");
            return None;
        }
        if HeaderValue::from_str(value.get_ref()).is_err() {
            self.fault(&value.span(), "has characters that a header cannot carry");
            return None;
        }
        Some((name.get_ref().clone(), Secret::new(value.get_ref())))
    }
}

/// The whole address of a collector.
fn address(written: &str) -> Option<String> {
    let url: Uri = written.parse().ok()?;
    let is_http = matches!(url.scheme_str(), Some("http" | "https"));
    let has_host = url.authority().is_some_and(|at| !at.host().is_empty() && !at.as_str().contains('@'));
    if !is_http || !has_host || url.query().is_some() {
        return None;
    }
    let base = written.trim_end_matches('/');
    Some(if base.ends_with(PATH) { base.to_owned() } else { format!("{base}{PATH}") })
}
