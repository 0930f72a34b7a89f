//! Converts `[telemetry]`.

use http::header::{HeaderName, HeaderValue};
use http::uri::Uri;
use toml::Spanned;

use super::Conversion;
use crate::file;
use larder_core::telemetry::{Collector, Config};
use larder_model::policy::Secret;

/// The path at which OTLP collectors accept traces, relative to the configured address.
const TRACES_PATH: &str = "/v1/traces";
/// The name of the service in traces, unless `telemetry.service` names another one.
const SERVICE: &str = "larder";

/// The error of a URL that is not one of a collector.
const NOT_A_COLLECTOR: &str = "must be the URL of an OTLP/HTTP collector, such as \"http://127.0.0.1:4318\"; \
                               put credentials into `telemetry.headers`";

impl Conversion<'_> {
    pub(super) fn telemetry(&mut self, raw: &file::Telemetry) -> Config {
        let sample = raw.sample.as_ref().map_or(1.0, |sample| *sample.get_ref());
        let invalid = raw
            .sample
            .as_ref()
            .filter(|_| !(0.0..=1.0).contains(&sample));
        if let Some(at) = invalid {
            let message = "must be a fraction of all requests, from 0.0 to 1.0";
            self.error(&at.span(), message);
        }
        let headers = raw.headers.iter();
        let headers = headers
            .filter_map(|(name, value)| self.header(name, value))
            .collect();
        let otlp = raw.otlp.as_ref()?;
        let Some(url) = traces_url(otlp.get_ref()) else {
            self.error(&otlp.span(), NOT_A_COLLECTOR);
            return None;
        };
        let service = raw.service.clone().unwrap_or_else(|| SERVICE.into());
        Some(Collector {
            url,
            headers,
            service,
            sample,
        })
    }

    /// Converts one header. Error messages contain the name of the header, never its value.
    fn header(
        &mut self,
        name: &Spanned<String>,
        value: &Spanned<String>,
    ) -> Option<(String, Secret)> {
        if HeaderName::try_from(name.get_ref().as_str()).is_err() {
            self.error(&name.span(), "is not a valid header name");
            return None;
        }
        if HeaderValue::from_str(value.get_ref()).is_err() {
            let message = "contains characters that are not allowed in a header";
            self.error(&value.span(), message);
            return None;
        }
        Some((name.get_ref().clone(), Secret::new(value.get_ref())))
    }
}

/// Returns the complete URL of a collector.
fn traces_url(raw: &str) -> Option<String> {
    let url: Uri = raw.parse().ok()?;
    let is_http = matches!(url.scheme_str(), Some("http" | "https"));
    if !is_http || !has_only_host(&url) || url.query().is_some() {
        return None;
    }
    Some(with_traces_path(raw.trim_end_matches('/')))
}

/// Whether the URL has a host and no user.
fn has_only_host(url: &Uri) -> bool {
    url.authority()
        .is_some_and(|at| !at.host().is_empty() && !at.as_str().contains('@'))
}

fn with_traces_path(base: &str) -> String {
    if base.ends_with(TRACES_PATH) {
        base.to_owned()
    } else {
        format!("{base}{TRACES_PATH}")
    }
}
