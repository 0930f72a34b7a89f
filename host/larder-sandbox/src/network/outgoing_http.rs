//! Outgoing HTTP requests of guests, for both `http-client` and wasi:http. A request is checked by method, scheme, host
//! and port. Its host name is resolved once, every address is checked, and connections are opened only to checked
//! addresses. Redirects are returned to the guest, which has to send a new request. If the rule of a request has a
//! credential, the host adds it after the checks, and removes it from what the guest gets.

mod access_tokens;
mod aws_signature;
mod body_budget;
mod body_check;
mod connect_timeout;
mod credential;
mod http_clients;
mod response_check;
mod rules;
mod secret_forms;
mod use_record;

use std::sync::Arc;
use std::time::{Duration, Instant};

use http_body_util::BodyExt;

use self::access_tokens::{AccessTokens, TokenRequest};
pub(crate) use self::body_budget::BodyBudget;
use self::body_budget::Reservation;
use self::body_check::SecretInResponse;
use self::connect_timeout::ConnectTimedOut;
use self::credential::SecretValues;
use self::http_clients::HttpClients;
use self::response_check::{ResponseCheck, error_outcome};
use self::rules::{RequestAccess, RequestTarget};
use self::secret_forms::SecretForms;
pub(crate) use self::use_record::CredentialUser;
use self::use_record::UseRecord;
use super::dns::DnsLookups;
use super::resolved_addresses::{NetworkScope, PrivateAddress};
use larder_model::policy::{
    CredentialPlacement, CredentialStore, Grant, HostAuth, HostRule, Permit, Secret,
};
use larder_model::trace::TraceContext;
use larder_runtime::deadline::with_deadline;
use larder_runtime::metrics::CredentialOutcome;

/// Maximum number of requests of one guest at the same time, for each of `send-all` and wasi:http.
pub(crate) const MAX_CONCURRENT_REQUESTS: usize = 32;

/// Sends the requests of one revision of a provider. Nothing is shared with other providers, not even connections.
pub(crate) struct OutgoingHttp {
    rules: Arc<[HostRule]>,
    timeout: Duration,
    pub(crate) body_limit: u64,
    credentials: CredentialStore,
    user: Arc<CredentialUser>,
    clients: HttpClients,
    tokens: AccessTokens,
}

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RequestError {
    /// The request is not granted. The text says which grant is missing.
    Denied(String),
    Unreachable(String),
    TimedOut,
    TooLarge,
    /// The memory budget has no room for the body of the request or of the response.
    NoMemory,
}

/// The response to a request, whose body is not read yet.
type ResponseResult = Result<http::Response<reqwest::Body>, RequestError>;

/// A request whose response is read completely.
pub(crate) struct FetchRequest<'a> {
    pub(crate) method: &'a str,
    pub(crate) url: &'a str,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// Time limit of the whole exchange, in addition to the limit of the host.
    pub(crate) timeout: Option<Duration>,
}

type FullResponse = (u16, Vec<(String, String)>, Vec<u8>);

impl OutgoingHttp {
    /// Creates a client for the hosts that a grant names.
    pub(crate) fn new(
        grant: &Grant,
        lookups: Arc<DnsLookups>,
        credentials: CredentialStore,
        user: CredentialUser,
    ) -> Self {
        Self {
            rules: grant.hosts.clone().into(),
            timeout: grant.limits.timeout,
            body_limit: grant.limits.http_body,
            credentials,
            user: Arc::new(user),
            clients: HttpClients::new(grant.limits.timeout, lookups),
            tokens: AccessTokens::default(),
        }
    }

    /// Sends a request and reads the whole response. The size of its body is limited by the budget.
    pub(crate) async fn fetch(
        &self,
        request: FetchRequest<'_>,
        permit: &Permit,
        budget: &BodyBudget,
    ) -> Result<FullResponse, RequestError> {
        let Some(timeout) = request.timeout else {
            return self.exchange(request, permit, budget).await;
        };
        let deadline = Instant::now() + timeout.min(self.timeout);
        let response = with_deadline(|| deadline, self.exchange(request, permit, budget)).await;
        response.unwrap_or(Err(RequestError::TimedOut))
    }

    async fn exchange(
        &self,
        request: FetchRequest<'_>,
        permit: &Permit,
        budget: &BodyBudget,
    ) -> Result<FullResponse, RequestError> {
        let FetchRequest {
            method,
            url,
            headers,
            body,
            timeout: _,
        } = request;
        let mut reservation = Reservation::new(budget);
        reservation.hold(&body)?;
        let mut request = http::Request::builder().method(method).uri(url);
        for (name, value) in headers.iter().filter(|(name, _)| !is_hop_header(name)) {
            request = request.header(name, value);
        }
        let request = request
            .body(reqwest::Body::from(body))
            .map_err(|error| RequestError::Unreachable(format!("invalid request: {error}")))?;
        let (parts, body) = self.send(request, None, permit).await?.into_parts();
        let body = read_body(body, budget).await?;
        let headers = parts.headers.iter().map(|(name, value)| {
            (
                name.to_string(),
                String::from_utf8_lossy(value.as_bytes()).into_owned(),
            )
        });
        Ok((parts.status.as_u16(), headers.collect(), body))
    }

    /// Sends a request, and returns its response when the head has arrived. `connect_timeout` limits the time
    /// for connecting, in addition to the limit of the host for the whole exchange.
    pub(crate) async fn send(
        &self,
        request: http::Request<reqwest::Body>,
        connect_timeout: Option<Duration>,
        permit: &Permit,
    ) -> ResponseResult {
        let mut request = reqwest::Request::try_from(request)
            .map_err(|error| RequestError::Unreachable(format!("invalid URL: {error}")))?;
        let access = RequestTarget::of(&request).check(&self.rules)?;
        add_trace_context(request.headers_mut(), permit.trace());
        let Some(auth) = access.auth else {
            return self.execute(&access, request, connect_timeout).await;
        };
        let check = self
            .add_credential(auth, access.scope, &mut request, permit)
            .await?;
        let result = self.execute(&access, request, connect_timeout).await;
        if is_unauthorized(&result) {
            self.tokens.discard(auth);
        }
        check.apply(result)
    }

    /// Sends a request with the client for its addresses and its certificate.
    async fn execute(
        &self,
        access: &RequestAccess<'_>,
        request: reqwest::Request,
        connect_timeout: Option<Duration>,
    ) -> ResponseResult {
        let client = match access.auth {
            Some(auth) if auth.certificate.is_some() => {
                let secrets = self.secrets(auth, &request)?;
                let certificate = secrets.certificate_for(&RequestTarget::of(&request));
                self.clients.for_auth(auth, access.scope, certificate)?
            }
            _ => self.clients.get(access.scope)?,
        };
        http_clients::execute(&client, request, connect_timeout).await
    }

    /// Adds the credential of a rule to a request, with the current values of its secrets.
    async fn add_credential(
        &self,
        auth: &HostAuth,
        scope: NetworkScope,
        request: &mut reqwest::Request,
        permit: &Permit,
    ) -> Result<ResponseCheck, RequestError> {
        let origin = RequestTarget::of(request).origin();
        let record = UseRecord::new(&self.user, permit, &auth.secret, origin);
        match self.place_credential(auth, scope, request, permit).await {
            Ok(forms) => Ok(ResponseCheck {
                forms,
                pending: record.begin(),
            }),
            Err(error) => {
                record.add(error_outcome(&error));
                Err(error)
            }
        }
    }

    async fn place_credential(
        &self,
        auth: &HostAuth,
        scope: NetworkScope,
        request: &mut reqwest::Request,
        permit: &Permit,
    ) -> Result<SecretForms, RequestError> {
        let mut secrets = self.secrets(auth, request)?;
        if let CredentialPlacement::ClientCredentials(client) = &auth.placement {
            let request = TokenRequest {
                clients: &self.clients,
                scope,
                auth,
                client,
                secrets: &secrets,
            };
            secrets.main.secret = self.access_token(&request, permit).await?;
        }
        credential::add(auth, &secrets, request).map_err(RequestError::Denied)
    }

    /// Returns the current values of the secrets of a credential, if they may be sent with this request.
    fn secrets(
        &self,
        auth: &HostAuth,
        request: &reqwest::Request,
    ) -> Result<SecretValues, RequestError> {
        let find = |name: &str| self.credentials.get(&self.user.team, name);
        SecretValues::for_request(auth, find, request).map_err(RequestError::Denied)
    }

    /// Returns the token of a client, and records the request for it if there is one.
    async fn access_token(
        &self,
        request: &TokenRequest<'_>,
        permit: &Permit,
    ) -> Result<Secret, RequestError> {
        let server = request.client.server.url().to_owned();
        let record = UseRecord::new(&self.user, permit, &request.auth.secret, server);
        let issue = async {
            let result = request.send().await;
            let failure = result.as_ref().err().map(error_outcome);
            record.add(failure.unwrap_or(CredentialOutcome::Renewed));
            result
        };
        let slot = self.tokens.slot(request.auth);
        slot.token(&request.secrets.main.secret, issue).await
    }
}

fn is_unauthorized(result: &ResponseResult) -> bool {
    let response = result.as_ref().ok();
    response.is_some_and(|response| response.status() == http::StatusCode::UNAUTHORIZED)
}

async fn read_body(mut body: reqwest::Body, budget: &BodyBudget) -> Result<Vec<u8>, RequestError> {
    let mut bytes = Vec::new();
    let mut reservation = Reservation::new(budget);
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame.map_err(|error| request_error(&error))?.into_data() {
            reservation.append(&mut bytes, &data)?;
        }
    }
    reservation.keep();
    Ok(bytes)
}

/// Adds the trace context of the call, unless the guest has already set it.
fn add_trace_context(headers: &mut http::HeaderMap, trace: Option<&TraceContext>) {
    if headers.contains_key("traceparent") {
        return;
    }
    for (name, value) in trace.into_iter().flat_map(TraceContext::headers) {
        if let Ok(value) = http::HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    }
}

/// Whether a header belongs to the connection. The HTTP client sets such headers, not the guest.
fn is_hop_header(name: &str) -> bool {
    [
        "host",
        "connection",
        "keep-alive",
        "proxy-connection",
        "transfer-encoding",
        "upgrade",
        "te",
        "content-length",
    ]
    .iter()
    .any(|hop| name.eq_ignore_ascii_case(hop))
}

/// Returns why a request failed, or why its response cannot be read.
pub(crate) fn request_error(error: &reqwest::Error) -> RequestError {
    let mut cause: Option<&dyn std::error::Error> = Some(error);
    let mut last = String::new();
    while let Some(error) = cause {
        if let Some(private_address) = error.downcast_ref::<PrivateAddress>() {
            return RequestError::Denied(private_address.to_string());
        }
        if let Some(in_response) = error.downcast_ref::<SecretInResponse>() {
            return RequestError::Denied(in_response.to_string());
        }
        if error.is::<ConnectTimedOut>() {
            return RequestError::TimedOut;
        }
        last = error.to_string();
        cause = error.source();
    }
    if error.is_timeout() {
        RequestError::TimedOut
    } else {
        RequestError::Unreachable(last)
    }
}
