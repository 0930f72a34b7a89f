//! HTTP requests as clients of both protocol eras send them.

use std::net::SocketAddr;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use crate::load;

pub(crate) const MODERN: &str = "2026-07-28";
pub(crate) const LEGACY: &str = "2025-11-25";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    Modern,
    Legacy,
}

impl Era {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Modern => "modern",
            Self::Legacy => "legacy session",
        }
    }
}

/// Formats a request with these headers in addition to the headers of every client.
pub(crate) fn post(
    address: SocketAddr,
    path: &str,
    headers: &[(&str, &str)],
    body: &Value,
) -> Vec<u8> {
    let body = body.to_string();
    let mut head = format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\ncontent-length: {}\r\n",
        body.len()
    );
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    (head + "\r\n" + &body).into_bytes()
}

/// Formats a request of the modern era, with a URI if the method has one.
pub(crate) fn modern(address: SocketAddr, method: &str, uri: Option<&str>) -> Vec<u8> {
    modern_with(address, method, uri, None, None)
}

/// Formats a read with a token. Reads with different numbers cannot share a response.
pub(crate) fn read_with_token(
    address: SocketAddr,
    token: &str,
    uri: &str,
    number: Option<usize>,
) -> Vec<u8> {
    modern_with(address, "resources/read", Some(uri), Some(token), number)
}

fn modern_with(
    address: SocketAddr,
    method: &str,
    uri: Option<&str>,
    token: Option<&str>,
    number: Option<usize>,
) -> Vec<u8> {
    let mut params = json!({"_meta": client_metadata()});
    let mut headers = vec![("mcp-protocol-version", MODERN), ("mcp-method", method)];
    let authorization = token.map(|token| format!("Bearer {token}"));
    headers.extend(
        authorization
            .iter()
            .map(|value| ("authorization", value.as_str())),
    );
    if let Some(number) = number {
        params["_meta"]["bench/number"] = number.into();
    }
    if let Some(uri) = uri {
        params["uri"] = uri.into();
        headers.push(("mcp-name", uri));
    }
    post(
        address,
        "/mcp",
        &headers,
        &json!({"jsonrpc": "2.0", "id": load::FIRST_ID, "method": method, "params": params}),
    )
}

/// Formats a call of a tool of the modern era.
pub(crate) fn tool_call(address: SocketAddr, name: &str, arguments: &Value) -> Vec<u8> {
    tool_call_with(address, name, arguments, None)
}

/// The same with a token.
pub(crate) fn tool_call_with_token(
    address: SocketAddr,
    token: &str,
    name: &str,
    arguments: &Value,
) -> Vec<u8> {
    tool_call_with(address, name, arguments, Some(token))
}

fn tool_call_with(
    address: SocketAddr,
    name: &str,
    arguments: &Value,
    token: Option<&str>,
) -> Vec<u8> {
    let method = "tools/call";
    let params = json!({"name": name, "arguments": arguments, "_meta": client_metadata()});
    let mut headers = vec![
        ("mcp-protocol-version", MODERN),
        ("mcp-method", method),
        ("mcp-name", name),
    ];
    let authorization = token.map(|token| format!("Bearer {token}"));
    headers.extend(
        authorization
            .iter()
            .map(|value| ("authorization", value.as_str())),
    );
    let body = json!({"jsonrpc": "2.0", "id": load::FIRST_ID, "method": method, "params": params});
    post(address, "/mcp", &headers, &body)
}

/// The description of itself that a client of the modern era sends in each request.
fn client_metadata() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": {"name": "larder-bench", "version": "0.1.0"},
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

/// Opens a session and formats a read within it. For a server without sessions, the read has no session ID.
pub(crate) fn legacy(address: SocketAddr, uri: &str) -> Result<Vec<u8>> {
    let initialize = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "larder-bench", "version": "0.1.0"},
    }});
    let (status, head, body) = load::once(address, &post(address, "/mcp", &[], &initialize))?;
    ensure!(
        status == 200,
        "initialize: {status} {}",
        String::from_utf8_lossy(&body)
    );
    let session = head
        .lines()
        .find_map(|line| line.strip_prefix("mcp-session-id: "));
    let mut headers = vec![("mcp-protocol-version", LEGACY)];
    headers.extend(session.map(|session| ("mcp-session-id", session)));
    let read = json!({"jsonrpc": "2.0", "id": load::FIRST_ID, "method": "resources/read", "params": {"uri": uri}});
    Ok(post(address, "/mcp", &headers, &read))
}

/// The first content of a response to a read or to a call of a tool, JSON-escaped as on the wire.
pub(crate) fn first_content(body: &[u8]) -> Result<String> {
    let excerpt = || String::from_utf8_lossy(&body[..body.len().min(500)]).into_owned();
    let response: Value = serde_json::from_slice(body).with_context(excerpt)?;
    let result = &response["result"];
    ensure!(
        result["isError"] != Value::Bool(true),
        "the tool failed: {}",
        excerpt()
    );
    let content = result.get("contents").unwrap_or(&result["content"]);
    let content = &content[0];
    if let Some(text) = content["text"].as_str() {
        let quoted = Value::from(text).to_string();
        return Ok(quoted[1..quoted.len() - 1].to_owned());
    }
    content["blob"]
        .as_str()
        .map(ToOwned::to_owned)
        .with_context(excerpt)
}
