//! Authentication errors, and the headers that tell a client what to do about them (RFC 6750, RFC 9728).

use std::borrow::Cow;
use std::fmt::Write as _;
use std::time::Duration;

use http::header::{self, HeaderValue};
use http::{HeaderMap, StatusCode};

use super::Oauth;
use crate::wire::rpc_error::{INTERNAL_ERROR, INVALID_REQUEST, RpcError};
use larder_runtime::metrics::Refusal;

/// Why a request was rejected. The error contains no part of the credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AuthError {
    /// The request has no credential.
    Missing,
    /// The credential is not sent in the right form.
    Malformed(&'static str),
    /// The credential is not valid.
    Invalid(Cow<'static, str>),
    /// The credential is valid but lacks scopes.
    MissingScopes,
    /// The credential is valid but maps to no team.
    NoTeam,
    /// The credential cannot be verified at the moment.
    KeysUnavailable,
    /// The key of the credential is unknown. The issuer may have added the key since the keys were fetched. They can be
    /// fetched again after this time.
    KeyMaybeNew { retry: Duration },
    /// The last credential was removed: all requests are rejected until one is added.
    NoCredentials,
}

impl AuthError {
    pub(super) fn invalid(why: &'static str) -> Self {
        Self::Invalid(why.into())
    }

    pub(super) fn status(&self) -> StatusCode {
        match self {
            Self::Missing | Self::Invalid(_) | Self::NoCredentials => StatusCode::UNAUTHORIZED,
            Self::Malformed(_) => StatusCode::BAD_REQUEST,
            Self::MissingScopes | Self::NoTeam => StatusCode::FORBIDDEN,
            Self::KeysUnavailable | Self::KeyMaybeNew { .. } => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    fn refusal(&self) -> Refusal {
        match self {
            Self::Missing => Refusal::CredentialMissing,
            Self::Malformed(_) | Self::Invalid(_) | Self::NoCredentials => {
                Refusal::CredentialInvalid
            }
            Self::MissingScopes => Refusal::Scopes,
            Self::NoTeam => Refusal::NoTeam,
            Self::KeysUnavailable | Self::KeyMaybeNew { .. } => Refusal::KeysUnavailable,
        }
    }

    pub(super) fn description(&self) -> Cow<'static, str> {
        match self {
            Self::Missing => "a token is required: send it as `Authorization: Bearer …`".into(),
            Self::Malformed(why) => (*why).into(),
            Self::Invalid(why) => why.clone(),
            Self::MissingScopes => "the token does not have the required scopes".into(),
            Self::NoTeam => "the token maps to no team of this server".into(),
            Self::KeysUnavailable => "the issuer's keys are not available: try again later".into(),
            Self::KeyMaybeNew { .. } => "the token is signed with a key that this server does not know yet, and the issuer's keys were fetched a moment ago: try again later".into(),
            Self::NoCredentials => "no credentials are accepted at the moment".into(),
        }
    }

    /// Returns the error code of RFC 6750, if there is one.
    fn code(&self) -> Option<&'static str> {
        match self {
            Self::Malformed(_) => Some("invalid_request"),
            Self::Invalid(_) => Some("invalid_token"),
            Self::MissingScopes => Some("insufficient_scope"),
            Self::Missing | Self::NoCredentials | Self::NoTeam => None,
            Self::KeysUnavailable | Self::KeyMaybeNew { .. } => None,
        }
    }

    /// Returns the JSON-RPC error with its HTTP status.
    pub(crate) fn rpc_error(&self) -> RpcError {
        let is_temporary = self.status() == StatusCode::SERVICE_UNAVAILABLE;
        let code = if is_temporary {
            INTERNAL_ERROR
        } else {
            INVALID_REQUEST
        };
        RpcError::new(code, self.description())
            .with_status(self.status())
            .with_refusal(self.refusal())
    }

    /// Adds the `WWW-Authenticate` or `Retry-After` header.
    pub(super) fn challenge(&self, headers: &mut HeaderMap, oauth: Option<&Oauth>) {
        match self {
            Self::KeysUnavailable => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("10"));
            }
            Self::KeyMaybeNew { retry } => {
                headers.insert(
                    header::RETRY_AFTER,
                    HeaderValue::from(retry.as_secs().saturating_add(1)),
                );
            }
            // The client cannot get access with another token.
            Self::NoTeam => {}
            _ => {
                let value = HeaderValue::from_str(&self.header(oauth));
                if let Ok(value) = value {
                    headers.insert(header::WWW_AUTHENTICATE, value);
                }
            }
        }
    }

    fn header(&self, oauth: Option<&Oauth>) -> String {
        let mut parts = Vec::new();
        if let Some(code) = self.code() {
            parts.push(("error", code.to_owned()));
            // A quote would end the quoted string.
            parts.push((
                "error_description",
                self.description().replace(['`', '"', '\\'], "'"),
            ));
        }
        if let Some(oauth) = oauth {
            parts.push(("resource_metadata", oauth.audience.metadata()));
            if !oauth.scopes.is_empty() {
                parts.push(("scope", oauth.scopes.join(" ")));
            }
        }
        if parts.is_empty() {
            parts.push(("realm", "larder".into()));
        }
        let mut header = String::from("Bearer");
        for (n, (name, value)) in parts.iter().enumerate() {
            let comma = if n == 0 { "" } else { "," };
            // Writing into a string does not fail.
            let _ = write!(header, "{comma} {name}=\"{value}\"");
        }
        header
    }
}
