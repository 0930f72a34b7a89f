//! An authorization server that answers as a test wants.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::response::Response;
use larder_runtime::drain::Drain;
use parking_lot::Mutex;
use serde_json::{Value, json};

pub(super) const METADATA: &str = "/.well-known/oauth-authorization-server";
pub(super) const OPENID_METADATA: &str = "/.well-known/openid-configuration";
pub(super) const TOKEN: &str = "/token";

/// A response of the server.
#[derive(Clone)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) location: Option<&'static str>,
    pub(super) body: String,
    pub(super) delay: Duration,
}

pub(super) struct AuthorizationServer {
    pub(super) origin: String,
    state: Arc<ServerState>,
    /// The server ends with it.
    _drain: Drain,
}

#[derive(Default)]
struct ServerState {
    answers: Mutex<BTreeMap<&'static str, Answer>>,
    requests: Mutex<Vec<String>>,
}

impl Answer {
    pub(super) fn json(body: &Value) -> Self {
        Self::text(200, &body.to_string())
    }

    pub(super) fn text(status: u16, body: &str) -> Self {
        Self {
            status,
            location: None,
            body: body.to_owned(),
            delay: Duration::ZERO,
        }
    }

    pub(super) fn token(token: &str) -> Self {
        Self::json(&json!({ "access_token": token, "token_type": "Bearer", "expires_in": 3600 }))
    }
}

impl AuthorizationServer {
    /// Starts a server with metadata whose token endpoint issues this token.
    pub(super) async fn start(token: &str) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::<ServerState>::default();
        let router = Router::new().fallback(answer).with_state(state.clone());
        let drain = Drain::new();
        drain.spawn(async move { axum::serve(listener, router).await });
        let server = Self {
            origin,
            state,
            _drain: drain,
        };
        let endpoint = format!("{}{TOKEN}", server.origin);
        server.set_metadata(METADATA, &server.origin, &endpoint);
        server.set(TOKEN, Answer::token(token));
        server
    }

    pub(super) fn set(&self, path: &'static str, answer: Answer) {
        self.state.answers.lock().insert(path, answer);
    }

    pub(super) fn set_metadata(&self, path: &'static str, issuer: &str, endpoint: &str) {
        let metadata = json!({ "issuer": issuer, "token_endpoint": endpoint });
        self.set(path, Answer::json(&metadata));
    }

    pub(super) fn remove(&self, path: &str) {
        self.state.answers.lock().remove(path);
    }

    /// The requests since the last call: method, path, the header `authorization`, and the body.
    pub(super) fn take_requests(&self) -> Vec<String> {
        std::mem::take(&mut self.state.requests.lock())
    }
}

async fn answer(State(state): State<Arc<ServerState>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, 1 << 20).await.unwrap();
    let authorization = parts.headers.get("authorization");
    let authorization = authorization.map_or("", |value| value.to_str().unwrap());
    let path = parts.uri.path();
    let body = String::from_utf8_lossy(&body);
    let record = format!("{} {path} {authorization} {body}", parts.method);
    state.requests.lock().push(record);
    let answer = state.answers.lock().get(path).cloned();
    let answer = answer.unwrap_or_else(|| Answer::text(404, ""));
    tokio::time::sleep(answer.delay).await;
    let mut response = Response::builder().status(answer.status);
    if let Some(location) = answer.location {
        response = response.header("location", location);
    }
    response.body(Body::from(answer.body)).unwrap()
}
