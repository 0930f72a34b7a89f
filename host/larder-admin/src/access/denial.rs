//! The responses to denied requests.

use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use http::header::{HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use serde_json::json;

use crate::authentication::{AuthenticationError, CSRF_HEADER, TooManyAttempts};
use crate::response::{json, text};

/// Why a request is denied: a code for programs and a message for people.
pub(crate) struct Denial {
    status: StatusCode,
    code: &'static str,
    message: String,
    retry: Option<u64>,
}

impl Denial {
    /// Creates a denial that does not concern the credential.
    pub(crate) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            code,
            message: message.into(),
            retry: None,
        }
    }

    /// Creates a denial of an action that the sender may not do.
    pub(crate) fn forbidden(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, code, message)
    }

    /// Returns the response of a path of the API. `logins` are the kinds of credentials that a client can use to log
    /// in.
    pub(crate) fn json(self, logins: &[&'static str]) -> Response {
        let mut body = json!({ "error": { "code": self.code, "message": self.message } });
        if self.status == StatusCode::UNAUTHORIZED {
            body["login"] = json!(logins);
        }
        let response = json(self.status, &body);
        self.with_headers(response)
    }

    /// The response of another path.
    pub(crate) fn text(self) -> Response {
        let response = text(self.status, self.message.clone());
        self.with_headers(response)
    }

    fn with_headers(self, mut response: Response) -> Response {
        let headers = response.headers_mut();
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(seconds) = self.retry {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        response.into_response()
    }
}

impl From<AuthenticationError> for Denial {
    fn from(denied: AuthenticationError) -> Self {
        let unauthorized = |message: String| Self {
            status: StatusCode::UNAUTHORIZED,
            code: "unauthorized",
            message,
            retry: None,
        };
        match denied {
            AuthenticationError::NoCredential => unauthorized(
                "send the token for `admin.token` as `Authorization: Bearer …`, or log in".into(),
            ),
            AuthenticationError::Invalid(why) => unauthorized(why),
            AuthenticationError::MissingScope(scope) => Self::forbidden(
                "forbidden",
                format!("the token does not have the scope `{scope}` (`admin.scope`)"),
            ),
            AuthenticationError::Unavailable(message) => Self {
                status: StatusCode::SERVICE_UNAVAILABLE,
                code: "unavailable",
                message,
                retry: Some(10),
            },
            AuthenticationError::TooManyAttempts(TooManyAttempts(wait)) => Self {
                status: StatusCode::TOO_MANY_REQUESTS,
                code: "too-many-attempts",
                message: "too many wrong tokens were sent from this address: try again later"
                    .into(),
                retry: Some(wait.as_secs() + 1),
            },
            AuthenticationError::NotLocal => Self::forbidden(
                "forbidden",
                "without `admin.token` or `admin.scope`, this is only for requests of this machine to a loopback address",
            ),
            AuthenticationError::BadCsrf => Self::forbidden(
                "csrf",
                format!(
                    "the header {CSRF_HEADER} does not have the secret of this session: log in again"
                ),
            ),
        }
    }
}
