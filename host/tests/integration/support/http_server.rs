//! A test server with an endpoint on a free port, and a client that sends real HTTP requests to it.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use larder_mcp::auth::{self, Authenticator};
use larder_mcp::{self as endpoint, Endpoint, EndpointParts};
use larder_model::name::Teams;
use larder_model::resource::Caller;
use serde_json::{Value, json};

use crate::support::harness::{TestServer, TestServerBuilder};
use crate::support::process::http_client;

/// A response, read to its end.
pub(crate) struct HttpResponse {
    pub(crate) status: u16,
    pub(crate) headers: http::HeaderMap,
    pub(crate) body: String,
}

impl HttpResponse {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {:?}", self.body))
    }

    /// The HTTP status, then the JSON-RPC error code (`400 -32020`), `ok` for a result, or `-` for any other response.
    pub(crate) fn verdict(&self) -> String {
        let json: Value = serde_json::from_str(&self.body).unwrap_or_default();
        let code = json["error"]["code"].as_i64().map(|code| code.to_string());
        let other = if json.get("result").is_some() {
            "ok"
        } else {
            "-"
        };
        format!("{} {}", self.status, code.as_deref().unwrap_or(other))
    }
}

/// A running endpoint and a client for it.
pub(crate) struct HttpTestServer {
    pub(crate) server: TestServer,
    pub(crate) url: String,
    pub(crate) address: SocketAddr,
    pub(crate) client: reqwest::Client,
    pub(crate) authenticator: Authenticator,
}

/// The endpoint configuration of these tests.
pub(crate) fn config() -> endpoint::Config {
    endpoint::Config {
        listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into(),
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
        shutdown_grace: Duration::from_secs(10),
        request_log: endpoint::RequestLogMode::Errors,
        trusted_proxies: Default::default(),
        auth: auth::Config::default(),
        caller: Caller {
            subject: None,
            issuer: None,
            teams: Teams::default_team(),
            scopes: vec![],
        },
        title: Some("Test".into()),
        extensions: [].into(),
    }
}

pub(crate) const JSON: (&str, &str) = ("content-type", "application/json");
pub(crate) const ACCEPT: (&str, &str) = ("accept", "application/json, text/event-stream");
pub(crate) const MODERN: (&str, &str) = ("mcp-protocol-version", "2026-07-28");

/// The metadata that every modern request must contain.
pub(crate) fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

impl HttpTestServer {
    /// Starts a server with these guests, as in `TestServer::builder`.
    pub(crate) async fn start(guests: &str) -> Self {
        Self::from_builder(TestServer::builder(guests)).await
    }

    pub(crate) async fn from_builder(builder: TestServerBuilder) -> Self {
        Self::with_config(builder, config()).await
    }

    /// Starts a server whose endpoint has this configuration.
    pub(crate) async fn with_config(builder: TestServerBuilder, config: endpoint::Config) -> Self {
        Self::serve(builder.start().await, config).await
    }

    /// Adds an endpoint to a server.
    pub(crate) async fn serve(server: TestServer, config: endpoint::Config) -> Self {
        let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .unwrap();
        let address = listener.local_addr().unwrap();
        let config = endpoint::Config {
            listen: address.into(),
            ..config
        };
        let authenticator = Authenticator::new(
            config.auth.clone(),
            config.caller.clone(),
            server.drain.clone(),
        );
        let endpoint = Endpoint::new(
            config,
            EndpointParts::new(
                authenticator.clone(),
                server.gateway.clone(),
                server.drain.clone(),
                server.metrics.clone(),
            ),
        );
        server
            .drain
            .spawn(async move { endpoint.serve_http(listener).await });
        let client = http_client();
        Self {
            server,
            url: format!("http://{address}/mcp"),
            address,
            client,
            authenticator,
        }
    }

    /// Starts the task that handles the signals of providers.
    pub(crate) fn run_reconciler(&mut self) {
        self.server.run_reconciler();
    }

    pub(crate) async fn post(
        &self,
        headers: &[(&str, &str)],
        body: impl Into<reqwest::Body>,
    ) -> HttpResponse {
        let mut request = self.client.post(&self.url).body(body);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.send(request).await
    }

    pub(crate) async fn send(&self, request: reqwest::RequestBuilder) -> HttpResponse {
        let response = request
            .timeout(Duration::from_secs(60))
            .send()
            .await
            .unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        HttpResponse {
            status,
            headers,
            body: response.text().await.unwrap(),
        }
    }

    /// Sends a modern request with the required metadata and headers.
    pub(crate) async fn modern(&self, method: &str, mut params: Value) -> HttpResponse {
        params["_meta"] = match params.get("_meta") {
            Some(more) => {
                let mut all = meta();
                all.as_object_mut()
                    .unwrap()
                    .extend(more.as_object().unwrap().clone());
                all
            }
            None => meta(),
        };
        let name = ["uri", "name"]
            .into_iter()
            .find_map(|key| params[key].as_str())
            .map(ToOwned::to_owned);
        let body =
            json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
        let mut headers = vec![JSON, ACCEPT, MODERN, ("mcp-method", method)];
        headers.extend(name.as_deref().map(|name| ("mcp-name", name)));
        self.post(&headers, body).await
    }

    /// Sends a modern `resources/read`.
    pub(crate) async fn read(&self, uri: &str) -> HttpResponse {
        self.modern("resources/read", json!({ "uri": uri })).await
    }

    /// Opens a legacy session, and returns its id.
    pub(crate) async fn session(&self, version: &str) -> String {
        let params = json!({
            "protocolVersion": version, "capabilities": {}, "clientInfo": { "name": "t", "version": "1" },
        });
        let body = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        let response = self.post(&[JSON, ACCEPT], body.to_string()).await;
        assert_eq!(
            response.json()["result"]["protocolVersion"],
            version,
            "{}",
            response.body
        );
        response.headers["mcp-session-id"]
            .to_str()
            .unwrap()
            .to_owned()
    }

    /// Sends a request in a legacy session.
    pub(crate) async fn legacy(&self, session: &str, method: &str, params: Value) -> HttpResponse {
        let body =
            json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
        self.post(&[JSON, ACCEPT, ("mcp-session-id", session)], body)
            .await
    }
}

/// An event of a stream. Its data is empty in the first event of a stream, which only has an ID.
pub(crate) struct ServerEvent {
    pub(crate) id: Option<String>,
    pub(crate) data: String,
}

impl ServerEvent {
    /// Takes the first event, if the text contains the whole event.
    pub(crate) fn take(text: &mut String) -> Option<Self> {
        let (event, rest) = text.split_once("\n\n")?;
        let field = |name: &str| {
            event
                .lines()
                .find_map(|line| line.strip_prefix(name))
                .map(str::to_owned)
        };
        let event = Self {
            id: field("id: "),
            data: field("data: ").unwrap_or_default(),
        };
        *text = rest.to_owned();
        Some(event)
    }
}
