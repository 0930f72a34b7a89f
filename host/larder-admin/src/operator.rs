//! The user of the admin address, and the rights of the user.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::future::BoxFuture;

use larder_model::name::Digest;
use larder_model::resource::Caller;

/// How often a stream checks whether its credential is still valid.
const VALIDITY_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The part of the MCP endpoint's credentials that the admin address uses.
pub trait EndpointCredentials: Send + Sync {
    /// Verifies a token of the OAuth issuer. The teams of its subject are not checked.
    fn verify<'a>(
        &'a self,
        token: &'a str,
    ) -> BoxFuture<'a, Result<Box<dyn IssuedToken>, TokenError>>;

    /// Returns the caller of requests without a credential. `None` unless the endpoint accepts such requests from every
    /// process on this machine.
    fn anonymous_caller(&self) -> Option<Caller>;
}

/// A verified token of the OAuth issuer.
pub trait IssuedToken: Send + Sync {
    /// The subject.
    fn subject(&self) -> &str;
    /// The issuer.
    fn issuer(&self) -> &str;
    /// The id of the token.
    fn id(&self) -> Option<&str>;
    /// Whether the token has this scope.
    fn has_scope(&self, scope: &str) -> bool;
    /// When the token expires.
    fn expires(&self) -> SystemTime;
    /// Whether the token is still valid.
    fn is_current(&self) -> bool;
}

/// Why a token of the OAuth issuer is not accepted. The error contains no part of the token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenError {
    /// The token is not valid.
    Invalid(String),
    /// The token cannot be verified at the moment.
    Unavailable(String),
}

/// A credential that was accepted.
#[derive(Clone)]
pub(crate) enum Credential {
    /// None: the request comes from this machine, and no credential is configured.
    Loopback,
    /// The token in the configuration.
    Token,
    /// A token of the OAuth issuer with the scope of operators.
    Issued(Arc<dyn IssuedToken>),
}

/// A session of the web page.
#[derive(Clone)]
pub(crate) struct PageSession {
    /// The digest of the session's id.
    pub(crate) id: Digest,
    /// The digest of the secret that requests with effects must contain.
    pub(crate) csrf: Digest,
    /// When the session ends.
    pub(crate) expires: SystemTime,
}

/// The sender of a request.
#[derive(Clone)]
pub(crate) struct Operator {
    pub(crate) credential: Credential,
    /// The address of the client.
    pub(crate) peer: Option<IpAddr>,
    /// The session, if a cookie authenticates the request.
    pub(crate) session: Option<PageSession>,
}

impl fmt::Debug for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Operator")
            .field("name", &self.name())
            .finish_non_exhaustive()
    }
}

impl Credential {
    /// The word for the credential in responses.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Loopback => "loopback",
            Self::Token => "token",
            Self::Issued(_) => "oauth",
        }
    }

    fn is_current(&self) -> bool {
        match self {
            Self::Loopback | Self::Token => true,
            Self::Issued(token) => token.is_current(),
        }
    }

    /// When the credential ends; none if it does not end.
    pub(crate) fn expires(&self) -> Option<SystemTime> {
        match self {
            Self::Loopback | Self::Token => None,
            Self::Issued(token) => Some(token.expires()),
        }
    }
}

impl Operator {
    pub(crate) fn new(
        credential: Credential,
        peer: Option<IpAddr>,
        session: Option<PageSession>,
    ) -> Self {
        Self {
            credential,
            peer,
            session,
        }
    }

    /// The subject of the credential, or the key of the token.
    pub(crate) fn subject(&self) -> &str {
        match &self.credential {
            Credential::Loopback => "loopback",
            Credential::Token => "admin.token",
            Credential::Issued(token) => token.subject(),
        }
    }

    /// The issuer of the credential.
    pub(crate) fn issuer(&self) -> Option<&str> {
        match &self.credential {
            Credential::Loopback | Credential::Token => None,
            Credential::Issued(token) => Some(token.issuer()),
        }
    }

    /// The id of the token.
    pub(crate) fn token_id(&self) -> Option<&str> {
        match &self.credential {
            Credential::Loopback | Credential::Token => None,
            Credential::Issued(token) => token.id(),
        }
    }

    /// Identifies the operator in records.
    pub(crate) fn name(&self) -> String {
        match self.issuer() {
            Some(issuer) => format!("{} of {issuer}", self.subject()),
            None => self.subject().to_owned(),
        }
    }

    /// Whether the operator may approve the requests of components. Any process on this machine can send a request
    /// without a credential, so a request without a credential must not approve.
    pub(crate) fn may_approve(&self) -> bool {
        !matches!(self.credential, Credential::Loopback)
    }

    /// When the credential, or the session, ends.
    pub(crate) fn expires(&self) -> Option<SystemTime> {
        let session = self.session.as_ref().map(|session| session.expires);
        session.into_iter().chain(self.credential.expires()).min()
    }

    /// Whether the credential is still accepted and has not expired.
    pub(crate) fn is_current(&self) -> bool {
        self.credential.is_current()
            && self
                .expires()
                .is_none_or(|expires| SystemTime::now() < expires)
    }
}

/// Completes when the operator's credential is not valid any more.
pub(crate) async fn wait_for_end(is_valid: impl Fn() -> bool) {
    while is_valid() {
        tokio::time::sleep(VALIDITY_CHECK_INTERVAL).await;
    }
}
