//! The path `/metrics`, and the metrics of the catalogs.

use std::sync::Weak;

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use tokio::sync::watch;

use super::response::text;
use super::{Admin, Inner, Sources, TeamView};
use larder_core::catalog::Reader;
use larder_core::search_index::ProviderProgress;
use larder_model::name::ProviderName;
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

/// Whether the client requests OpenMetrics, as Prometheus does. `*/*` does not count: it is sent by browsers, and by
/// clients that expect the older format.
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
        .map(|offer| {
            let is_open = offer.provider.circuits().calls_open_for.is_some();
            (offer.name().clone(), is_open.into())
        })
        .collect()
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
