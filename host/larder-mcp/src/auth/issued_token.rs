//! Tokens of the issuer for the admin address. Their subjects need not be in a team. Requests of MCP clients do not use
//! this.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use http::StatusCode;

use super::Authenticator;
use super::challenge::AuthError;
use super::jwt::AnyIssuedToken;

/// A token of the issuer that was verified, except for its scopes.
pub struct IssuedToken {
    token: AnyIssuedToken,
    authenticator: Authenticator,
}

/// Why a token of the issuer is not accepted. The error contains no part of the token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IssuedTokenError {
    /// No issuer is configured.
    NoIssuer,
    /// The token is not valid.
    Invalid(String),
    /// The token cannot be verified at the moment.
    Unavailable(String),
}

impl From<AuthError> for IssuedTokenError {
    fn from(error: AuthError) -> Self {
        let message = error.description().into_owned();
        match error.status() {
            StatusCode::SERVICE_UNAVAILABLE => Self::Unavailable(message),
            _ => Self::Invalid(message),
        }
    }
}

impl fmt::Debug for IssuedToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IssuedToken")
    }
}

impl IssuedToken {
    /// The subject.
    pub fn subject(&self) -> &str {
        &self.token.subject
    }

    /// The issuer.
    pub fn issuer(&self) -> &str {
        self.token.issuer.config.issuer.as_str()
    }

    /// The id of the token (`jti`).
    pub fn id(&self) -> Option<&Arc<str>> {
        self.token.id.as_ref()
    }

    /// Whether the token has this scope.
    pub fn has_scope(&self, scope: &str) -> bool {
        self.token.scopes.iter().any(|own| own == scope)
    }

    /// When the token expires.
    pub fn expires(&self) -> SystemTime {
        self.token.expires
    }

    /// Whether the token is still valid: it has not expired, the issuer is still accepted, and the issuer still has the
    /// key of the token.
    pub fn is_current(&self) -> bool {
        let AnyIssuedToken {
            issuer,
            key,
            expires,
            ..
        } = &self.token;
        let state = self.authenticator.0.state.load();
        state.has_issuer(issuer) && issuer.has_key(key) && SystemTime::now() < *expires
    }
}

impl Authenticator {
    /// Verifies a token of the issuer, without a check of its scopes and the teams of its subject.
    pub async fn verify_issued(&self, token: &str) -> Result<IssuedToken, IssuedTokenError> {
        let issuer = self
            .0
            .state
            .load()
            .issuer
            .clone()
            .ok_or(IssuedTokenError::NoIssuer)?;
        let verified = issuer.verify_any(token, &self.0.drain).await?;
        Ok(IssuedToken {
            token: verified,
            authenticator: self.clone(),
        })
    }
}
