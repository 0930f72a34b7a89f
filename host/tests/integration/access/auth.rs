//! Authentication: static tokens and tokens of an OAuth issuer, against a real endpoint.

pub(crate) mod issuer;

mod commands;
mod issuer_state;
mod jwt;
mod new_keys;
mod reload;
mod revocation;
mod session_limits;
mod static_tokens;

use larder_mcp::auth::{Config, Oauth, Token};
use larder_model::name::{Digest, Teams};
use larder_model::resource::Caller;
use serde_json::{Value, json};

use crate::support::harness::TestServer;
use crate::support::http_server::{self, ACCEPT, HttpResponse, HttpTestServer, JSON, MODERN, meta};

/// A static token of the user `name`.
pub(crate) fn static_token(name: &str, token: &str) -> Token {
    let caller = Caller {
        subject: Some(name.into()),
        issuer: None,
        teams: Teams::default_team(),
        scopes: vec![],
    };
    Token {
        digest: Digest::of(token.as_bytes()),
        caller,
        expires: None,
    }
}

/// Starts a server with this authentication.
async fn with_auth(auth: Config) -> HttpTestServer {
    let mut config = http_server::config();
    config.auth = auth;
    HttpTestServer::with_config(TestServer::builder("echo"), config).await
}

async fn with_tokens(tokens: &[(&str, &str)]) -> HttpTestServer {
    let tokens = tokens
        .iter()
        .map(|(name, token)| static_token(name, token))
        .collect();
    with_auth(Config {
        tokens,
        oauth: None,
    })
    .await
}

async fn with_issuer(oauth: Oauth) -> HttpTestServer {
    with_auth(Config {
        tokens: vec![],
        oauth: Some(oauth),
    })
    .await
}

/// Reads `echo://hello` with a modern request that has these additional headers.
async fn read_hello(http: &HttpTestServer, more: &[(&str, &str)]) -> HttpResponse {
    let params = json!({ "uri": "echo://hello", "_meta": meta() });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": params });
    let mut headers = vec![
        JSON,
        ACCEPT,
        MODERN,
        ("mcp-method", "resources/read"),
        ("mcp-name", "echo://hello"),
    ];
    headers.extend(more);
    http.post(&headers, body.to_string()).await
}

pub(crate) async fn read_with_token(http: &HttpTestServer, token: &str) -> HttpResponse {
    read_hello(http, &[("authorization", &format!("Bearer {token}"))]).await
}

/// Sends a message of a legacy client with this token.
async fn legacy(
    http: &HttpTestServer,
    token: &str,
    session: Option<&str>,
    body: &Value,
) -> HttpResponse {
    let bearer = format!("Bearer {token}");
    let mut headers = vec![JSON, ACCEPT, ("authorization", bearer.as_str())];
    headers.extend(session.map(|session| ("mcp-session-id", session)));
    http.post(&headers, body.to_string()).await
}

async fn session(http: &HttpTestServer, token: &str) -> String {
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" },
    });
    let body = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
    let response = legacy(http, token, None, &body).await;
    response.headers["mcp-session-id"]
        .to_str()
        .unwrap()
        .to_owned()
}

fn ping() -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" })
}

/// The status, the `WWW-Authenticate` challenge and the error message.
fn summary(response: &HttpResponse) -> String {
    let challenge = response
        .headers
        .get("www-authenticate")
        .map_or("-", |value| value.to_str().unwrap());
    let message = response.json()["error"]["message"]
        .as_str()
        .unwrap_or("no error")
        .to_owned();
    format!("{}\n{challenge}\n{message}", response.status)
}
