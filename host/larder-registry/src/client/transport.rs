//! Sends requests to registries, with the settings, mirrors, credentials and limits of each registry.

use std::collections::HashMap;

use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt as _};
use larder_model::name::Digest;
use parking_lot::Mutex;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use reqwest::{Response, StatusCode};
use tokio::sync::{Semaphore, SemaphorePermit};

use super::http_clients::{HttpClients, unavailable};
use super::request::{Kind, Request, Target};
use super::token::{self, Answer, Scope, Tokens};
use crate::Error;
use crate::access::{Access, Registry};

/// The maximum size of the text of an error that is shown, in characters.
const MAX_ERROR_TEXT: usize = 300;

/// Sends requests to the permitted registries.
#[derive(Debug)]
pub(super) struct Transport {
    access: Access,
    clients: Mutex<HashMap<String, HttpClients>>,
    tokens: Tokens,
    pulls: Semaphore,
}

impl Transport {
    pub(super) fn new(access: Access) -> Result<Self, Error> {
        let pulls = Semaphore::new(access.limits.concurrent_pulls);
        for (name, registry) in &access.registries {
            // Unusable settings are reported immediately.
            HttpClients::new(name, registry, &access)?;
        }
        Ok(Self {
            access,
            clients: Mutex::default(),
            tokens: Tokens::default(),
            pulls,
        })
    }

    pub(super) fn access(&self) -> &Access {
        &self.access
    }

    /// Waits until fewer than the maximum number of pulls are running.
    pub(super) async fn pull_permit(&self) -> Option<SemaphorePermit<'_>> {
        // The semaphore is never closed.
        self.pulls.acquire().await.ok()
    }

    /// Returns the endpoints that have the images of a registry: its mirrors, and the registry itself.
    pub(super) fn endpoints(&self, registry: &str) -> Result<Vec<String>, Error> {
        let settings = self.access.registry(registry)?;
        Ok(settings
            .mirrors
            .iter()
            .cloned()
            .chain([registry.to_owned()])
            .collect())
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
            match self
                .body_from(&endpoint, request, limit, expected, what)
                .await
            {
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
        let body = self
            .bounded(response, request.registry, limit, what)
            .await?;
        let actual = Digest::of(&body);
        match expected.filter(|expected| *expected != actual) {
            Some(expected) => Err(Error::WrongDigest {
                what: what.to_owned(),
                expected,
                actual,
            }),
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
        let mut body = BytesMut::new();
        let mut chunks = response.bytes_stream();
        while let Some(chunk) = self.next(&mut chunks, registry).await? {
            if body.len().saturating_add(chunk.len()) as u64 > limit {
                return Err(Error::TooLarge {
                    what: what.to_owned(),
                    limit,
                });
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
        chunk
            .transpose()
            .map_err(|error| unavailable(registry, &error))
    }

    /// Sends a request to one endpoint, with credentials if the endpoint demands them. The returned response is a
    /// success.
    pub(super) async fn send(
        &self,
        endpoint: &str,
        request: &Request<'_>,
        what: &str,
    ) -> Result<Response, Error> {
        let target = self.target(endpoint, request)?;
        let token = self.tokens.get(&target.scope);
        let mut response = self.send_once(&target, request, token).await?;
        if response.status() == StatusCode::UNAUTHORIZED && target.is_registry {
            let authorization = self.authorize(&target, response.headers()).await?;
            response = self
                .send_once(&target, request, Some(authorization))
                .await?;
        }
        match response.status() {
            status if status.is_success() => Ok(response),
            _ => Err(self.failure(response, &target.scope, what).await),
        }
    }

    fn target(&self, endpoint: &str, request: &Request<'_>) -> Result<Target, Error> {
        let (host, prefix) = endpoint.split_once('/').unwrap_or((endpoint, ""));
        let settings = self.access.registry(host)?;
        let scope = Scope {
            host: host.to_owned(),
            repository: repository_below(prefix, request.repository),
            operation: request.kind.operation(),
        };
        let http_client = self.clients(host, settings)?.for_request(&request.kind);
        let own_url = request.kind.url(settings, &scope)?;
        let url = match request.kind {
            Kind::Upload { address, .. } => address.clone(),
            _ => own_url.clone(),
        };
        let is_registry = url.origin() == own_url.origin();
        Ok(Target {
            url,
            is_registry,
            scope,
            http_client,
        })
    }

    async fn send_once(
        &self,
        target: &Target,
        request: &Request<'_>,
        authorization: Option<HeaderValue>,
    ) -> Result<Response, Error> {
        let mut sent = target
            .http_client
            .request(request.kind.method(), target.url.clone());
        if let Some(authorization) = authorization.filter(|_| target.is_registry) {
            sent = sent.header(AUTHORIZATION, authorization);
        }
        let host = &target.scope.host;
        let response = match request.kind {
            Kind::Upload { body, .. } => body.send(sent, self.access.limits.stall).await,
            kind => tokio::time::timeout(self.access.limits.stall, kind.complete(sent).send())
                .await
                .ok(),
        };
        let response = response.ok_or_else(|| self.silent(host))?;
        response.map_err(|error| unavailable(host, &error))
    }

    /// Returns the value of the header `Authorization` that answers a challenge.
    async fn authorize(&self, target: &Target, headers: &HeaderMap) -> Result<HeaderValue, Error> {
        let scope = &target.scope;
        let settings = self.access.registry(&scope.host)?;
        let credentials = crate::credentials::find(&self.access, &scope.host).await?;
        let direct = self.clients(&scope.host, settings)?.direct;
        let authorization = match scope.answer(headers, credentials.as_ref(), settings, &direct)? {
            Answer::Authorization(authorization) => authorization,
            Answer::TokenRequest(request) => {
                let sent = self.in_time(&scope.host, request.send()).await?;
                let response = sent.map_err(|error| unavailable(&scope.host, &error))?;
                if !response.status().is_success() {
                    return Err(self.failure(response, scope, "a token").await);
                }
                let body = self
                    .bounded(response, &scope.host, token::MAX_TOKEN, "a token")
                    .await?;
                token::parse(&body, &scope.host)?
            }
        };
        let value = authorization.value.clone();
        self.tokens.set(scope, authorization);
        Ok(value)
    }

    /// Describes an unsuccessful response.
    async fn failure(&self, response: Response, scope: &Scope, what: &str) -> Error {
        let status = response.status();
        let text = self.bounded(response, &scope.host, 64 << 10, what).await;
        let text = printable(&text.unwrap_or_default());
        let cause = format!("HTTP {} {text}", status.as_u16());
        let cause = cause.trim_end().to_owned();
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                self.tokens.forget(scope);
                let log_in = "check its credentials, in the configuration or with `docker login`";
                scope.refused(&format!("{cause}; {log_in}"))
            }
            StatusCode::NOT_FOUND => Error::NotFound(what.to_owned()),
            StatusCode::NOT_IMPLEMENTED => Error::unsupported(what, cause),
            StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT => {
                Error::unavailable(&scope.host, cause)
            }
            status if status.is_server_error() => Error::unavailable(&scope.host, cause),
            // Registries differ in their answers for unknown content.
            status if status.is_client_error() => Error::unsupported(what, cause),
            status if status.is_redirection() => {
                let host = &scope.host;
                let why = format!("{host} redirects a request that must not be redirected");
                Error::invalid(what, format!("{cause}: {why}"))
            }
            _ => Error::invalid(what, cause),
        }
    }

    /// Returns the client for requests without credentials.
    pub(super) fn client(&self, host: &str, settings: &Registry) -> Result<reqwest::Client, Error> {
        Ok(self.clients(host, settings)?.following)
    }

    fn clients(&self, host: &str, settings: &Registry) -> Result<HttpClients, Error> {
        let mut clients = self.clients.lock();
        if let Some(clients) = clients.get(host) {
            return Ok(clients.clone());
        }
        let created = HttpClients::new(host, settings, &self.access)?;
        clients.insert(host.to_owned(), created.clone());
        Ok(created)
    }

    /// Waits for a registry, at most as long as it may send no bytes.
    pub(super) async fn in_time<T>(
        &self,
        registry: &str,
        work: impl Future<Output = T>,
    ) -> Result<T, Error> {
        let limit = self.access.limits.stall;
        tokio::time::timeout(limit, work)
            .await
            .map_err(|_| self.silent(registry))
    }

    fn silent(&self, registry: &str) -> Error {
        let limit = self.access.limits.stall;
        let cause = format!("it sent nothing for {limit:?}");
        Error::unavailable(registry, cause)
    }
}

/// Returns the repository of a mirror, which has the repository below its own path.
fn repository_below(path: &str, repository: &str) -> String {
    match path {
        "" => repository.to_owned(),
        _ => format!("{path}/{repository}"),
    }
}

/// Returns the beginning of a response, without control characters.
fn printable(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    text.trim().escape_debug().take(MAX_ERROR_TEXT).collect()
}
