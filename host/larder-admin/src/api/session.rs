//! The paths `/api/session`, `/api/login` and `/api/logout`: the user of the page, and the cookie of the session.

use std::fmt::Display;
use std::net::IpAddr;

use axum::body::Bytes;
use axum::extract::{Extension, Request, State};
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use http::header::{HeaderMap, HeaderValue, ORIGIN, SET_COOKIE};
use serde::{Deserialize, Serialize};

use super::body;
use super::response::ApiError;
use super::time::timestamp;
use crate::access::{Denial, Peer};
use crate::authentication::{AuthenticationError, COOKIE_NAME, LIFETIME, NewSession};
use crate::operator::Operator;
use crate::response::json;
use crate::{Admin, Sources};
use larder_core::audit::{AuditEvent, AuditWriteError};
use larder_runtime::history::{Event, EventKind};

/// Where browsers send the cookie.
const COOKIE_PATH: &str = "/api";

/// The sender of a request, and the rights of the sender.
#[derive(Debug, Serialize)]
struct Session {
    subject: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    issuer: Option<String>,
    via: &'static str,
    may_approve: bool,
    may_read: bool,
    /// Only in the response to a login.
    #[serde(skip_serializing_if = "Option::is_none")]
    csrf: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Login {
    token: String,
}

impl Session {
    fn of(admin: &Admin, operator: &Operator) -> Self {
        Self {
            subject: operator.subject().to_owned(),
            issuer: operator.issuer().map(ToOwned::to_owned),
            via: operator.credential.kind(),
            may_approve: operator.may_approve(),
            may_read: admin.0.authentication.may_read(operator),
            csrf: None,
            expires: operator.expires().map(timestamp),
        }
    }
}

pub(super) async fn get(
    State(admin): State<Admin>,
    Extension(operator): Extension<Operator>,
) -> Response {
    json(StatusCode::OK, &Session::of(&admin, &operator))
}

/// Opens a session for the owner of a token.
pub(super) async fn login(
    State(admin): State<Admin>,
    peer: Option<Extension<Peer>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, ApiError> {
    let Login { token } = body::parse(&headers, &body)?;
    let authentication = &admin.0.authentication;
    let peer = peer.map(|peer| peer.0.0);
    if !authentication.requires_credential() {
        return Err(no_credentials());
    }
    let credential = match authentication.verify(token.trim(), peer).await {
        Ok(credential) => credential,
        Err(denied) => {
            admin.record_refused_login(&denied, peer);
            return Ok(Denial::from(denied).json(&authentication.kinds()));
        }
    };
    let opened = authentication.open_session(credential.clone());
    let NewSession { id, csrf, session } = opened.map_err(no_random_bytes)?;
    let operator = Operator::new(credential, peer, Some(session.clone()));
    // A login that cannot be recorded does not take effect.
    if let Err(error) = admin.record_session("login", &operator).await {
        authentication.close_session(&session);
        return Err(ApiError::unavailable("not-recorded", error));
    }
    let session = Session {
        csrf: Some(csrf),
        ..Session::of(&admin, &operator)
    };
    let response = json(StatusCode::OK, &session);
    Ok(with_cookie(response, &id, LIFETIME.as_secs(), &headers))
}

fn no_credentials() -> ApiError {
    let message = "nobody can log in: configure `admin.token` or `admin.scope` first";
    ApiError::new(StatusCode::CONFLICT, "no-credentials", message)
}

fn no_random_bytes(error: impl Display) -> ApiError {
    let message = format!("the operating system returned no random bytes: {error}");
    ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "failed", message)
}

/// Ends the session of the cookie.
pub(super) async fn logout(
    State(admin): State<Admin>,
    Extension(operator): Extension<Operator>,
    request: Request,
) -> Response {
    if let Some(session) = &operator.session {
        admin.0.authentication.close_session(session);
        if let Err(error) = admin.record_session("logout", &operator).await {
            tracing::error!(%error, operator = %operator.name(), "a logout was not recorded");
        }
    }
    with_cookie(
        StatusCode::NO_CONTENT.into_response(),
        "",
        0,
        request.headers(),
    )
}

/// Sets the cookie of a session. If the page was sent over TLS, the cookie is only sent over TLS.
fn with_cookie(mut response: Response, id: &str, seconds: u64, headers: &HeaderMap) -> Response {
    let secure = if is_page_over_tls(headers) {
        "; Secure"
    } else {
        ""
    };
    let cookie = format!(
        "{COOKIE_NAME}={id}; Path={COOKIE_PATH}; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}"
    );
    // An id consists of hexadecimal digits.
    if let Ok(cookie) = HeaderValue::try_from(cookie) {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    response
}

fn is_page_over_tls(headers: &HeaderMap) -> bool {
    let origin = headers.get(ORIGIN).map(HeaderValue::as_bytes);
    origin.is_some_and(|origin| origin.starts_with(b"https://"))
}

impl Admin {
    /// Records that a session begins or ends.
    async fn record_session(
        &self,
        operation: &'static str,
        operator: &Operator,
    ) -> Result<(), AuditWriteError> {
        let Sources { audit, metrics, .. } = &self.0.sources;
        audit
            .record_first(&operator_event(operation, "ok", operator))
            .await?;
        let text = format!("{operation} of {}", operator.name());
        metrics
            .events()
            .record(Event::new(EventKind::Login, text).with("peer", peer_text(operator.peer)));
        tracing::info!(operator = %operator.name(), peer = ?operator.peer, "{operation} at the admin address");
        Ok(())
    }

    fn record_refused_login(&self, denied: &AuthenticationError, peer: Option<IpAddr>) {
        let outcome = match denied {
            // A line for each attempt would fill the log.
            AuthenticationError::TooManyAttempts(_) => return,
            AuthenticationError::MissingScope(_) => "forbidden",
            _ => "unauthorized",
        };
        let Sources { audit, metrics, .. } = &self.0.sources;
        audit.record(&AuditEvent {
            peer,
            ..AuditEvent::new("login", outcome)
        });
        let event = Event::new(EventKind::Login, "a login was refused").with("outcome", outcome);
        metrics.events().record(event.with("peer", peer_text(peer)));
        tracing::warn!(?peer, outcome, "a login at the admin address was refused");
    }
}

fn peer_text(peer: Option<IpAddr>) -> String {
    peer.map(|peer| peer.to_string()).unwrap_or_default()
}

/// Creates the record of an operator's action.
pub(super) fn operator_event<'a>(
    operation: &'static str,
    outcome: &'a str,
    operator: &'a Operator,
) -> AuditEvent<'a> {
    AuditEvent {
        subject: Some(operator.subject()),
        issuer: operator.issuer(),
        token: operator.token_id(),
        peer: operator.peer,
        ..AuditEvent::new(operation, outcome)
    }
}
