//! An endpoint that serves fake providers, and the requests of its clients.

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};

use crate::*;
use larder_core::gateway;
use larder_core::test_team::{self, TestTeam};
use larder_model::policy::{Grant, ToolGrant};
use larder_model::uri::Uri;
use larder_provider::fake::FakeContent;

pub(super) const JSON: (&str, &str) = ("content-type", "application/json");
pub(super) const ACCEPT: (&str, &str) = ("accept", "application/json, text/event-stream");
pub(super) const MODERN: (&str, &str) = ("mcp-protocol-version", "2026-07-28");

/// The metadata that every modern request must contain.
pub(super) fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

/// The endpoint configuration of these tests.
pub(super) fn config() -> Config {
    Config {
        listen: ListenAddress::Tcp(([127, 0, 0, 1], 8080).into()),
        hosts: vec![],
        origins: vec!["https://app.example.com".into()],
        body_limit: 1 << 20,
        sessions: 4,
        session_idle_timeout: Duration::from_secs(60),
        streams: 8,
        connections: 10,
        waiting_bytes: 1 << 20,
        keep_alive: Duration::from_secs(15),
        stall_timeout: Duration::from_secs(30),
        shutdown_grace: Duration::from_secs(1),
        request_log: RequestLogMode::Off,
        trusted_proxies: TrustedProxies::default(),
        auth: auth::Config::default(),
        caller: TestTeam::caller(),
        title: Some("Test".into()),
        extensions: BTreeSet::new(),
    }
}

/// An endpoint that serves fake providers.
pub(super) struct TestEndpoint {
    pub(super) endpoint: Endpoint,
    /// The content of the first provider.
    pub(super) content: FakeContent,
    pub(super) drain: Drain,
    pub(super) team: TestTeam,
}

/// A response, read to its end.
pub(super) struct TestResponse {
    pub(super) status: u16,
    pub(super) headers: ::http::HeaderMap,
    pub(super) body: String,
}

impl TestResponse {
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {:?}", self.body))
    }

    /// The HTTP status, then the JSON-RPC error code (`400 -32020`), `ok` for a result, or `-` for any other response.
    pub(super) fn verdict(&self) -> String {
        let json: Value = serde_json::from_str(&self.body).unwrap_or_default();
        let code = json["error"]["code"].as_i64().map(|code| code.to_string());
        let has_result = json.get("result").is_some();
        let other = if has_result { "ok" } else { "-" };
        format!("{} {}", self.status, code.as_deref().unwrap_or(other))
    }
}

/// Builds a request to the endpoint. Its host is `localhost`, unless the headers name another one.
pub(super) fn request(
    method: &str,
    headers: &[(&str, &str)],
    body: impl Into<Bytes>,
) -> ::http::Request<Full<Bytes>> {
    let mut request = ::http::Request::builder().method(method).uri("/mcp");
    if !headers.iter().any(|(name, _)| *name == "host") {
        request = request.header("host", "localhost");
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Full::new(body.into())).unwrap()
}

impl TestEndpoint {
    /// Serves one provider, with pages of two items.
    pub(super) async fn new(content: FakeContent) -> Self {
        Self::with_page_size([("wiki", content)], 2).await
    }

    /// Serves these providers.
    pub(super) async fn serve<'a>(
        providers: impl IntoIterator<Item = (&'a str, FakeContent)>,
    ) -> Self {
        Self::with_page_size(providers, 1_000).await
    }

    /// Serves these providers with pages of this size.
    pub(super) async fn with_page_size<'a>(
        providers: impl IntoIterator<Item = (&'a str, FakeContent)>,
        page_size: u32,
    ) -> Self {
        Self::with_config(providers, test_team::config(page_size), config()).await
    }

    /// Serves these providers with these configurations.
    pub(super) async fn with_config<'a>(
        providers: impl IntoIterator<Item = (&'a str, FakeContent)>,
        gateway: gateway::Config,
        config: Config,
    ) -> Self {
        let grant = Grant {
            tools: ToolGrant::All,
            skills: true,
            ..Grant::default()
        };
        Self::with_grant(providers, &grant, gateway, config).await
    }

    /// Serves these providers with this grant for each, and with these configurations.
    pub(super) async fn with_grant<'a>(
        providers: impl IntoIterator<Item = (&'a str, FakeContent)>,
        grant: &Grant,
        gateway: gateway::Config,
        config: Config,
    ) -> Self {
        let providers: Vec<_> = providers.into_iter().collect();
        let content = providers.first().map(|(_, content)| content.clone());
        let providers = providers
            .iter()
            .map(|(name, content)| content.provider(name, grant.clone()));
        let team = TestTeam::with_config(providers, gateway).await;
        let drain = Drain::new();
        let authenticator =
            Authenticator::new(config.auth.clone(), config.caller.clone(), drain.clone());
        let parts = EndpointParts::new(
            authenticator,
            team.gateway.clone(),
            drain.clone(),
            Metrics::default(),
        );
        Self {
            endpoint: Endpoint::new(config, parts),
            content: content.unwrap_or_default(),
            drain,
            team,
        }
    }

    /// Reports a change of the content of this URI.
    pub(super) fn report_update(&self, uri: &str) {
        self.team.report_update(&Uri::parse(uri).unwrap());
    }

    /// Sends a request and reads the whole response.
    pub(super) async fn send(&self, request: ::http::Request<Full<Bytes>>) -> TestResponse {
        let response = self.endpoint.respond(request).await;
        let (head, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        TestResponse {
            status: head.status.as_u16(),
            headers: head.headers,
            body: String::from_utf8(body.into()).unwrap(),
        }
    }

    pub(super) async fn post(
        &self,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> TestResponse {
        self.send(request("POST", headers, body)).await
    }

    /// Sends a modern request with the required metadata and headers.
    pub(super) async fn modern(&self, method: &str, mut params: Value) -> TestResponse {
        let mut all = meta();
        if let Some(more) = params["_meta"].as_object() {
            all.as_object_mut().unwrap().extend(more.clone());
        }
        params["_meta"] = all;
        let name = ["uri", "name"]
            .into_iter()
            .find_map(|key| params[key].as_str())
            .map(ToOwned::to_owned);
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let mut headers = vec![JSON, ACCEPT, MODERN, ("mcp-method", method)];
        headers.extend(name.as_deref().map(|name| ("mcp-name", name)));
        self.post(&headers, body.to_string()).await
    }

    /// Sends a modern request. Returns the result or the error of the response.
    pub(super) async fn request(&self, method: &str, params: Value) -> Value {
        let mut answer = self.modern(method, params).await.json();
        let has_error = answer.get("error").is_some();
        let part = if has_error { "error" } else { "result" };
        answer[part].take()
    }

    /// Sends a modern `resources/read`. Returns the result or the error of the response.
    pub(super) async fn read(&self, uri: &str) -> Value {
        self.request("resources/read", json!({"uri": uri})).await
    }

    /// Opens a legacy session, and returns its id.
    pub(super) async fn session(&self, version: &str) -> String {
        let response = self.initialize(version).await;
        assert_eq!(response.verdict(), "200 ok", "{}", response.body);
        response.headers["mcp-session-id"]
            .to_str()
            .unwrap()
            .to_owned()
    }

    /// Sends the first request of a legacy client.
    pub(super) async fn initialize(&self, version: &str) -> TestResponse {
        let client = json!({"name": "t", "version": "1"});
        let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": client});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
        self.post(&[JSON, ACCEPT], body.to_string()).await
    }

    /// Sends a request in a legacy session.
    pub(super) async fn legacy(&self, session: &str, method: &str, params: Value) -> TestResponse {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let headers = [JSON, ACCEPT, ("mcp-session-id", session)];
        self.post(&headers, body.to_string()).await
    }

    /// Ends a legacy session. Returns the HTTP status.
    pub(super) async fn delete(&self, session: &str) -> u16 {
        let request = request("DELETE", &[("mcp-session-id", session)], "");
        self.send(request).await.status
    }

    /// Opens a stream of a legacy session.
    pub(super) async fn stream(&self, session: &str) -> Events {
        let accept = ("accept", "text/event-stream");
        let request = request("GET", &[accept, ("mcp-session-id", session)], "");
        Events::of(self.endpoint.respond(request).await)
    }

    /// Sends `subscriptions/listen`.
    pub(super) async fn listen(&self, notifications: &Value) -> ::http::Response<Body> {
        let params = json!({"_meta": meta(), "notifications": notifications});
        let method = "subscriptions/listen";
        let body = json!({"jsonrpc": "2.0", "id": "l-1", "method": method, "params": params});
        let headers = [JSON, ACCEPT, MODERN, ("mcp-method", method)];
        self.endpoint
            .respond(request("POST", &headers, body.to_string()))
            .await
    }
}

/// An event stream that is read message by message.
pub(super) struct Events {
    body: Body,
    text: String,
}

impl Events {
    pub(super) fn of(response: ::http::Response<Body>) -> Self {
        assert_eq!(response.status().as_u16(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        assert_eq!(response.headers()["x-accel-buffering"], "no");
        Self {
            body: response.into_body(),
            text: String::new(),
        }
    }

    /// Returns the next message, or `None` at the end of the stream. Keep-alive comments are skipped.
    pub(super) async fn next(&mut self) -> Option<Value> {
        loop {
            while let Some((event, rest)) = self.text.split_once("\n\n") {
                let data = event.lines().filter_map(|line| line.strip_prefix("data:"));
                let data: String = data.collect();
                self.text = rest.to_owned();
                if !data.trim().is_empty() {
                    return Some(serde_json::from_str(&data).unwrap());
                }
            }
            let part = self.next_part().await?;
            self.text += &part;
        }
    }

    /// Returns the text that arrives next.
    pub(super) async fn next_part(&mut self) -> Option<String> {
        let part = tokio::time::timeout(Duration::from_secs(30), self.body.frame()).await;
        let frame = part.expect("nothing within 30 seconds")?;
        let bytes = frame.unwrap().into_data().unwrap();
        Some(String::from_utf8(bytes.into()).unwrap())
    }
}
