//! Why somebody may not ask, and the header that tells a client what to do about it (RFC 6750, RFC 9728).

use std::borrow::Cow;
use std::fmt::Write as _;

use http::header::{self, HeaderValue};
use http::{HeaderMap, StatusCode};

use super::Oauth;
use crate::endpoint::refusal::{INTERNAL, REQUEST, Refusal};

/// Why somebody may not ask. Never says anything of the credential itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::endpoint) enum Denied {
    /// There is no credential.
    Missing,
    /// There is one in a wrong way.
    Malformed(&'static str),
    /// It does not hold.
    Invalid(Cow<'static, str>),
    /// It holds, but does not allow enough.
    Scopes,
    /// It holds, but nobody here knows what team it is for.
    NoTeam,
    /// Whether it holds cannot be found out at the moment.
    NoKeys,
    /// Nobody may, until there are credentials again.
    Closed,
}

impl Denied {
    pub(super) fn invalid(why: &'static str) -> Self {
        Self::Invalid(why.into())
    }

    fn status(&self) -> StatusCode {
        match self {
            Self::Missing | Self::Invalid(_) | Self::Closed => StatusCode::UNAUTHORIZED,
            Self::Malformed(_) => StatusCode::BAD_REQUEST,
            Self::Scopes | Self::NoTeam => StatusCode::FORBIDDEN,
            Self::NoKeys => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    fn why(&self) -> Cow<'static, str> {
        match self {
            Self::Missing => "a token is needed: send it as `Authorization: Bearer …`".into(),
            Self::Malformed(why) => (*why).into(),
            Self::Invalid(why) => why.clone(),
            Self::Scopes => "the token does not have the scopes that are needed".into(),
            Self::NoTeam => "the token names no team of this server".into(),
            Self::NoKeys => "the issuer's keys cannot be had at the moment: try again later".into(),
            Self::Closed => "no credentials are accepted at the moment".into(),
        }
    }

    /// The error of RFC 6750, where there is one.
    fn code(&self) -> Option<&'static str> {
        match self {
            Self::Malformed(_) => Some("invalid_request"),
            Self::Invalid(_) => Some("invalid_token"),
            Self::Scopes => Some("insufficient_scope"),
            Self::Missing | Self::Closed | Self::NoTeam | Self::NoKeys => None,
        }
    }

    /// In the words of the protocol.
    pub(in crate::endpoint) fn refusal(&self) -> Refusal {
        let code = if *self == Self::NoKeys { INTERNAL } else { REQUEST };
        Refusal::new(code, self.why()).with_status(self.status())
    }

    /// Adds the challenge, or says when to come back.
    pub(super) fn challenge(&self, headers: &mut HeaderMap, oauth: Option<&Oauth>) {
        match self {
            Self::NoKeys => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("10"));
            }
            // No other token of the same client would do better.
            Self::NoTeam => {}
            _ => {
                let value = HeaderValue::from_str(&self.header(oauth));
                value.into_iter().for_each(|value| {
                    headers.insert(header::WWW_AUTHENTICATE, value);
                });
            }
        }
    }

    fn header(&self, oauth: Option<&Oauth>) -> String {
        let mut parts = Vec::new();
        if let Some(code) = self.code() {
            parts.push(("error", code.to_owned()));
            // Quotes of ours would end the text.
            parts.push(("error_description", self.why().replace(['`', '"', '\\'], "'")));
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
