//! The path `/metrics`, and the metrics of the catalogs.

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use tokio::sync::watch;

use super::response::text;
use super::{Admin, TeamView};
use larder_core::catalog::Reader;
use larder_core::search_index::ProviderProgress;
use larder_runtime::metrics::{ComputedFamily, Registry, TextFormat};

pub(super) async fn get(State(admin): State<Admin>, headers: HeaderMap) -> Response {
    let format = if accepts_open_metrics(&headers) {
        TextFormat::OpenMetrics
    } else {
        TextFormat::Prometheus
    };
    match admin
        .0
        .sources
        .metrics
        .encode(format, Some(&admin.0.catalog_metrics))
    {
        Ok(text) => ([(CONTENT_TYPE, format.content_type())], text).into_response(),
        Err(error) => text(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
    }
}

/// Whether the client asks for OpenMetrics, as Prometheus does. `*/*` does not count: it is a person or a client
/// for the older format.
fn accepts_open_metrics(headers: &HeaderMap) -> bool {
    let values = headers
        .get_all(ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|range| {
        let mut parts = range.split(';').map(str::trim);
        let is_open_metrics = parts
            .next()
            .is_some_and(|media_type| media_type.eq_ignore_ascii_case(TextFormat::OPEN_METRICS));
        let weight = parts.find_map(|parameter| parameter.strip_prefix("q=")?.parse::<f32>().ok());
        is_open_metrics && weight != Some(0.0)
    })
}

/// Returns the metrics of these catalogs.
pub(super) fn of_catalogs(teams: &watch::Receiver<Vec<TeamView>>) -> Registry {
    let mut registry = Registry::default();
    let mut gauge = |name: &str, help: &str, value: fn(&Reader) -> usize| {
        let teams = teams.clone();
        let gauges = ComputedFamily::gauges(move |samples| {
            let teams = teams.borrow();
            let mut catalogs = teams.iter().map(|team| &team.catalog);
            catalogs.try_for_each(|catalog| {
                samples.gauge(&[("team", catalog.team().as_str())], value(catalog))
            })
        });
        registry.register(name, help, gauges);
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
    let stored_by = teams.clone();
    let stored = ComputedFamily::gauges(move |samples| {
        stored_by.borrow().iter().try_for_each(|team| {
            team.key_value
                .usage()
                .iter()
                .try_for_each(|(provider, usage)| {
                    let labels = [
                        ("team", team.catalog.team().as_str()),
                        ("provider", provider.as_str()),
                    ];
                    samples.gauge(&labels, usage.bytes)
                })
        })
    });
    registry.register(
        "larder_key_value_bytes",
        "Bytes that the provider stores",
        stored,
    );
    index_gauges(teams, &mut registry);
    let teams = teams.clone();
    let circuits = ComputedFamily::gauges(move |samples| {
        let teams = teams.borrow();
        teams
            .iter()
            .map(|team| &team.catalog)
            .try_for_each(|catalog| {
                catalog.snapshot().offers().iter().try_for_each(|offer| {
                    let labels = [
                        ("team", catalog.team().as_str()),
                        ("provider", offer.name().as_str()),
                    ];
                    samples.gauge(
                        &labels,
                        u32::from(offer.provider.circuit_open_for().is_some()),
                    )
                })
            })
    });
    let help = "1 if the circuit breaker of the provider is open because its calls faulted, else 0";
    registry.register("larder_circuit_open", help, circuits);
    registry
}

/// Registers the gauges of the full-text indexes.
fn index_gauges(teams: &watch::Receiver<Vec<TeamView>>, registry: &mut Registry) {
    let mut gauge = |name: &str, help: &str, value: fn(&ProviderProgress) -> u64| {
        let teams = teams.clone();
        let gauges = ComputedFamily::gauges(move |samples| {
            teams.borrow().iter().try_for_each(|team| {
                team.index
                    .providers()
                    .iter()
                    .try_for_each(|(provider, progress)| {
                        let labels = [
                            ("team", team.catalog.team().as_str()),
                            ("provider", provider.as_str()),
                        ];
                        samples.gauge(&labels, value(progress))
                    })
            })
        });
        registry.register(name, help, gauges);
    };
    gauge(
        "larder_index_documents",
        "Resources in the full-text index",
        |progress| progress.documents,
    );
    gauge(
        "larder_index_bytes",
        "Bytes of text in the full-text index",
        |progress| progress.bytes,
    );
    let help = "Resources that have to be read for the full-text index";
    gauge("larder_index_pending", help, |progress| progress.pending);
    let help = "1 if the full-text index of the provider is not complete, else 0";
    gauge("larder_index_incomplete", help, |progress| {
        progress.error.is_some().into()
    });
}

#[cfg(test)]
mod tests {
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
}
