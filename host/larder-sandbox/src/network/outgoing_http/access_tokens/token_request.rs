//! A request for an access token. The authorization server is checked like a host that a guest wants to reach, and the
//! secret of the client must be allowed to be sent there.

use std::time::{Duration, SystemTime};

use base64_simd::STANDARD;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Method, StatusCode};
use larder_http::{metadata_urls, read_body};
use reqwest::{Request, Url};
use serde::Deserialize;
use url::form_urlencoded::{Serializer, byte_serialize};

use super::client_assertion::ClientAssertion;
use super::issued_token::{IssuedToken, shown};
use crate::network::outgoing_http::RequestError;
use crate::network::outgoing_http::credential::{SecretValues, check_target};
use crate::network::outgoing_http::http_clients::{HttpClients, execute};
use crate::network::outgoing_http::rules::RequestTarget;
use crate::network::resolved_addresses::NetworkScope;
use larder_model::policy::{ClientAuthentication, HostAuth, OauthClient, TokenServer};

/// The time limit for a token, with the metadata of the server.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The maximum size of a response.
const MAX_RESPONSE: usize = 64 << 10;
const FORM: &str = "application/x-www-form-urlencoded";
const JWT_BEARER: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// A request of a client for an access token.
pub(in super::super) struct TokenRequest<'a> {
    pub(in super::super) clients: &'a HttpClients,
    /// The addresses that the host of the rule may have. The authorization server may have no others.
    pub(in super::super) scope: NetworkScope,
    pub(in super::super) auth: &'a HostAuth,
    pub(in super::super) client: &'a OauthClient,
    pub(in super::super) secrets: &'a SecretValues,
}

#[derive(Deserialize)]
struct ServerMetadata {
    issuer: String,
    token_endpoint: String,
}

impl TokenRequest<'_> {
    /// Requests a token.
    pub(in super::super) async fn send(&self) -> Result<IssuedToken, RequestError> {
        let token = tokio::time::timeout(TIMEOUT, self.request_token()).await;
        token.unwrap_or_else(|_| {
            let seconds = TIMEOUT.as_secs();
            Err(self.failure(format!("it did not answer within {seconds} seconds")))
        })
    }

    async fn request_token(&self) -> Result<IssuedToken, RequestError> {
        let endpoint = match &self.client.server {
            TokenServer::Endpoint(url) => self.parse_url(url)?,
            TokenServer::Issuer(issuer) => self.discover(issuer).await?,
        };
        let (status, body) = self.exchange(self.form(endpoint)?).await?;
        IssuedToken::from_response(status, &body).map_err(|why| self.failure(why))
    }

    /// Returns the token endpoint in the metadata of the issuer.
    async fn discover(&self, issuer: &str) -> Result<Url, RequestError> {
        let mut statuses = Vec::new();
        for url in metadata_urls(issuer) {
            let request = Request::new(Method::GET, self.parse_url(&url)?);
            let (status, body) = self.exchange(request).await?;
            if status == StatusCode::OK {
                return self.endpoint_in(issuer, &body);
            }
            statuses.push(status.as_u16().to_string());
        }
        let statuses = statuses.join(", ");
        Err(self.failure(format!("it has no metadata (status {statuses})")))
    }

    fn endpoint_in(&self, issuer: &str, body: &[u8]) -> Result<Url, RequestError> {
        let metadata: ServerMetadata = serde_json::from_slice(body)
            .map_err(|_| self.failure("its metadata is not the JSON of a server"))?;
        // Otherwise another server could pretend to be this one.
        if metadata.issuer != issuer {
            let other = shown(&metadata.issuer);
            return Err(self.failure(format!("its metadata is about the issuer {other}")));
        }
        self.parse_url(&metadata.token_endpoint)
    }

    /// Returns the request to the token endpoint.
    fn form(&self, endpoint: Url) -> Result<Request, RequestError> {
        let client = self.client;
        let mut form = Serializer::new(String::new());
        form.append_pair("grant_type", "client_credentials");
        if !client.scopes.is_empty() {
            form.append_pair("scope", &client.scopes.join(" "));
        }
        let targets = [
            ("audience", &client.audience),
            ("resource", &client.resource),
        ];
        for (name, target) in targets {
            form.extend_pairs(target.iter().map(|target| (name, target)));
        }
        let mut request = Request::new(Method::POST, endpoint);
        if let Some(assertion) = self.assertion(request.url())? {
            form.append_pair("client_id", &client.client_id);
            form.append_pair("client_assertion_type", JWT_BEARER);
            form.append_pair("client_assertion", &assertion);
        } else {
            let basic = self.basic()?;
            request.headers_mut().insert(AUTHORIZATION, basic);
        }
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(FORM));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        *request.body_mut() = Some(form.finish().into());
        Ok(request)
    }

    /// Returns a statement about the client, if the client is not known by a password.
    fn assertion(&self, endpoint: &Url) -> Result<Option<String>, RequestError> {
        let secret = self.secrets.main.secret.reveal();
        let key_id = match &self.client.authentication {
            ClientAuthentication::Secret => return Ok(None),
            ClientAuthentication::Assertion => return Ok(Some(secret.to_owned())),
            ClientAuthentication::PrivateKey { key_id } => key_id,
        };
        let assertion = ClientAssertion {
            client_id: &self.client.client_id,
            audience: endpoint.as_str(),
            key_id: key_id.as_deref(),
            now: SystemTime::now(),
        };
        let signed = assertion.sign(secret);
        signed.map(Some).map_err(|why| {
            RequestError::Denied(format!("the secret `{}`: {why}", self.auth.secret))
        })
    }

    /// The header with the id and the password of the client, each encoded as in a form (RFC 6749, 2.3.1).
    fn basic(&self) -> Result<HeaderValue, RequestError> {
        let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
        let id = encoded(&self.client.client_id);
        let secret = encoded(self.secrets.main.secret.reveal());
        let basic = STANDARD.encode_to_string(format!("{id}:{secret}"));
        let mut value = HeaderValue::try_from(format!("Basic {basic}"))
            .map_err(|_| self.failure("its credential cannot be sent in a header"))?;
        value.set_sensitive(true);
        Ok(value)
    }

    /// Sends a request to the authorization server, after the checks that apply to requests of guests.
    async fn exchange(&self, request: Request) -> Result<(StatusCode, Vec<u8>), RequestError> {
        let target = RequestTarget::of(&request);
        self.check(&target)?;
        let certificate = self.secrets.certificate_for(&target);
        let client = self.clients.for_auth(self.auth, self.scope, certificate)?;
        let response = execute(&client, request, None).await;
        let response = response.map_err(|error| match error {
            RequestError::Unreachable(why) => self.failure(why),
            RequestError::TimedOut => self.failure("it did not answer in time"),
            other => other,
        })?;
        let status = response.status();
        let body = read_body(response.into(), MAX_RESPONSE).await;
        Ok((status, body.map_err(|why| self.failure(why))?))
    }

    fn check(&self, target: &RequestTarget<'_>) -> Result<(), RequestError> {
        let secret = &self.auth.secret;
        check_target(self.auth, secret, &self.secrets.main, target)
            .map_err(RequestError::Denied)?;
        // The resolver checks the addresses of names only.
        if target.address().is_none_or(|it| self.scope.allows(it)) {
            return Ok(());
        }
        Err(RequestError::Denied(format!(
            "the authorization server {} is inside this network; its operator can allow it with `private = true`",
            target.origin()
        )))
    }

    fn parse_url(&self, text: &str) -> Result<Url, RequestError> {
        Url::parse(text).map_err(|_| self.failure(format!("{} is not a URL", shown(text))))
    }

    /// The guest may try again later.
    fn failure(&self, why: impl AsRef<str>) -> RequestError {
        let server = self.client.server.url();
        let why = why.as_ref();
        RequestError::Unreachable(format!("no access token from {server}: {why}"))
    }
}
