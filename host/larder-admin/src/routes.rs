//! The paths of the admin listener and their responses.

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{from_fn, from_fn_with_state, map_response};
use axum::response::Response;
use axum::routing::{get, post};
use http::StatusCode;
use http::header::{CACHE_CONTROL, HeaderValue};
use serde::Serialize;

use super::access::{
    head, is_authorized, require_credential, require_method, require_own_host, require_same_origin,
};
use super::admission::{prove_connection, take_permit};
use super::response::{json, text};
use super::{Admin, Sources, api, security_headers};
use super::{forget, metrics, page, reload, status};
use larder_runtime::health::{HealthProblem, Impact};

const PATHS: &str =
    "/ for the page, /livez, /readyz, /metrics and /status, or POST /reload and /forget";

/// Returns the service for all connections.
pub(super) fn router(admin: Admin) -> Router {
    let reports = Router::new()
        .route("/metrics", get(metrics::get))
        .route("/status", get(status::get))
        .route_layer(from_fn(take_permit));
    let routes = reports
        .route(reload::PATH, post(reload::post))
        .route(forget::PATH, post(forget::post))
        // Applies to the routes above only.
        .route_layer(from_fn(prove_connection))
        .route_layer(from_fn_with_state(admin.clone(), require_credential))
        .merge(api::router(&admin))
        .route(page::PATH, get(page::index))
        .route(page::ASSETS, get(page::asset))
        .route("/livez", get(live))
        .route("/readyz", get(ready))
        .fallback(not_found)
        .with_state(admin.clone());
    // The checks are outside of the routes, because a route adds `Allow` to every response to another method.
    Router::new()
        .fallback_service(routes)
        .layer(from_fn(require_method))
        .layer(from_fn_with_state(admin.clone(), require_same_origin))
        .layer(from_fn_with_state(admin, require_own_host))
        .layer(map_response(forbid_caching))
        .layer(map_response(security_headers::add))
}

/// Browsers store no response, unless the response allows it.
async fn forbid_caching(mut response: Response) -> Response {
    response
        .headers_mut()
        .entry(CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    response
}

async fn live() -> Response {
    text(StatusCode::OK, "ok".into())
}

/// Load balancers have no token. A response without a token contains no reasons and names no problems.
async fn ready(State(admin): State<Admin>, request: Request) -> Response {
    let (reasons, problems) = admin.problems();
    let status = if reasons.is_empty() {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    #[derive(Serialize)]
    struct Ready {
        ready: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasons: Option<Vec<String>>,
        /// Problems that only the operator has to know.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        problems: Vec<String>,
    }
    let is_authorized = is_authorized(&admin, head(&request)).await;
    let ready = reasons.is_empty();
    let (reasons, problems) = if is_authorized {
        (Some(reasons), problems)
    } else {
        (None, Vec::new())
    };
    json(
        status,
        &Ready {
            ready,
            reasons,
            problems,
        },
    )
}

async fn not_found() -> Response {
    text(StatusCode::NOT_FOUND, format!("not found: use {PATHS}"))
}

impl Admin {
    /// Returns notices: they are not problems, but an operator may not expect them.
    pub(super) fn notices(&self) -> Vec<String> {
        let all = self.0.sources.health.problems().into_iter();
        all.filter(|found| found.impact == Impact::Notice)
            .map(|found| found.message)
            .collect()
    }

    /// Whether the server is ready for requests.
    pub(super) fn is_ready(&self) -> bool {
        self.problems().0.is_empty()
    }

    /// Returns the reasons why the server is not ready, and all other problems.
    pub(super) fn problems(&self) -> (Vec<String>, Vec<String>) {
        let Sources { health, issuer, .. } = &self.0.sources;
        let problems = health
            .problems()
            .into_iter()
            .filter(|problem| problem.impact != Impact::Notice);
        let (reasons, others): (Vec<_>, Vec<_>) =
            problems.partition(|problem| self.prevents_readiness(problem));
        let stopping = self.stopping_message();
        let mut reasons: Vec<_> = stopping.into_iter().chain(messages(reasons)).collect();
        let mut others: Vec<_> = messages(others).collect();
        match issuer().and_then(|issuer| issuer.problem()) {
            Some((problem, true)) => reasons.push(problem),
            Some((problem, false)) => others.push(problem),
            None => {}
        }
        (reasons, others)
    }

    fn prevents_readiness(&self, problem: &HealthProblem) -> bool {
        match problem.impact {
            Impact::AllTeams => true,
            Impact::OneTeam => self.serves_nothing(),
            Impact::OperatorOnly | Impact::Notice => false,
        }
    }

    fn serves_nothing(&self) -> bool {
        let teams = self.0.sources.teams.borrow();
        teams
            .iter()
            .all(|team| team.catalog.snapshot().offers().is_empty())
    }

    fn stopping_message(&self) -> Option<String> {
        let drain = &self.0.sources.server_drain;
        drain
            .is_stopping()
            .then(|| "the server is stopping".to_owned())
    }
}

fn messages(problems: Vec<HealthProblem>) -> impl Iterator<Item = String> {
    problems.into_iter().map(|problem| problem.message)
}
