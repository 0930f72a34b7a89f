//! The four paths of the admin listener and their responses.

use bytes::Bytes;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use serde::Serialize;

use super::Admin;
use super::status::Status;
use larder_runtime::health::{HealthProblem, Impact};
use larder_runtime::metrics::{MetricKind, PrometheusText};

type HttpResponse = Response<Full<Bytes>>;

const PATHS: &str = "/livez, /readyz, /metrics and /status";

impl Admin {
    pub(super) fn handle<B>(&self, request: &Request<B>) -> HttpResponse {
        if let Err((status, reason)) = self.0.access_policy.check_origin(request) {
            return text(status, reason.to_owned());
        }
        let is_authorized = self.0.access_policy.is_authorized(request);
        let mut response = match request.uri().path() {
            "/livez" => text(StatusCode::OK, "ok".into()),
            // Load balancers have no token: without one, `/readyz` gives no reasons.
            "/readyz" => self.ready(is_authorized),
            "/metrics" | "/status" if !is_authorized => unauthorized(),
            "/metrics" => self.metrics(),
            "/status" => json(StatusCode::OK, &self.status()),
            _ => text(StatusCode::NOT_FOUND, format!("not found: use {PATHS}")),
        };
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            response = text(StatusCode::METHOD_NOT_ALLOWED, "use GET or HEAD".into());
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        }
        response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    }

    /// Returns the reasons why the server is not ready, and all other problems.
    fn problems(&self) -> (Vec<String>, Vec<String>) {
        let serves_nothing = || self.0.teams.iter().all(|team| team.catalog.snapshot().offers().is_empty());
        let (reasons, others): (Vec<_>, Vec<_>) =
            self.0.health.problems().into_iter().partition(|problem| match problem.impact {
                Impact::AllTeams => true,
                Impact::OneTeam => serves_nothing(),
                Impact::OperatorOnly => false,
            });
        let stopping = self.0.server_drain.is_stopping().then(|| "the server is stopping".to_owned());
        let messages = |problems: Vec<HealthProblem>| problems.into_iter().map(|problem| problem.message);
        (stopping.into_iter().chain(messages(reasons)).collect(), messages(others).collect())
    }

    fn ready(&self, is_authorized: bool) -> HttpResponse {
        let (reasons, _) = self.problems();
        let status = if reasons.is_empty() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
        #[derive(Serialize)]
        struct Ready {
            ready: bool,
            #[serde(skip_serializing_if = "Option::is_none")]
            reasons: Option<Vec<String>>,
        }
        json(status, &Ready { ready: reasons.is_empty(), reasons: is_authorized.then_some(reasons) })
    }

    fn status(&self) -> Status {
        let inner = &self.0;
        Status::of(&inner.teams, &inner.metrics, self.problems())
    }

    fn metrics(&self) -> HttpResponse {
        let mut output = PrometheusText::default();
        self.0.metrics.render(&mut output);
        self.catalog_metrics(&mut output);
        let mut response = text(StatusCode::OK, output.into_string().trim_end().to_owned());
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(PrometheusText::CONTENT_TYPE));
        response
    }

    /// Writes the metrics of the catalogs.
    fn catalog_metrics(&self, output: &mut PrometheusText) {
        let teams: Vec<_> = self
            .0
            .teams
            .iter()
            .map(|team| &team.catalog)
            .map(|c| (c.team(), c.snapshot(), c.watchers()))
            .collect();
        let mut gauge_per_team = |name: &str, help: &str, numbers: Vec<usize>| {
            output.family(name, MetricKind::Gauge, help);
            for ((team, ..), number) in teams.iter().zip(numbers) {
                output.sample(name, &[("team", team.as_str())], number);
            }
        };
        let count = |number: fn(&larder_core::catalog::Catalog) -> usize| {
            teams.iter().map(|(_, catalog, _)| number(catalog)).collect::<Vec<_>>()
        };
        gauge_per_team("larder_providers", "Served providers.", count(|catalog| catalog.offers().len()));
        gauge_per_team("larder_rejected_components", "Rejected components.", count(|c| c.rejected().len()));
        let pending = count(|catalog| catalog.pending_approvals().len());
        gauge_per_team(
            "larder_pending_approvals",
            "Revisions that wait for the operator's approval.",
            pending,
        );
        let watchers = teams.iter().map(|(_, _, (watchers, _))| *watchers).collect();
        gauge_per_team("larder_watchers", "Clients with subscriptions.", watchers);
        let uris = teams.iter().map(|(_, _, (_, uris))| *uris).collect();
        gauge_per_team("larder_watched_uris", "Subscribed URIs.", uris);
        let name = "larder_circuit_open";
        output.family(
            name,
            MetricKind::Gauge,
            "1 if the circuit breaker of the provider is open because its calls faulted, else 0.",
        );
        for (team, catalog, _) in &teams {
            for offer in catalog.offers().iter() {
                let labels = [("team", team.as_str()), ("provider", offer.name().as_str())];
                output.sample(name, &labels, u8::from(offer.provider.circuit_open_for().is_some()));
            }
        }
    }
}

fn text(status: StatusCode, text: String) -> HttpResponse {
    let mut response = Response::new(Full::from(text + "\n"));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

fn json(status: StatusCode, value: &impl Serialize) -> HttpResponse {
    match serde_json::to_string(value) {
        Ok(json) => {
            let mut response = text(status, json);
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            response
        }
        Err(error) => text(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
    }
}

fn unauthorized() -> HttpResponse {
    let message = "send the token for `admin.token` as `Authorization: Bearer …`";
    let mut response = text(StatusCode::UNAUTHORIZED, message.into());
    response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    response
}
