//! A protected MCP server and its authorization server, on one port. Each test changes what they answer. The test plays
//! the browser: it follows the address that the user would open.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use larder_client::{ClientBuilder, ClientError, Login, SignIn, TokenStore, UserAction};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use url::form_urlencoded;

use crate::access::auth::issuer::{Pair, from_now};
use crate::support::process::http_client;

/// The parameters of a request.
pub(crate) type Form = BTreeMap<String, String>;

/// An answer that replaces the usual one.
#[derive(Clone, Default)]
pub(crate) struct RawAnswer {
    pub(crate) status: u16,
    pub(crate) location: Option<String>,
    pub(crate) body: String,
    pub(crate) delay: Duration,
}

/// What differs from the usual answers. In JSON, `null` removes a member.
#[derive(Clone, Default)]
pub(crate) struct Settings {
    /// The host that the servers call themselves. By default 127.0.0.1.
    pub(crate) host: Option<&'static str>,
    pub(crate) resource_metadata: Value,
    pub(crate) server_metadata: Value,
    pub(crate) registration: Value,
    pub(crate) redirect: Value,
    pub(crate) tokens: Value,
    pub(crate) device: Value,
    /// The parameters of the challenge, without the URL of the metadata.
    pub(crate) challenge: &'static str,
    /// Whether the challenge names the URL of the metadata.
    pub(crate) hides_metadata_url: bool,
    /// The scope that calls of tools need.
    pub(crate) scope_of_calls: Option<&'static str>,
    /// How often the device code is pending.
    pub(crate) pending_polls: usize,
    /// Answers by path.
    pub(crate) raw: BTreeMap<String, RawAnswer>,
    /// Tokens are JWTs for this audience instead of random texts.
    pub(crate) audience: Option<String>,
}

/// A running pair of servers.
pub(crate) struct Servers {
    /// The URL of the MCP server.
    pub(crate) url: String,
    /// The URL of the authorization server.
    pub(crate) issuer: String,
    state: Arc<ServerState>,
    runtime: Option<Runtime>,
}

struct ServerState {
    origin: String,
    settings: Mutex<Settings>,
    requests: Mutex<Vec<Recorded>>,
    tokens: Mutex<BTreeMap<String, String>>,
    refresh_tokens: Mutex<BTreeSet<String>>,
    codes: Mutex<BTreeMap<String, Form>>,
    key: Pair,
}

/// A request that arrived.
#[derive(Clone, Debug)]
pub(crate) struct Recorded {
    pub(crate) path: String,
    pub(crate) form: Form,
    pub(crate) body: Value,
    pub(crate) authorization: Option<String>,
}

impl Servers {
    pub(crate) fn start(settings: Settings) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let host = settings.host.unwrap_or("127.0.0.1");
        let address = if host == "localhost" {
            "127.0.0.1"
        } else {
            host
        };
        let listener = std::net::TcpListener::bind((address, 0)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let origin = format!("http://{host}:{}", listener.local_addr().unwrap().port());
        let state = Arc::new(ServerState {
            origin: origin.clone(),
            settings: Mutex::new(settings),
            requests: Mutex::default(),
            tokens: Mutex::default(),
            refresh_tokens: Mutex::default(),
            codes: Mutex::default(),
            key: Pair::p256(),
        });
        let router = axum::Router::new()
            .fallback(respond)
            .with_state(state.clone());
        runtime.handle().spawn(async move {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            axum::serve(listener, router).await
        });
        Self {
            url: format!("{origin}/mcp"),
            issuer: format!("{origin}/as"),
            state,
            runtime: Some(runtime),
        }
    }

    /// Changes what the servers answer from now on.
    pub(crate) fn change(&self, change: impl FnOnce(&mut Settings)) {
        change(&mut self.state.settings.lock().unwrap());
    }

    /// The access tokens that are valid no longer.
    pub(crate) fn expire_tokens(&self) {
        self.state.tokens.lock().unwrap().clear();
    }

    pub(crate) fn expire_refresh_tokens(&self) {
        self.state.refresh_tokens.lock().unwrap().clear();
    }

    /// The requests with this path so far.
    pub(crate) fn requests(&self, path: &str) -> Vec<Recorded> {
        let requests = self.state.requests.lock().unwrap();
        let matches = requests.iter().filter(|request| request.path == path);
        matches.cloned().collect()
    }

    /// The paths of all requests except those of the MCP server.
    pub(crate) fn paths(&self) -> Vec<String> {
        let requests = self.state.requests.lock().unwrap();
        let paths = requests.iter().map(|request| request.path.clone());
        paths.filter(|path| path != "/mcp").collect()
    }
}

/// A runtime that is dropped must not wait inside of the runtime of a test.
impl Drop for Servers {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// A user with a folder for tokens.
pub(crate) struct User {
    pub(crate) folder: TempDir,
    pub(crate) sign_in: SignIn,
}

impl User {
    pub(crate) fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let store = TokenStore::new(folder.path().join("sign-ins"));
        let sign_in = SignIn {
            prompt: Some(Arc::new(follow)),
            ..SignIn::new(store, |_| false)
        };
        Self { folder, sign_in }
    }

    /// Counts addresses of this function as public.
    pub(crate) fn with_public(mut self, is_public: fn(IpAddr) -> bool) -> Self {
        self.sign_in.is_public = is_public;
        self
    }

    /// A client that signs in when it is necessary.
    pub(crate) fn builder(&self) -> ClientBuilder {
        larder_client::Client::builder().sign_in(self.sign_in.clone())
    }

    /// A client that asks nobody.
    pub(crate) fn silent_builder(&self) -> ClientBuilder {
        let prompt = None;
        larder_client::Client::builder().sign_in(SignIn {
            prompt,
            ..self.sign_in.clone()
        })
    }

    pub(crate) async fn log_in(&self, servers: &Servers) -> Result<Login, ClientError> {
        self.builder().log_in(&servers.url).await
    }

    /// The only file with tokens.
    pub(crate) fn record(&self) -> Value {
        let files = std::fs::read_dir(self.folder.path().join("sign-ins")).unwrap();
        let files = files.map(|file| file.unwrap().path());
        let mut records = files.filter(|file| file.extension().is_some_and(|it| it == "json"));
        let text = std::fs::read_to_string(records.next().unwrap()).unwrap();
        assert_eq!(records.next(), None);
        serde_json::from_str(&text).unwrap()
    }
}

/// Opens the page in the browser of the test.
fn follow(action: UserAction<'_>) {
    let url = match action {
        UserAction::OpenUrl(url) => url.to_owned(),
        UserAction::EnterCode { url, code, .. } => format!("{url}?code={code}"),
    };
    tokio::runtime::Handle::current().spawn(async move {
        let page = http_client().get(url).send().await.unwrap();
        let status = page.status();
        assert!(
            status.is_success(),
            "{status}: {}",
            page.text().await.unwrap()
        );
    });
}

async fn respond(
    State(state): State<Arc<ServerState>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let path = uri.path().to_owned();
    let pairs = match method {
        Method::POST => form_urlencoded::parse(&body),
        _ => form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()),
    };
    let authorization = headers.get("authorization");
    let request = Recorded {
        path: path.clone(),
        form: pairs.into_owned().collect(),
        body: serde_json::from_slice(&body).unwrap_or_default(),
        authorization: authorization.map(|value| value.to_str().unwrap().to_owned()),
    };
    state.requests.lock().unwrap().push(request.clone());
    let settings = state.settings.lock().unwrap().clone();
    if let Some(raw) = settings.raw.get(&path) {
        tokio::time::sleep(raw.delay).await;
        return raw_response(raw);
    }
    match path.as_str() {
        "/mcp" => state.mcp(&settings, &request),
        "/.well-known/oauth-protected-resource/mcp" => state.resource_metadata(&settings),
        "/.well-known/oauth-authorization-server/as" => state.server_metadata(&settings),
        "/as/register" => registration(&settings, &request),
        "/as/authorize" => state.authorize(&settings, &request),
        "/as/token" => state.token(&settings, &request),
        "/as/device" => state.device(&settings),
        "/as/keys" => reply(200, json!({ "keys": [state.key.public("key")] })),
        "/as/activate" | "/as/revoke" => reply(200, json!({})),
        _ => reply(404, json!({})),
    }
}

impl ServerState {
    fn mcp(&self, settings: &Settings, request: &Recorded) -> Response {
        let method = request.body["method"].as_str().unwrap_or_default();
        let token = request.authorization.as_deref().unwrap_or_default();
        let token = token.strip_prefix("Bearer ").unwrap_or_default();
        let Some(scope) = self.tokens.lock().unwrap().get(token).cloned() else {
            return self.refuse(settings, 401, settings.challenge);
        };
        let needed = settings.scope_of_calls.filter(|_| method == "tools/call");
        if let Some(needed) = needed.filter(|needed| !scope.split(' ').any(|one| one == *needed)) {
            let challenge = format!("error=\"insufficient_scope\", scope=\"{needed}\"");
            return self.refuse(settings, 403, &challenge);
        }
        let result = match method {
            "server/discover" => json!({ "supportedVersions": ["2026-07-28"] }),
            "tools/list" => json!({ "tools": [] }),
            _ => json!({ "content": [], "resources": [] }),
        };
        reply(
            200,
            json!({ "jsonrpc": "2.0", "id": request.body["id"], "result": result }),
        )
    }

    fn refuse(&self, settings: &Settings, status: u16, challenge: &str) -> Response {
        let mut challenge = challenge.to_owned();
        if !settings.hides_metadata_url {
            let url = format!("{}/.well-known/oauth-protected-resource/mcp", self.origin);
            let comma = if challenge.is_empty() { "" } else { ", " };
            challenge += &format!("{comma}resource_metadata=\"{url}\"");
        }
        let mut response = reply(status, json!({ "error": "no" }));
        let challenge = format!("Bearer {challenge}").parse().unwrap();
        response.headers_mut().insert("www-authenticate", challenge);
        response
    }

    fn resource_metadata(&self, settings: &Settings) -> Response {
        let document = json!({
            "resource": format!("{}/mcp", self.origin),
            "authorization_servers": [format!("{}/as", self.origin)],
        });
        reply(200, merge(document, &settings.resource_metadata))
    }

    fn server_metadata(&self, settings: &Settings) -> Response {
        let at = |name: &str| format!("{}/as/{name}", self.origin);
        let document = json!({
            "issuer": format!("{}/as", self.origin),
            "jwks_uri": at("keys"),
            "authorization_endpoint": at("authorize"),
            "token_endpoint": at("token"),
            "registration_endpoint": at("register"),
            "device_authorization_endpoint": at("device"),
            "revocation_endpoint": at("revoke"),
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none", "client_secret_basic"],
            "authorization_response_iss_parameter_supported": true,
        });
        reply(200, merge(document, &settings.server_metadata))
    }

    fn authorize(&self, settings: &Settings, request: &Recorded) -> Response {
        let code = random();
        let form = request.form.clone();
        let answer = json!({
            "code": code, "state": form["state"], "iss": format!("{}/as", self.origin),
        });
        let answer = merge(answer, &settings.redirect);
        let members = answer.as_object().unwrap().iter();
        let pairs = members.map(|(name, value)| (name, value.as_str().unwrap()));
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(pairs);
        let location = format!("{}?{}", form["redirect_uri"], query.finish());
        self.codes.lock().unwrap().insert(code, form);
        raw_response(&RawAnswer {
            status: 302,
            location: Some(location),
            ..RawAnswer::default()
        })
    }

    fn device(&self, settings: &Settings) -> Response {
        let document = json!({
            "device_code": "device-code", "user_code": "ABCD-EFGH", "expires_in": 600, "interval": 1,
            "verification_uri": format!("{}/as/activate", self.origin),
        });
        reply(200, merge(document, &settings.device))
    }

    fn token(&self, settings: &Settings, request: &Recorded) -> Response {
        let form = &request.form;
        match self.scope(settings, form) {
            Ok(scope) => {
                let token = self.new_token(settings, &scope);
                let refresh_token = random();
                let mut refresh_tokens = self.refresh_tokens.lock().unwrap();
                refresh_tokens.insert(refresh_token.clone());
                let answer = json!({
                    "access_token": token, "token_type": "Bearer", "expires_in": 3600,
                    "refresh_token": refresh_token,
                });
                let answer = merge(answer, &settings.tokens);
                let token = answer["access_token"].as_str().unwrap_or_default();
                self.tokens.lock().unwrap().insert(token.to_owned(), scope);
                reply(200, answer)
            }
            Err(error) => reply(
                400,
                json!({ "error": error, "error_description": "a\u{1b}[2Jb" }),
            ),
        }
    }

    /// Checks a grant, and returns its scope.
    fn scope(&self, settings: &Settings, form: &Form) -> Result<String, &'static str> {
        match form["grant_type"].as_str() {
            "authorization_code" => {
                let request = self.codes.lock().unwrap().remove(&form["code"]);
                let request = request.ok_or("invalid_grant")?;
                let verifier =
                    ring::digest::digest(&ring::digest::SHA256, form["code_verifier"].as_bytes());
                let challenge = base64_simd::URL_SAFE_NO_PAD.encode_to_string(verifier);
                let is_same = challenge == request["code_challenge"]
                    && form["redirect_uri"] == request["redirect_uri"]
                    && form["resource"] == request["resource"];
                let scope = request.get("scope").cloned().unwrap_or_default();
                is_same.then_some(scope).ok_or("invalid_grant")
            }
            // A refresh token is valid once.
            "refresh_token" => {
                let mut valid = self.refresh_tokens.lock().unwrap();
                let found = valid.remove(&form["refresh_token"]);
                found.then(String::new).ok_or("invalid_grant")
            }
            _ => {
                let requests = self.requests.lock().unwrap();
                let polls = requests.iter().filter(|it| it.path == "/as/token").count();
                let done = polls > settings.pending_polls;
                done.then(String::new).ok_or("authorization_pending")
            }
        }
    }

    fn new_token(&self, settings: &Settings, scope: &str) -> String {
        let Some(audience) = &settings.audience else {
            return random();
        };
        let claims = json!({
            "iss": format!("{}/as", self.origin), "aud": audience, "sub": "ann", "scope": scope,
            "exp": from_now(600), "jti": random(),
        });
        self.key
            .token(&json!({ "alg": "ES256", "kid": "key" }), &claims)
    }
}

fn registration(settings: &Settings, request: &Recorded) -> Response {
    let answer = json!({
        "client_id": random(), "redirect_uris": request.body["redirect_uris"],
        "token_endpoint_auth_method": request.body["token_endpoint_auth_method"],
    });
    reply(201, merge(answer, &settings.registration))
}

fn merge(mut document: Value, changes: &Value) -> Value {
    for (name, value) in changes.as_object().into_iter().flatten() {
        if value.is_null() {
            document.as_object_mut().unwrap().remove(name);
        } else {
            document[name] = value.clone();
        }
    }
    document
}

fn reply(status: u16, body: Value) -> Response {
    let status = StatusCode::from_u16(status).unwrap();
    (
        status,
        [("content-type", "application/json")],
        body.to_string(),
    )
        .into_response()
}

fn raw_response(raw: &RawAnswer) -> Response {
    let status = StatusCode::from_u16(raw.status).unwrap();
    match &raw.location {
        Some(location) => (status, [("location", location.clone())]).into_response(),
        None => (status, raw.body.clone()).into_response(),
    }
}

fn random() -> String {
    use ring::rand::SecureRandom as _;
    let mut bytes = [0; 16];
    ring::rand::SystemRandom::new().fill(&mut bytes).unwrap();
    base64_simd::URL_SAFE_NO_PAD.encode_to_string(bytes)
}
