//! A house with an endpoint on a free port, asked over real HTTP.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use larder_core::telemetry::Telemetry;
use larder_mcp::auth::{self, Authenticator};
use larder_mcp::{self as endpoint, Endpoint};
use larder_model::name::Teams;
use larder_model::resource::Caller;
use serde_json::{Value, json};

use crate::house::{House, Plan};
use crate::process::http_client;

/// What came back.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: http::HeaderMap,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {:?}", self.body))
    }

    /// The status and the JSON-RPC code, such as `400 -32020`; or the status and `ok`.
    pub(crate) fn verdict(&self) -> String {
        let json: Value = serde_json::from_str(&self.body).unwrap_or_default();
        let code = json["error"]["code"].as_i64().map(|code| code.to_string());
        let other = if json.get("result").is_some() { "ok" } else { "-" };
        format!("{} {}", self.status, code.as_deref().unwrap_or(other))
    }
}

/// A running endpoint and a client for it.
pub(crate) struct Wire {
    pub(crate) house: House,
    pub(crate) url: String,
    pub(crate) address: SocketAddr,
    pub(crate) client: reqwest::Client,
    pub(crate) authenticator: Authenticator,
}

/// What these tests run with.
pub(crate) fn config() -> endpoint::Config {
    endpoint::Config {
        listen: (Ipv4Addr::LOCALHOST, 0).into(),
        hosts: vec![],
        origins: vec!["https://app.example.com".into()],
        body_limit: 1 << 20,
        sessions: 4,
        session_idle_timeout: Duration::from_secs(60),
        streams: 8,
        connections: 64,
        waiting_bytes: 256 << 20,
        keep_alive: Duration::from_millis(200),
        stall_timeout: Duration::from_secs(30),
        auth: auth::Config::default(),
        caller: Caller { subject: None, issuer: None, teams: Teams::default_team(), scopes: vec![] },
        title: Some("Test".into()),
        extensions: [].into(),
    }
}

pub(crate) const JSON: (&str, &str) = ("content-type", "application/json");
pub(crate) const ACCEPT: (&str, &str) = ("accept", "application/json, text/event-stream");
pub(crate) const MODERN: (&str, &str) = ("mcp-protocol-version", "2026-07-28");

/// The least metadata that a modern request carries.
pub(crate) fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

impl Wire {
    pub(crate) async fn open(plan: Plan) -> Self {
        Self::with(plan, config()).await
    }

    /// With an endpoint that is set up in another way.
    pub(crate) async fn with(plan: Plan, config: endpoint::Config) -> Self {
        let house = plan.open().await;
        let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let config = endpoint::Config { listen: address, ..config };
        let authenticator =
            Authenticator::new(config.auth.clone(), config.caller.clone(), house.drain.clone());
        let (gateway, drain, metrics) = (house.gateway.clone(), house.drain.clone(), house.metrics.clone());
        let endpoint =
            Endpoint::new(config, authenticator.clone(), gateway, drain, (metrics, Telemetry::default()));
        house.drain.spawn(async move { endpoint.serve_http(listener).await });
        let client = http_client();
        Self { house, url: format!("http://{address}/mcp"), address, client, authenticator }
    }

    /// Works off what providers say.
    pub(crate) fn run(&mut self) {
        self.house.run();
    }

    pub(crate) async fn of(guests: &str) -> Self {
        Self::open(Plan::of(guests)).await
    }

    pub(crate) async fn post(&self, headers: &[(&str, &str)], body: impl Into<reqwest::Body>) -> Answer {
        let mut request = self.client.post(&self.url).body(body);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.send(request).await
    }

    pub(crate) async fn send(&self, request: reqwest::RequestBuilder) -> Answer {
        let response = request.timeout(Duration::from_secs(60)).send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Answer { status, headers, body: response.text().await.unwrap() }
    }

    /// A modern request with all that belongs to it.
    pub(crate) async fn modern(&self, method: &str, mut params: Value) -> Answer {
        params["_meta"] = match params.get("_meta") {
            Some(more) => {
                let mut all = meta();
                all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
                all
            }
            None => meta(),
        };
        let uri = params["uri"].as_str().map(ToOwned::to_owned);
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
        let mut headers = vec![JSON, ACCEPT, MODERN, ("mcp-method", method)];
        headers.extend(uri.as_deref().map(|uri| ("mcp-name", uri)));
        self.post(&headers, body).await
    }

    pub(crate) async fn read(&self, uri: &str) -> Answer {
        self.modern("resources/read", json!({ "uri": uri })).await
    }

    /// Opens a legacy session and gives its id.
    pub(crate) async fn session(&self, version: &str) -> String {
        let params = json!({
            "protocolVersion": version, "capabilities": {}, "clientInfo": { "name": "t", "version": "1" },
        });
        let body = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        let answer = self.post(&[JSON, ACCEPT], body.to_string()).await;
        assert_eq!(answer.json()["result"]["protocolVersion"], version, "{}", answer.body);
        answer.headers["mcp-session-id"].to_str().unwrap().to_owned()
    }

    /// A request in a legacy session.
    pub(crate) async fn legacy(&self, session: &str, method: &str, params: Value) -> Answer {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
        self.post(&[JSON, ACCEPT, ("mcp-session-id", session)], body).await
    }
}
