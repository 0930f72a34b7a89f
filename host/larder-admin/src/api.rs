//! The JSON API of the web page and of the commands that ask a server over the network: everything under `/api`.
//! `api/openapi.json` documents the API, and a test compares this document with the real responses.

mod approvals;
mod body;
mod caller;
mod catalog;
mod component_view;
mod event_stream;
mod events;
mod history;
mod openapi;
mod overview;
mod problems;
mod provider;
mod provider_log;
mod provider_parts;
mod providers;
mod query;
mod read;
mod response;
mod session;
mod teams;
mod time;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{any, get, post};

pub(super) use self::event_stream::{PATH as STREAM, STREAMS};
pub(super) use self::response::ApiError;
use super::access::{require_approver, require_operator, require_reader};
use super::admission::{prove_connection, read_body, take_permit};
use super::{Admin, status};

/// Returns the routes. The layers here decide whether the caller may use a route. Handlers never decide that.
pub(super) fn router(admin: &Admin) -> Router<Admin> {
    let contents = Router::new()
        .route("/api/resources", get(catalog::resources))
        .route("/api/templates", get(catalog::templates))
        .route("/api/tools", get(catalog::tools))
        .route("/api/prompts", get(catalog::prompts))
        .route("/api/read", post(read::read))
        .route("/api/complete", post(read::complete))
        .route_layer(from_fn_with_state(admin.clone(), require_reader));
    let decisions = Router::new()
        .route("/api/approvals/{name}", post(approvals::decide))
        .route_layer(from_fn(require_approver));
    let reports = Router::new()
        .route("/api/session", get(session::get))
        .route("/api/logout", post(session::logout))
        .route("/api/approvals", get(approvals::list))
        .route("/api/status", get(status::get))
        .route("/api/overview", get(overview::get))
        .route("/api/history", get(history::get))
        .route("/api/providers", get(providers::get))
        .route("/api/providers/{name}", get(provider::get))
        .route("/api/providers/{name}/log", get(provider_log::get))
        .route("/api/events", get(events::get))
        .route(STREAM, get(event_stream::get))
        .route("/api/teams", get(teams::get))
        .route("/api/openapi.json", get(openapi::get))
        .route("/api/{*path}", any(unknown));
    // Every path requires an operator, except the login.
    reports
        .merge(contents)
        .merge(decisions)
        .route_layer(from_fn(take_permit))
        .route_layer(from_fn(prove_connection))
        .route_layer(from_fn(read_body))
        .route_layer(from_fn_with_state(admin.clone(), require_operator))
        .route("/api/login", post(session::login).layer(from_fn(read_body)))
        .layer(DefaultBodyLimit::max(body::MAX_BODY))
}

async fn unknown() -> ApiError {
    ApiError::not_found("there is no such path: /api/openapi.json describes all of them")
}
