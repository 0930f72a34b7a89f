//! An HTTP proxy before a registry that delays, truncates or corrupts what it returns, and records the requests.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;

use super::server::RegistryServer;
use crate::support::process::http_client;

/// The faults of the proxy's responses. All faults except `Status` and `Token` concern only blobs that are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// Waits before it responds.
    Delay(Duration),
    /// Sends the body in pieces of this many bytes, with this time before each.
    Trickle(usize, Duration),
    /// Sends half of the body, and closes the connection.
    Truncate,
    /// Sends half of the body as the complete body.
    Shorten,
    /// Changes one byte of the body.
    Corrupt,
    /// Adds bytes to the body.
    Lengthen(usize),
    /// Responds to all requests with this status.
    Status(u16),
    /// Redirects to this URL. If it is empty, redirects to the URL of the request.
    Redirect(String),
    /// Demands a token for each request, also if the request has a token, and issues this token.
    Token(&'static str),
}

/// A running proxy. It runs as long as the process of the test.
pub(crate) struct FaultyProxy {
    address: String,
    shared: Arc<Shared>,
}

struct Shared {
    address: String,
    registry: String,
    fault: Mutex<Fault>,
    requests: Mutex<Vec<String>>,
    client: reqwest::Client,
}

impl FaultyProxy {
    /// Starts a proxy without a fault.
    pub(crate) fn start(registry: &RegistryServer) -> Self {
        let (fault, requests) = (Mutex::new(Fault::None), Mutex::default());
        let registry = registry.address().to_owned();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let client = http_client();
        let shared = Arc::new(Shared {
            address: address.clone(),
            registry,
            fault,
            requests,
            client,
        });
        let router = Router::new().fallback(forward).with_state(shared.clone());
        // The proxy runs on a thread of its own, because tests block their thread while a command runs.
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                axum::serve(listener, router).await.unwrap();
            });
        });
        Self { address, shared }
    }

    /// The address of the proxy, such as `127.0.0.1:5001`.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Sets the fault for all later requests.
    pub(crate) fn set(&self, fault: Fault) {
        *self
            .shared
            .fault
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = fault;
    }

    /// Returns the requests since the last call, such as `GET /v2/team/wiki/manifests/1.0`.
    pub(crate) fn take_requests(&self) -> Vec<String> {
        std::mem::take(
            &mut self
                .shared
                .requests
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        )
    }
}

async fn forward(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let path = parts
        .uri
        .path_and_query()
        .map_or("/", |path| path.as_str())
        .to_owned();
    let line = format!("{} {path}", parts.method);
    shared
        .requests
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(line);
    let is_blob = parts.method == "GET" && path.contains("/blobs/sha256:");
    let fault = shared
        .fault
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone();
    let concerns_all = matches!(fault, Fault::Status(_) | Fault::Token(_));
    let fault = if is_blob || concerns_all {
        fault
    } else {
        Fault::None
    };
    match &fault {
        Fault::Status(status) => return empty(*status),
        Fault::Token(token) if path.starts_with("/token") => {
            return Response::new(Body::from(*token));
        }
        Fault::Token(_) => {
            let challenge = format!("Bearer realm=\"http://{}/token\"", shared.address);
            let response = Response::builder()
                .status(401)
                .header("www-authenticate", challenge);
            return response.body(Body::empty()).unwrap();
        }
        Fault::Redirect(url) => {
            let url = if url.is_empty() { path } else { url.clone() };
            let response = Response::builder().status(307).header("location", url);
            return response.body(Body::empty()).unwrap();
        }
        Fault::Delay(time) => tokio::time::sleep(*time).await,
        _ => {}
    }
    let mut headers = parts.headers;
    for name in ["host", "content-length", "connection"] {
        headers.remove(name);
    }
    let body = to_bytes(body, 256 << 20).await.unwrap();
    let url = format!("http://{}{path}", shared.registry);
    let answer = shared
        .client
        .request(parts.method.clone(), url)
        .headers(headers)
        .body(body)
        .send()
        .await;
    let Ok(answer) = answer else {
        return empty(502);
    };
    let (status, headers) = (answer.status(), answer.headers().clone());
    if parts.method == "HEAD" {
        return respond(status, headers, Body::empty());
    }
    match answer.bytes().await {
        Ok(bytes) => apply(&fault, status, headers, bytes),
        Err(_) => empty(502),
    }
}

fn apply(fault: &Fault, status: StatusCode, mut headers: HeaderMap, bytes: Bytes) -> Response {
    let half = bytes.slice(..bytes.len() / 2);
    let body = match fault {
        Fault::Truncate => {
            let pieces = [Ok(half), Err(io::Error::other("the connection is closed"))];
            Body::from_stream(stream::iter(pieces))
        }
        Fault::Trickle(size, pause) => trickle(bytes, *size, *pause),
        Fault::Shorten => {
            headers.remove("content-length");
            Body::from(half)
        }
        Fault::Corrupt => {
            let mut changed = bytes.to_vec();
            let middle = changed.len() / 2;
            changed[middle] ^= 1;
            Body::from(changed)
        }
        Fault::Lengthen(more) => {
            headers.remove("content-length");
            Body::from([bytes, vec![0; *more].into()].concat())
        }
        _ => Body::from(bytes),
    };
    respond(status, headers, body)
}

fn trickle(bytes: Bytes, size: usize, pause: Duration) -> Body {
    Body::from_stream(stream::unfold(bytes, move |mut rest| async move {
        if rest.is_empty() {
            return None;
        }
        tokio::time::sleep(pause).await;
        let piece = rest.split_to(size.min(rest.len()));
        Some((Ok::<_, io::Error>(piece), rest))
    }))
}

fn respond(status: StatusCode, headers: HeaderMap, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    for name in ["connection", "transfer-encoding"] {
        response.headers_mut().remove(name);
    }
    response
}

fn empty(status: u16) -> Response {
    respond(
        StatusCode::from_u16(status).unwrap(),
        HeaderMap::new(),
        Body::empty(),
    )
}
