//! Who is asking: tokens of our own and of an issuer, at the border of a real server.

pub(crate) mod issuer;

mod commands;
mod ending;
mod issued;
mod listed;
mod shares;
mod withdrawn;

use larder_mcp::auth::{Config, Oauth, Token};
use larder_model::name::{Digest, Teams};
use larder_model::resource::Caller;
use serde_json::{Value, json};

use crate::house::Plan;
use crate::wire::{self, ACCEPT, Answer, JSON, MODERN, Wire, meta};

/// A token under this name.
pub(crate) fn listed(name: &str, token: &str) -> Token {
    let caller =
        Caller { subject: Some(name.into()), issuer: None, teams: Teams::default_team(), scopes: vec![] };
    Token { digest: Digest::of(token.as_bytes()), caller, expires: None }
}

/// A server that believes this.
async fn guarded(auth: Config) -> Wire {
    let mut config = wire::config();
    config.auth = auth;
    Wire::with(Plan::of("echo"), config).await
}

async fn with_tokens(tokens: &[(&str, &str)]) -> Wire {
    let tokens = tokens.iter().map(|(name, token)| listed(name, token)).collect();
    guarded(Config { tokens, oauth: None }).await
}

async fn with_issuer(oauth: Oauth) -> Wire {
    guarded(Config { tokens: vec![], oauth: Some(oauth) }).await
}

/// Reads `echo://hello` in the modern era, with these headers besides.
async fn ask(wire: &Wire, more: &[(&str, &str)]) -> Answer {
    let params = json!({ "uri": "echo://hello", "_meta": meta() });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": params });
    let mut headers =
        vec![JSON, ACCEPT, MODERN, ("mcp-method", "resources/read"), ("mcp-name", "echo://hello")];
    headers.extend(more);
    wire.post(&headers, body.to_string()).await
}

async fn ask_with(wire: &Wire, token: &str) -> Answer {
    ask(wire, &[("authorization", &format!("Bearer {token}"))]).await
}

/// A message of a legacy client with this token.
async fn legacy(wire: &Wire, token: &str, session: Option<&str>, body: &Value) -> Answer {
    let bearer = format!("Bearer {token}");
    let mut headers = vec![JSON, ACCEPT, ("authorization", bearer.as_str())];
    headers.extend(session.map(|session| ("mcp-session-id", session)));
    wire.post(&headers, body.to_string()).await
}

async fn session(wire: &Wire, token: &str) -> String {
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" },
    });
    let body = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
    let answer = legacy(wire, token, None, &body).await;
    answer.headers["mcp-session-id"].to_str().unwrap().to_owned()
}

fn ping() -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" })
}

/// The status, what the client is told to do, and the error.
fn shown(answer: &Answer) -> String {
    let challenge = answer.headers.get("www-authenticate").map_or("-", |value| value.to_str().unwrap());
    let message = answer.json()["error"]["message"].as_str().unwrap_or("no error").to_owned();
    format!("{}\n{challenge}\n{message}", answer.status)
}
