//! The responses to denied requests.

use axum::response::Response;
use http::StatusCode;
use http::header::{HeaderValue, WWW_AUTHENTICATE};
use serde_json::json;

use crate::authentication::{AuthenticationError, CSRF_HEADER, TooManyAttempts};
use crate::response::{json, text, with_retry};

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
        if self.status == StatusCode::UNAUTHORIZED {
            let bearer = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(WWW_AUTHENTICATE, bearer);
        }
        match self.retry {
            Some(seconds) => with_retry(response, seconds),
            None => response,
        }
    }

    fn unauthorized(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", message)
    }

    fn with_retry(self, seconds: u64) -> Self {
        let retry = Some(seconds);
        Self { retry, ..self }
    }
}

impl From<AuthenticationError> for Denial {
    fn from(denied: AuthenticationError) -> Self {
        match denied {
            AuthenticationError::NoCredential => Self::unauthorized(
                "send the token for `admin.token` as `Authorization: Bearer …`, or log in",
            ),
            AuthenticationError::Invalid(why) => Self::unauthorized(why),
            AuthenticationError::MissingScope(scope) => Self::forbidden(
                "forbidden",
                format!("the token does not have the scope `{scope}` (`admin.scope`)"),
            ),
            AuthenticationError::Unavailable(message) => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", message).with_retry(10)
            }
            AuthenticationError::TooManyAttempts(TooManyAttempts(wait)) => Self::new(
                StatusCode::TOO_MANY_REQUESTS,
                "too-many-attempts",
                "too many wrong tokens were sent from this address: try again later",
            )
            .with_retry(wait.as_secs() + 1),
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
