//! Sends requests to registries: with their settings, through their mirrors, with credentials, and within limits.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt as _};
use larder_model::name::Digest;
use reqwest::header::{ACCEPT, AUTHORIZATION};
use reqwest::redirect::Policy;
use reqwest::{Response, StatusCode};
use tokio::sync::{Semaphore, SemaphorePermit};

use super::token::Tokens;
use super::{CONNECT_TIMEOUT, USER_AGENT};
use crate::Error;
use crate::access::{Access, Registry};

/// The maximum number of redirections of one request.
const MAX_REDIRECTS: usize = 5;
/// The maximum size of the text of an error that is shown, in characters.
const MAX_ERROR_TEXT: usize = 300;

/// Sends requests to the permitted registries.
#[derive(Debug)]
pub(super) struct Transport {
    access: Access,
    clients: Mutex<HashMap<String, reqwest::Client>>,
    tokens: Tokens,
    pulls: Semaphore,
}

/// A request for a part of a repository.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request<'a> {
    pub(super) registry: &'a str,
    pub(super) repository: &'a str,
    pub(super) kind: Kind<'a>,
}

/// What is requested of a repository.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind<'a> {
    Manifest { version: &'a str, accept: &'static str },
    Blob { digest: &'a Digest },
    Referrers { digest: &'a Digest },
    Tags { query: &'a str },
}

impl Transport {
    pub(super) fn new(access: Access) -> Result<Self, Error> {
        let pulls = Semaphore::new(access.limits.concurrent_pulls);
        for (name, registry) in &access.registries {
            // Reports settings that cannot be used at once.
            client(name, registry, &access)?;
        }
        Ok(Self { access, clients: Mutex::default(), tokens: Tokens::default(), pulls })
    }

    pub(super) fn access(&self) -> &Access {
        &self.access
    }

    /// Waits until fewer than the maximum number of pulls are running.
    pub(super) async fn pull_permit(&self) -> Option<SemaphorePermit<'_>> {
        // The semaphore is never closed.
        self.pulls.acquire().await.ok()
    }

    /// Returns the places that have the images of a registry: its mirrors, and the registry itself.
    pub(super) fn endpoints(&self, registry: &str) -> Result<Vec<String>, Error> {
        let settings = self.access.registry(registry)?;
        Ok(settings.mirrors.iter().cloned().chain([registry.to_owned()]).collect())
    }

    /// Requests a small body, from the first endpoint that has it.
    pub(super) async fn body(
        &self,
        request: &Request<'_>,
        limit: u64,
        expected: Option<Digest>,
        what: &str,
    ) -> Result<Bytes, Error> {
        let mut failure = None;
        for endpoint in self.endpoints(request.registry)? {
            match self.body_from(&endpoint, request, limit, expected, what).await {
                Ok(body) => return Ok(body),
                Err(error) => {
                    tracing::debug!(endpoint, %error, "a registry did not return what was requested");
                    failure = Some(error);
                }
            }
        }
        Err(failure.unwrap_or_else(|| Error::NotPermitted(request.registry.to_owned())))
    }

    async fn body_from(
        &self,
        endpoint: &str,
        request: &Request<'_>,
        limit: u64,
        expected: Option<Digest>,
        what: &str,
    ) -> Result<Bytes, Error> {
        let response = self.send(endpoint, request, what).await?;
        let body = self.bounded(response, request.registry, limit, what).await?;
        let actual = Digest::of(&body);
        match expected.filter(|expected| *expected != actual) {
            Some(expected) => Err(Error::WrongDigest { what: what.to_owned(), expected, actual }),
            None => Ok(body),
        }
    }

    /// Reads a body that must not be larger than the limit.
    pub(super) async fn bounded(
        &self,
        response: Response,
        registry: &str,
        limit: u64,
        what: &str,
    ) -> Result<Bytes, Error> {
        let (mut body, mut chunks) = (BytesMut::new(), response.bytes_stream());
        while let Some(chunk) = self.next(&mut chunks, registry).await? {
            if (body.len() + chunk.len()) as u64 > limit {
                return Err(Error::TooLarge { what: what.to_owned(), limit });
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body.freeze())
    }

    /// Returns the next piece of a body, which must arrive in time.
    pub(super) async fn next(
        &self,
        chunks: &mut (impl Stream<Item = reqwest::Result<Bytes>> + Unpin),
        registry: &str,
    ) -> Result<Option<Bytes>, Error> {
        let chunk = self.in_time(registry, chunks.next()).await?;
        chunk.transpose().map_err(|error| unavailable(registry, &error))
    }

    /// Sends a request to one endpoint, with credentials if it demands some. The response is a success.
    pub(super) async fn send(
        &self,
        endpoint: &str,
        request: &Request<'_>,
        what: &str,
    ) -> Result<Response, Error> {
        let (host, prefix) = endpoint.split_once('/').unwrap_or((endpoint, ""));
        let settings = self.access.registry(host)?;
        let prefix = if prefix.is_empty() { String::new() } else { format!("{prefix}/") };
        let repository = format!("{prefix}{}", request.repository);
        let url =
            format!("{}://{}/v2/{repository}/{}", settings.scheme(), api_host(host), request.kind.path());
        let client = self.client(host, settings)?;
        let key = (host.to_owned(), repository.clone());
        let mut response = self.get(&client, &url, request, self.tokens.get(&key).as_deref(), host).await?;
        if response.status() == StatusCode::UNAUTHORIZED {
            let authorization = self.authorize(&client, &key, response.headers()).await?;
            response = self.get(&client, &url, request, Some(&authorization), host).await?;
        }
        match response.status() {
            status if status.is_success() => Ok(response),
            _ => Err(self.failure(response, &key, what).await),
        }
    }

    async fn get(
        &self,
        client: &reqwest::Client,
        url: &str,
        request: &Request<'_>,
        authorization: Option<&str>,
        host: &str,
    ) -> Result<Response, Error> {
        let mut sent = client.get(url);
        if let Kind::Manifest { accept, .. } = request.kind {
            sent = sent.header(ACCEPT, accept);
        }
        if let Some(authorization) = authorization {
            sent = sent.header(AUTHORIZATION, sensitive(authorization, host)?);
        }
        self.in_time(host, sent.send()).await?.map_err(|error| unavailable(host, &error))
    }

    /// Returns the value of the header `Authorization` that answers a challenge.
    async fn authorize(
        &self,
        client: &reqwest::Client,
        key: &(String, String),
        headers: &reqwest::header::HeaderMap,
    ) -> Result<String, Error> {
        let credentials = crate::credentials::find(&self.access, &key.0).await?;
        let request = self.tokens.request(client, key, headers, credentials.as_ref())?;
        let (authorization, lifetime) = match request {
            Ok(authorization) => (authorization, None),
            Err(token_request) => {
                let sent = self.in_time(&key.0, token_request.send()).await?;
                let response = sent.map_err(|error| unavailable(&key.0, &error))?;
                if !response.status().is_success() {
                    return Err(self.failure(response, key, "a token").await);
                }
                let body = self.bounded(response, &key.0, super::token::MAX_TOKEN, "a token").await?;
                super::token::parse(&body, &key.0)?
            }
        };
        self.tokens.set(key, &authorization, lifetime);
        Ok(authorization)
    }

    /// Describes a response that is no success.
    async fn failure(&self, response: Response, key: &(String, String), what: &str) -> Error {
        let (status, registry, repository) = (response.status(), key.0.clone(), key.1.clone());
        let text = self.bounded(response, &registry, 64 << 10, what).await.unwrap_or_default();
        let text: String =
            String::from_utf8_lossy(&text).trim().escape_debug().take(MAX_ERROR_TEXT).collect();
        let cause = format!("HTTP {} {text}", status.as_u16()).trim_end().to_owned();
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                self.tokens.forget(key);
                let cause =
                    format!("{cause}; check its credentials, in the configuration or with `docker login`");
                Error::Refused { registry, repository, cause }
            }
            StatusCode::NOT_FOUND => Error::NotFound(what.to_owned()),
            status if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS => {
                Error::Unavailable { registry, cause }
            }
            _ => Error::Invalid { reference: what.to_owned(), cause },
        }
    }

    pub(super) fn client(&self, host: &str, settings: &Registry) -> Result<reqwest::Client, Error> {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(host) {
            return Ok(client.clone());
        }
        let client = client(host, settings, &self.access)?;
        clients.insert(host.to_owned(), client.clone());
        Ok(client)
    }

    /// Waits for a registry, but not longer than it may be silent.
    pub(super) async fn in_time<T>(&self, registry: &str, work: impl Future<Output = T>) -> Result<T, Error> {
        let limit = self.access.limits.stall;
        let silent = |_| Error::Unavailable {
            registry: registry.to_owned(),
            cause: format!("it sent nothing for {limit:?}"),
        };
        tokio::time::timeout(limit, work).await.map_err(silent)
    }
}

impl Kind<'_> {
    fn path(&self) -> String {
        match self {
            Self::Manifest { version, .. } => format!("manifests/{version}"),
            Self::Blob { digest } => format!("blobs/sha256:{digest}"),
            Self::Referrers { digest } => format!("referrers/sha256:{digest}"),
            Self::Tags { query } => format!("tags/list{query}"),
        }
    }
}

/// The host that answers for a registry. Docker's own has another name.
fn api_host(registry: &str) -> &str {
    if matches!(registry, "docker.io" | "index.docker.io") { "registry-1.docker.io" } else { registry }
}

/// Returns a client with the settings of a registry.
fn client(name: &str, registry: &Registry, access: &Access) -> Result<reqwest::Client, Error> {
    install_crypto_provider();
    let failed = |cause: String| Error::Settings { registry: name.to_owned(), cause };
    let is_plain = registry.plain_http;
    let redirects = Policy::custom(move |attempt| match attempt.previous().len() {
        count if count > MAX_REDIRECTS => attempt.error("it redirects too often"),
        _ if !is_plain && attempt.url().scheme() != "https" => attempt.error("it redirects to plain HTTP"),
        _ => attempt.follow(),
    });
    let mut builder = reqwest::Client::builder()
        .user_agent(USER_AGENT)
        .connect_timeout(CONNECT_TIMEOUT.min(access.limits.stall))
        .https_only(!is_plain)
        .referer(false)
        .redirect(redirects);
    if let Some(proxy) = &registry.proxy {
        // The error may contain the credentials of the proxy.
        let proxy = reqwest::Proxy::all(proxy.reveal()).map_err(|_| failed("the proxy is no URL".into()))?;
        builder = builder.proxy(proxy);
    }
    if let Some(pem) = &registry.ca {
        let certificates = reqwest::Certificate::from_pem_bundle(pem.as_bytes());
        let certificates =
            certificates.map_err(|error| failed(format!("its `ca`: {}", root_cause(&error))))?;
        if certificates.is_empty() {
            return Err(failed("its `ca` contains no certificate".into()));
        }
        builder = builder.tls_certs_merge(certificates);
    }
    builder.build().map_err(|error| failed(root_cause(&error)))
}

/// Selects the implementation of TLS. An error means that one is selected already.
pub(super) fn install_crypto_provider() {
    _ = rustls::crypto::ring::default_provider().install_default();
}

/// Returns a header value that is not shown in logs.
fn sensitive(value: &str, registry: &str) -> Result<reqwest::header::HeaderValue, Error> {
    let invalid = |_| Error::Credentials {
        registry: registry.to_owned(),
        cause: "they contain characters that a header cannot contain".into(),
    };
    let mut header = reqwest::header::HeaderValue::from_str(value).map_err(invalid)?;
    header.set_sensitive(true);
    Ok(header)
}

pub(super) fn unavailable(registry: &str, error: &reqwest::Error) -> Error {
    Error::Unavailable { registry: registry.to_owned(), cause: root_cause(error) }
}

/// Returns the innermost cause, which is the most specific message, and contains no URL.
fn root_cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    if error.is_timeout() { "timed out".into() } else { cause.to_string() }
}
