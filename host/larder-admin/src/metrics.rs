//! The path `/metrics`, and the metrics of the catalogs.

use std::io::{self, Write as _};
use std::sync::Weak;

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use flate2::Compression;
use flate2::write::GzEncoder;
use http::StatusCode;
use http::header::{
    ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, VARY,
};
use tokio::sync::watch;

use super::request_headers::header_texts;
use super::response::text;
use super::{Admin, Inner, Sources, TeamView};
use larder_core::catalog::{Offer, Reader};
use larder_core::search_index::ProviderProgress;
use larder_model::name::ProviderName;
use larder_runtime::metrics::{ComputedFamily, Registry, TextFormat};

pub(super) async fn get(State(admin): State<Admin>, headers: HeaderMap) -> Response {
    let format = requested_format(&headers);
    let metrics = &admin.0.sources.metrics;
    match metrics.encode(format, Some(&admin.0.catalog_metrics)) {
        Ok(text) => response(format, text, &headers),
        Err(error) => text(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
    }
}

/// Returns the metrics, compressed if the client accepts that: the names of metrics and labels repeat many times.
fn response(format: TextFormat, text: String, headers: &HeaderMap) -> Response {
    let content_type = (CONTENT_TYPE, format.content_type());
    let varies = (VARY, "accept, accept-encoding");
    let compressed = accepts(headers, &ACCEPT_ENCODING, "gzip").then(|| gzip(text.as_bytes()));
    match compressed {
        Some(Ok(bytes)) => {
            ([content_type, varies, (CONTENT_ENCODING, "gzip")], bytes).into_response()
        }
        // Writing to memory does not fail.
        Some(Err(_)) | None => ([content_type, varies], text).into_response(),
    }
}

fn gzip(text: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text)?;
    encoder.finish()
}

fn requested_format(headers: &HeaderMap) -> TextFormat {
    if accepts_open_metrics(headers) {
        TextFormat::OpenMetrics
    } else {
        TextFormat::Prometheus
    }
}

/// Whether the client requests OpenMetrics, as Prometheus does.
fn accepts_open_metrics(headers: &HeaderMap) -> bool {
    accepts(headers, &ACCEPT, TextFormat::OPEN_METRICS)
}

/// Whether a header names this value, with a weight other than 0. `*` and `*/*` do not count: they are sent by browsers,
/// and by clients that expect the older format.
fn accepts(headers: &HeaderMap, header: &HeaderName, wanted: &str) -> bool {
    header_texts(headers, header)
        .flat_map(|value| value.split(','))
        .any(|range| is_accepted(range, wanted))
}

fn is_accepted(range: &str, wanted: &str) -> bool {
    let mut parts = range.split(';').map(str::trim);
    let is_wanted = parts
        .next()
        .is_some_and(|value| value.eq_ignore_ascii_case(wanted));
    let weight = parts.find_map(|parameter| parameter.strip_prefix("q=")?.parse::<f32>().ok());
    is_wanted && weight != Some(0.0)
}

/// Returns the metrics of the catalogs and of the state of the server.
pub(super) fn of_admin(admin: &Weak<Inner>, sources: &Sources) -> Registry {
    let mut registry = Registry::default();
    add_server_gauges(admin, sources, &mut registry);
    add_team_gauges(&sources.teams, &mut registry);
    add_provider_gauges(&sources.teams, &mut registry);
    registry
}

fn add_server_gauges(admin: &Weak<Inner>, sources: &Sources, registry: &mut Registry) {
    let mut gauge = |name: &str, help: &str, value: Box<dyn Fn() -> usize + Send + Sync>| {
        let write = ComputedFamily::gauges(move |samples| samples.gauge(&[], value()));
        registry.register(name, help, write);
    };
    let admin = admin.clone();
    let is_ready = move || {
        let is_ready = admin.upgrade().map(|admin| Admin(admin).is_ready());
        usize::from(is_ready.unwrap_or_default())
    };
    let help = "1 if the server is ready for requests, as /readyz says, else 0";
    gauge("larder_ready", help, Box::new(is_ready));
    let needs_restart = sources.needs_restart.clone();
    let help = "Keys whose values in the configuration file take effect only after a restart";
    let count = move || needs_restart.borrow().len();
    gauge("larder_config_pending_restart_keys", help, Box::new(count));
}

fn add_provider_gauges(teams: &watch::Receiver<Vec<TeamView>>, registry: &mut Registry) {
    let mut gauge = |name: &str, help: &str, values: ProviderValues| {
        registry.register(name, help, provider_gauges(teams.clone(), values));
    };
    gauge(
        "larder_key_value_bytes",
        "Bytes that the provider stores",
        stored_bytes,
    );
    gauge(
        "larder_index_documents",
        "Resources in the full-text index",
        |team| index_values(team, |progress| progress.documents),
    );
    gauge(
        "larder_index_bytes",
        "Bytes of text in the full-text index",
        |team| index_values(team, |progress| progress.bytes),
    );
    let help = "Resources that have to be read for the full-text index";
    gauge("larder_index_pending", help, |team| {
        index_values(team, |progress| progress.pending)
    });
    let help = "1 if the full-text index of the provider is not complete, else 0";
    gauge("larder_index_incomplete", help, |team| {
        index_values(team, |progress| progress.error.is_some().into())
    });
    let help = "1 if the circuit breaker of the provider is open because its calls faulted, else 0";
    gauge("larder_circuit_open", help, open_circuits);
}

/// Adds the gauges with one value for each team.
fn add_team_gauges(teams: &watch::Receiver<Vec<TeamView>>, registry: &mut Registry) {
    let mut gauge = |name: &str, help: &str, value: fn(&Reader) -> usize| {
        registry.register(name, help, team_gauges(teams.clone(), value));
    };
    gauge("larder_providers", "Served providers", |catalog| {
        catalog.snapshot().offers().len()
    });
    gauge(
        "larder_rejected_components",
        "Rejected components",
        |catalog| catalog.snapshot().rejected().len(),
    );
    let help = "Revisions that wait for the operator's approval";
    gauge("larder_pending_approvals", help, |catalog| {
        catalog.snapshot().pending_approvals().len()
    });
    gauge("larder_watchers", "Clients with subscriptions", |catalog| {
        catalog.watchers().0
    });
    gauge("larder_watched_uris", "Subscribed URIs", |catalog| {
        catalog.watchers().1
    });
}

fn team_gauges(
    teams: watch::Receiver<Vec<TeamView>>,
    value: fn(&Reader) -> usize,
) -> ComputedFamily {
    ComputedFamily::gauges(move |samples| {
        let teams = teams.borrow();
        let mut catalogs = teams.iter().map(|team| &team.catalog);
        catalogs.try_for_each(|catalog| {
            samples.gauge(&[("team", catalog.team().as_str())], value(catalog))
        })
    })
}

/// Returns one value for each provider of a team.
type ProviderValues = fn(&TeamView) -> Vec<(ProviderName, u64)>;

fn provider_gauges(
    teams: watch::Receiver<Vec<TeamView>>,
    values: ProviderValues,
) -> ComputedFamily {
    ComputedFamily::gauges(move |samples| {
        for team in &*teams.borrow() {
            for (provider, value) in values(team) {
                let team = team.catalog.team().as_str();
                samples.gauge(&[("team", team), ("provider", provider.as_str())], value)?;
            }
        }
        Ok(())
    })
}

fn stored_bytes(team: &TeamView) -> Vec<(ProviderName, u64)> {
    let usage = team.key_value.usage().into_iter();
    usage
        .map(|(provider, usage)| (provider, usage.bytes))
        .collect()
}

fn index_values(team: &TeamView, value: fn(&ProviderProgress) -> u64) -> Vec<(ProviderName, u64)> {
    let progress = team.index.providers().into_iter();
    progress
        .map(|(provider, progress)| (provider, value(&progress)))
        .collect()
}

fn open_circuits(team: &TeamView) -> Vec<(ProviderName, u64)> {
    let catalog = team.catalog.snapshot();
    let offers = catalog.offers().iter();
    offers
        .map(|offer| (offer.name().clone(), has_open_circuit(offer).into()))
        .collect()
}

fn has_open_circuit(offer: &Offer) -> bool {
    offer.provider.circuits().calls_open_for.is_some()
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use flate2::read::GzDecoder;

    use super::*;

    #[test]
    fn open_metrics_must_be_asked_for() {
        let accepts = |values: &[&str]| {
            accepts_open_metrics(
                &values
                    .iter()
                    .map(|value| (ACCEPT, value.parse().unwrap()))
                    .collect(),
            )
        };
        assert!(accepts(&["application/openmetrics-text"]));
        assert!(accepts(&[
            "text/plain;q=0.3, Application/OpenMetrics-Text; version=1.0.0; q=0.5, */*;q=0.1"
        ]));
        assert!(accepts(&[
            "text/plain",
            "application/openmetrics-text;version=0.0.1"
        ]));
        for other in [
            "*/*",
            "text/plain",
            "application/openmetrics-text;q=0",
            "application/*",
            "",
        ] {
            assert!(!accepts(&[other]), "{other}");
        }
        assert!(!accepts(&[]));
    }

    #[test]
    fn a_client_that_accepts_gzip_gets_it() {
        let encoding = |accepted: &str| {
            let headers = HeaderMap::from_iter([(ACCEPT_ENCODING, accepted.parse().unwrap())]);
            let response = response(TextFormat::Prometheus, "larder_ready 1\n".into(), &headers);
            response.headers().get(CONTENT_ENCODING).cloned()
        };
        for accepted in ["gzip", "deflate, GZIP;q=0.5"] {
            assert_eq!(encoding(accepted).unwrap(), "gzip");
        }
        for accepted in ["", "identity", "gzip;q=0", "*"] {
            assert_eq!(encoding(accepted), None, "{accepted}");
        }
        let text = "larder_ready 1\n".repeat(1_000);
        let compressed = gzip(text.as_bytes()).unwrap();
        assert!(compressed.len() < text.len() / 10);
        let mut decoded = String::new();
        GzDecoder::new(&compressed[..])
            .read_to_string(&mut decoded)
            .unwrap();
        assert_eq!(decoded, text);
    }
}
