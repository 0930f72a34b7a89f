//! Decides who sent a request: the owner of the configured token, the owner of a token of the OAuth issuer with the
//! scope of operators, or the owner of a session that was opened with one of these tokens. If neither a token nor a
//! scope is configured, only requests from this machine are accepted.

mod attempts;
mod sessions;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use http::Uri;
use http::header::{AUTHORIZATION, COOKIE, HeaderMap, HeaderName};
use subtle::ConstantTimeEq as _;

use self::attempts::Attempts;
pub(crate) use self::attempts::TooManyAttempts;
use self::sessions::Sessions;
pub(crate) use self::sessions::{LIFETIME, NewSession};
use super::operator::{Credential, EndpointCredentials, Operator, PageSession, TokenError};
use super::request_headers::header_texts;
use larder_model::name::Digest;
use larder_model::resource::Caller;
use larder_runtime::connection_slots::Source;
use larder_runtime::host_policy::HostPolicy;

/// The name of the cookie of a session.
pub(crate) const COOKIE_NAME: &str = "larder_admin";
/// The header with the secret of a session.
pub(crate) const CSRF_HEADER: HeaderName = HeaderName::from_static("x-larder-csrf");
/// Headers that proxies add: whole names, and the beginnings and ends of names.
const PROXY_HEADERS: [&str; 3] = ["forwarded", "via", "cdn-loop"];
const PROXY_PREFIXES: [&str; 4] = ["x-forwarded", "x-original-", "x-envoy-", "cf-"];
const PROXY_SUFFIXES: [&str; 2] = ["-ip", "-addr"];

/// Why a request is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AuthenticationError {
    /// The request has no credential.
    NoCredential,
    /// The credential is not valid.
    Invalid(String),
    /// The credential does not have this scope.
    MissingScope(String),
    /// The credential cannot be verified at the moment.
    Unavailable(String),
    /// The client has sent too many wrong tokens.
    TooManyAttempts(TooManyAttempts),
    /// No credentials are configured, and the request may come from another machine.
    NotLocal,
    /// The secret of the session is missing or wrong.
    BadCsrf,
}

/// The head of a request.
#[derive(Clone, Copy)]
pub(crate) struct Head<'a> {
    pub(crate) peer: Option<IpAddr>,
    pub(crate) uri: &'a Uri,
    pub(crate) headers: &'a HeaderMap,
}

impl Head<'_> {
    fn has_local_peer(self) -> bool {
        self.peer
            .is_none_or(|peer| peer.to_canonical().is_loopback())
    }
}

/// Authenticates requests.
pub(crate) struct Authentication {
    token: Option<Digest>,
    scope: Option<String>,
    /// Whether only this machine can reach the address.
    is_local: bool,
    endpoint: Arc<dyn EndpointCredentials>,
    loopback_hosts: HostPolicy,
    sessions: Sessions,
    attempts: Attempts,
}

impl Authentication {
    /// Accepts this token, and tokens of the issuer with this scope.
    pub(crate) fn new(
        token: Option<Digest>,
        scope: Option<String>,
        is_local: bool,
        endpoint: Arc<dyn EndpointCredentials>,
    ) -> Self {
        Self {
            token,
            scope,
            is_local,
            endpoint,
            loopback_hosts: HostPolicy::new(&[], &[]),
            sessions: Sessions::default(),
            attempts: Attempts::default(),
        }
    }

    /// Whether requests need a credential.
    pub(crate) fn requires_credential(&self) -> bool {
        self.token.is_some() || self.scope.is_some()
    }

    /// The kinds of credentials that are accepted.
    pub(crate) fn kinds(&self) -> Vec<&'static str> {
        let token = self.token.map(|_| "token");
        let scope = self.scope.as_ref().map(|_| "oauth");
        token.into_iter().chain(scope).collect()
    }

    /// Returns the sender of a request with a credential in the `Authorization` header.
    pub(crate) async fn by_header(&self, head: Head<'_>) -> Result<Operator, AuthenticationError> {
        let token = sent_token(head.headers)?;
        let credential = self.verify(token, head.peer).await?;
        Ok(Operator::new(credential, head.peer, None))
    }

    /// Returns the sender of a request to the API.
    pub(crate) async fn operator(&self, head: Head<'_>) -> Result<Operator, AuthenticationError> {
        if !self.requires_credential() {
            let operator = self.local_operator(head);
            return operator.ok_or(AuthenticationError::NotLocal);
        }
        if head.headers.contains_key(AUTHORIZATION) {
            return self.by_header(head).await;
        }
        let operator = self.operator_of_session(head);
        operator
            .filter(Operator::is_current)
            .ok_or(AuthenticationError::NoCredential)
    }

    fn local_operator(&self, head: Head<'_>) -> Option<Operator> {
        self.is_of_this_machine(head)
            .then(|| Operator::new(Credential::Loopback, head.peer, None))
    }

    fn operator_of_session(&self, head: Head<'_>) -> Option<Operator> {
        let (session, credential) = self.session(head.headers)?;
        Some(Operator::new(credential, head.peer, Some(session)))
    }

    /// Checks a token.
    pub(crate) async fn verify(
        &self,
        token: &str,
        peer: Option<IpAddr>,
    ) -> Result<Credential, AuthenticationError> {
        let client = peer.map_or(Source::UNIX_SOCKET, Source::from);
        let is_issued = self.scope.is_some() && token.contains('.');
        let is_own = || self.is_own(token);
        // A token of the issuer counts as an attempt only after its verification, which takes time.
        match self
            .attempts
            .check(client, Instant::now(), || is_issued || is_own())
        {
            Ok(true) if !is_issued || is_own() => return Ok(Credential::Token),
            Ok(true) => {}
            Ok(false) => return Err(AuthenticationError::Invalid("the token is wrong".into())),
            Err(too_many) => return Err(AuthenticationError::TooManyAttempts(too_many)),
        }
        let verified = self.verify_issued(token).await;
        if matches!(
            verified,
            Err(AuthenticationError::Invalid(_) | AuthenticationError::MissingScope(_))
        ) {
            // The result is ignored: the next token may exceed the limit.
            _ = self.attempts.check(client, Instant::now(), || false);
        }
        verified
    }

    fn is_own(&self, token: &str) -> bool {
        let given = Digest::of(token.as_bytes());
        self.token.is_some_and(|own| is_equal(&own, &given))
    }

    async fn verify_issued(&self, token: &str) -> Result<Credential, AuthenticationError> {
        let scope = self
            .scope
            .as_ref()
            .ok_or(AuthenticationError::NoCredential)?;
        match self.endpoint.verify(token).await {
            Ok(token) if token.has_scope(scope) => Ok(Credential::Issued(token.into())),
            Ok(_) => Err(AuthenticationError::MissingScope(scope.clone())),
            Err(TokenError::Invalid(why)) => Err(AuthenticationError::Invalid(why)),
            Err(TokenError::Unavailable(why)) => Err(AuthenticationError::Unavailable(why)),
        }
    }

    /// Whether only a process on this machine can have sent the request: no other machine, no page of another host (DNS
    /// rebinding), and no proxy.
    fn is_of_this_machine(&self, head: Head<'_>) -> bool {
        self.is_local
            && head.has_local_peer()
            && self
                .loopback_hosts
                .check_host(head.uri, head.headers)
                .is_ok()
            && !head.headers.keys().any(is_of_proxy)
    }

    fn session(&self, headers: &HeaderMap) -> Option<(PageSession, Credential)> {
        let now = SystemTime::now();
        session_ids(headers).find_map(|id| self.sessions.find(id, now))
    }

    /// Checks the secret of the session if a cookie authenticates the request.
    pub(crate) fn check_csrf(
        &self,
        operator: &Operator,
        headers: &HeaderMap,
    ) -> Result<(), AuthenticationError> {
        match &operator.session {
            Some(session) if !has_secret(headers, session) => Err(AuthenticationError::BadCsrf),
            _ => Ok(()),
        }
    }

    /// Opens a session for the owner of a credential.
    pub(crate) fn open_session(
        &self,
        credential: Credential,
    ) -> Result<NewSession, getrandom::Error> {
        let limit = credential.expires();
        self.sessions.open(credential, limit)
    }

    /// Ends a session.
    pub(crate) fn close_session(&self, session: &PageSession) {
        self.sessions.close(session);
    }

    /// Whether the operator may still use a session or stream that was opened with the credential.
    pub(crate) fn is_current(&self, operator: &Operator) -> bool {
        operator.is_current()
            && operator
                .session
                .as_ref()
                .is_none_or(|session| self.sessions.is_open(session))
    }

    /// Returns the only caller on whose behalf an operator without a credential may read. `None` if such an operator
    /// may not read: without a credential, the admin address returns only what the endpoint returns too.
    pub(crate) fn anonymous_caller(&self) -> Option<Caller> {
        self.endpoint.anonymous_caller()
    }

    /// Whether the operator may read resources and see the catalog.
    pub(crate) fn may_read(&self, operator: &Operator) -> bool {
        operator.may_approve() || self.anonymous_caller().is_some()
    }
}

/// Returns the token in the `Authorization` header.
fn sent_token(headers: &HeaderMap) -> Result<&str, AuthenticationError> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let value = match (values.next(), values.next()) {
        (None, _) => return Err(AuthenticationError::NoCredential),
        (Some(value), None) => value.to_str().ok(),
        (Some(_), Some(_)) => None,
    };
    value.and_then(bearer_token).ok_or_else(no_bearer_token)
}

fn bearer_token(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn no_bearer_token() -> AuthenticationError {
    AuthenticationError::Invalid("send the token as `Authorization: Bearer …`".into())
}

/// Compares digests in constant time.
fn is_equal(own: &Digest, given: &Digest) -> bool {
    own.bytes().ct_eq(given.bytes()).into()
}

/// Returns the ids in all cookies of a session. Servers on other ports of this host can set a cookie of the same name.
fn session_ids(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let values = header_texts(headers, &COOKIE);
    let pairs = values.flat_map(|value| value.split(';'));
    pairs.filter_map(|pair| pair.trim().strip_prefix(COOKIE_NAME)?.strip_prefix('='))
}

fn has_secret(headers: &HeaderMap, session: &PageSession) -> bool {
    let given = headers.get(CSRF_HEADER);
    let given = given.map(|value| Digest::of(value.as_bytes()));
    given.is_some_and(|given| is_equal(&session.csrf, &given))
}

/// Whether a proxy adds this header. No list of names is complete, so whole families of names count.
fn is_of_proxy(name: &HeaderName) -> bool {
    let name = name.as_str();
    PROXY_HEADERS.contains(&name)
        || PROXY_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || PROXY_SUFFIXES.iter().any(|suffix| name.ends_with(suffix))
}
