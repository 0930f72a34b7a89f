//! A registry in this process, with content that tests set, and with faults.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use larder_model::name::Digest;
use larder_runtime::drain::Drain;
use parking_lot::Mutex;
use serde_json::{Value, json};

/// How a registry behaves.
#[derive(Debug, Clone, Default)]
pub(super) struct Behaviour {
    /// The credentials that the registry demands: "basic", "bearer" or "token".
    pub(super) auth: Option<&'static str>,
    /// Whether the registry lists attachments; otherwise they are in a tag.
    pub(super) has_referrers: bool,
    pub(super) cut_blob_at: Option<usize>,
    pub(super) extra_blob_bytes: usize,
    pub(super) flip_blob: bool,
    /// Paths with this part have bodies without an end.
    pub(super) endless: Option<&'static str>,
    /// Paths with this part are not answered.
    pub(super) silent: Option<&'static str>,
    /// The status of all responses.
    pub(super) status: Option<u16>,
    pub(super) redirects: bool,
    /// Whether the registry counts the requests that wait at the same time.
    pub(super) count_open: bool,
    /// Whether the registry demands credentials only for uploads.
    pub(super) is_public: bool,
    /// The address where the registry issues tokens, if it is another address.
    pub(super) realm: Option<String>,
    /// The response to each request for a token.
    pub(super) token: Option<&'static str>,
    /// Where requests for paths with the first text are redirected.
    pub(super) redirect: Option<(&'static str, String)>,
    /// The address for uploads of blobs, if it is not the registry.
    pub(super) upload_address: Option<String>,
    /// The status of lists of attachments.
    pub(super) referrers_status: Option<u16>,
}

pub(super) struct TestRegistry {
    address: String,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    behaviour: Behaviour,
    address: Mutex<String>,
    content: Mutex<Content>,
    requests: Mutex<Vec<ReceivedRequest>>,
    open: Mutex<(usize, usize)>,
}

/// A request that arrived.
#[derive(Debug, Clone)]
pub(super) struct ReceivedRequest {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) query: String,
    pub(super) authorization: String,
    pub(super) body: Bytes,
}

#[derive(Default)]
struct Content {
    blobs: HashMap<String, Bytes>,
    /// By repository, and tag or digest.
    manifests: BTreeMap<(String, String), Bytes>,
    referrers: HashMap<String, Vec<Value>>,
    metadata: Option<String>,
}

impl TestRegistry {
    pub(super) async fn start(behaviour: Behaviour) -> Self {
        Self::start_at("127.0.0.1", behaviour).await
    }

    pub(super) async fn start_at(host: &str, behaviour: Behaviour) -> Self {
        let shared = Arc::new(Shared {
            behaviour,
            ..Shared::default()
        });
        let listener = tokio::net::TcpListener::bind((host, 0)).await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        shared.address.lock().clone_from(&address);
        let router = Router::new().fallback(handle).with_state(shared.clone());
        Drain::new().spawn(async move { axum::serve(listener, router).await });
        Self { address, shared }
    }

    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// Returns the paths of all requests.
    pub(super) fn requests(&self) -> Vec<String> {
        self.received()
            .into_iter()
            .map(|request| request.path)
            .collect()
    }

    pub(super) fn received(&self) -> Vec<ReceivedRequest> {
        self.shared.requests.lock().clone()
    }

    pub(super) fn has_manifest(&self, repository: &str, tag: &str) -> bool {
        let key = (repository.to_owned(), tag.to_owned());
        self.shared.content.lock().manifests.contains_key(&key)
    }

    pub(super) fn most_open(&self) -> usize {
        self.shared.open.lock().1
    }

    pub(super) fn set_metadata(&self, text: &str) {
        self.shared.content.lock().metadata = Some(text.to_owned());
    }

    /// Adds a component. Returns the digests of its manifest and of the component.
    pub(super) fn push(&self, repository: &str, tag: &str, component: &[u8]) -> (Digest, Digest) {
        (
            self.push_as(repository, tag, "application/wasm", component),
            Digest::of(component),
        )
    }

    /// Adds an image with one layer. Returns the digest of its manifest.
    pub(super) fn push_as(
        &self,
        repository: &str,
        tag: &str,
        layer_type: &str,
        layer: &[u8],
    ) -> Digest {
        let digest = format!("sha256:{}", Digest::of(layer));
        let config = json!({
            "mediaType": "application/vnd.wasm.config.v0+json",
            "digest": format!("sha256:{}", Digest::of(b"{}")), "size": 2,
        });
        let layers = json!([{ "mediaType": layer_type, "digest": digest, "size": layer.len() }]);
        let manifest = json!({ "schemaVersion": 2, "config": config, "layers": layers });
        let manifest = Bytes::from(manifest.to_string());
        let manifest_digest = Digest::of(&manifest);
        let mut content = self.shared.content.lock();
        content.blobs.insert(digest, Bytes::copy_from_slice(layer));
        for version in [tag.to_owned(), format!("sha256:{manifest_digest}")] {
            content
                .manifests
                .insert((repository.to_owned(), version), manifest.clone());
        }
        manifest_digest
    }

    /// Attaches an image to another image.
    pub(super) fn attach(
        &self,
        repository: &str,
        to: &Digest,
        layer_type: &str,
        layer: &[u8],
    ) -> Digest {
        let digest = self.push_as(repository, &format!("attached-{to}"), layer_type, layer);
        let entry = json!({
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "digest": format!("sha256:{digest}"), "size": 1,
        });
        let mut content = self.shared.content.lock();
        content
            .manifests
            .remove(&(repository.to_owned(), format!("attached-{to}")));
        if self.shared.behaviour.has_referrers && self.shared.behaviour.referrers_status.is_none() {
            content
                .referrers
                .entry(to.to_string())
                .or_default()
                .push(entry);
        } else {
            let key = (repository.to_owned(), format!("sha256-{to}"));
            content.manifests.insert(key, index(vec![entry]));
        }
        digest
    }

    pub(super) fn replace_manifest(&self, repository: &str, digest: &Digest, text: &'static str) {
        let key = (repository.to_owned(), format!("sha256:{digest}"));
        self.shared
            .content
            .lock()
            .manifests
            .insert(key, Bytes::from_static(text.as_bytes()));
    }
}

fn index(entries: Vec<Value>) -> Bytes {
    let media_type = "application/vnd.oci.image.index.v1+json";
    Bytes::from(
        json!({ "schemaVersion": 2, "mediaType": media_type, "manifests": entries }).to_string(),
    )
}

async fn handle(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let received = receive(request).await;
    let path = received.path.clone();
    shared.requests.lock().push(received.clone());
    let behaviour = &shared.behaviour;
    let has = |part: Option<&str>| part.is_some_and(|part| path.contains(part));
    if has(behaviour.silent) {
        std::future::pending::<()>().await;
    }
    if has(behaviour.endless) {
        let chunks =
            stream::repeat_with(|| Ok::<_, std::io::Error>(Bytes::from_static(&[b' '; 1 << 16])));
        return Body::from_stream(chunks).into_response();
    }
    if let Some(status) = behaviour.status {
        return StatusCode::from_u16(status).unwrap().into_response();
    }
    if behaviour.redirects {
        return (StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, path)]).into_response();
    }
    if let Some((part, to)) = &behaviour.redirect
        && path.contains(part)
    {
        return (StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, to)]).into_response();
    }
    if let Some(response) = challenge(&shared, &received) {
        return response;
    }
    if behaviour.count_open && path.contains("/blobs/") {
        wait(&shared).await;
    }
    if received.method == "POST" || received.method == "PUT" {
        return store(&shared, received);
    }
    answer(&shared, &path)
}

async fn receive(request: Request) -> ReceivedRequest {
    let (parts, body) = request.into_parts();
    let authorization = parts.headers.get(header::AUTHORIZATION);
    ReceivedRequest {
        method: parts.method.to_string(),
        path: parts.uri.path().to_owned(),
        query: parts.uri.query().unwrap_or_default().to_owned(),
        authorization: authorization
            .map_or("", |value| value.to_str().unwrap())
            .to_owned(),
        body: axum::body::to_bytes(body, 16 << 20).await.unwrap(),
    }
}

/// Counts this request as open for a moment, in which other requests can arrive.
async fn wait(shared: &Shared) {
    {
        let mut open = shared.open.lock();
        open.0 += 1;
        open.1 = open.1.max(open.0);
    }
    tokio::time::sleep(Duration::from_millis(50)).await;
    shared.open.lock().0 -= 1;
}

/// Issues tokens, and demands credentials. Returns `None` if the request may pass.
fn challenge(shared: &Shared, request: &ReceivedRequest) -> Option<Response> {
    let behaviour = &shared.behaviour;
    let scheme = behaviour.auth?;
    let given = request.authorization.as_str();
    // "ann:hush-hush".
    let basic = "Basic YW5uOmh1c2gtaHVzaA==";
    if request.path == "/token" {
        if let Some(token) = behaviour.token {
            return Some(token.into_response());
        }
        let is_identity =
            String::from_utf8_lossy(&request.body).contains("refresh_token=hush-identity");
        return Some(if given == basic || is_identity {
            json!({ "token": "hush-issued", "expires_in": 300 })
                .to_string()
                .into_response()
        } else {
            (StatusCode::UNAUTHORIZED, "wrong credentials").into_response()
        });
    }
    let expected = match scheme {
        "basic" => basic,
        "bearer" => "Bearer hush-issued",
        _ => "Bearer hush-token",
    };
    let is_read = request.method == "GET" || request.method == "HEAD";
    if given == expected || behaviour.is_public && is_read {
        return None;
    }
    let address = shared.address.lock().clone();
    let realm = behaviour
        .realm
        .clone()
        .unwrap_or_else(|| format!("http://{address}/token"));
    let challenge = match scheme {
        "basic" => "Basic realm=\"test\"".to_owned(),
        _ => format!("Bearer realm=\"{realm}\",service=\"test\""),
    };
    Some(
        (
            StatusCode::UNAUTHORIZED,
            [(header::WWW_AUTHENTICATE, challenge)],
        )
            .into_response(),
    )
}

/// Stores uploaded blobs and manifests.
fn store(shared: &Shared, request: ReceivedRequest) -> Response {
    let path = request.path.strip_prefix("/v2/").unwrap_or_default();
    if request.method == "POST" {
        let own = format!("{}1?state=test", request.path);
        let address = shared.behaviour.upload_address.clone().unwrap_or(own);
        return (StatusCode::ACCEPTED, [(header::LOCATION, address)]).into_response();
    }
    let digest = format!("sha256:{}", Digest::of(&request.body));
    let mut content = shared.content.lock();
    match path.split_once("/manifests/") {
        Some((repository, tag)) => {
            for version in [tag, &digest] {
                let key = (repository.to_owned(), version.to_owned());
                content.manifests.insert(key, request.body.clone());
            }
        }
        None if request.query.contains(&digest.replace(':', "%3A")) => {
            content.blobs.insert(digest, request.body);
        }
        None => return StatusCode::BAD_REQUEST.into_response(),
    }
    StatusCode::CREATED.into_response()
}

fn answer(shared: &Shared, path: &str) -> Response {
    let content = shared.content.lock();
    if path == "/.well-known/wasm-pkg/registry.json" {
        return found(content.metadata.clone().map(Bytes::from));
    }
    let path = path.strip_prefix("/v2/").unwrap_or_default();
    if let Some((repository, version)) = path.split_once("/manifests/") {
        return found(
            content
                .manifests
                .get(&(repository.to_owned(), version.to_owned()))
                .cloned(),
        );
    }
    if let Some((_, digest)) = path.split_once("/referrers/sha256:") {
        if let Some(status) = shared.behaviour.referrers_status {
            return StatusCode::from_u16(status).unwrap().into_response();
        }
        let entries = content.referrers.get(digest).cloned().unwrap_or_default();
        return found(shared.behaviour.has_referrers.then(|| index(entries)));
    }
    if let Some(repository) = path.strip_suffix("/tags/list") {
        let tags = content
            .manifests
            .keys()
            .filter(|(of, tag)| of == repository && !tag.contains(':'));
        let tags: Vec<_> = tags.map(|(_, tag)| tag).collect();
        return json!({ "name": repository, "tags": tags })
            .to_string()
            .into_response();
    }
    let blob = path
        .split_once("/blobs/")
        .and_then(|(_, digest)| content.blobs.get(digest).cloned());
    found(blob.map(|blob| fault(&shared.behaviour, blob)))
}

fn fault(behaviour: &Behaviour, blob: Bytes) -> Bytes {
    let mut bytes = blob.to_vec();
    bytes.truncate(behaviour.cut_blob_at.unwrap_or(usize::MAX));
    bytes.extend(vec![0; behaviour.extra_blob_bytes]);
    if behaviour.flip_blob {
        bytes[0] ^= 1;
    }
    bytes.into()
}

fn found(body: Option<Bytes>) -> Response {
    body.map_or_else(
        || StatusCode::NOT_FOUND.into_response(),
        |body| Body::from(body).into_response(),
    )
}
