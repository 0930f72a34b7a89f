//! Who may send requests to the admin listener: which hosts and origins, which methods, and with which token.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http::header::{ALLOW, AUTHORIZATION, HeaderMap, WWW_AUTHENTICATE};
use http::{Method, StatusCode};

use super::Admin;
use super::response::text;
use super::{forget, reload};
use larder_model::name::Digest;
use larder_runtime::host_policy::Forbidden;

/// Rejects requests for other hosts, and of web pages of other origins.
pub(super) async fn require_own_host(State(admin): State<Admin>, request: Request, next: Next) -> Response {
    let message = match admin.0.host_policy.check(request.uri(), request.headers()) {
        Ok(_) => return next.run(request).await,
        Err(Forbidden::Host(_) | Forbidden::RepeatedHost) => {
            "the host is not allowed: add it to `admin.hosts`"
        }
        Err(Forbidden::Origin | Forbidden::RepeatedOrigin) => "the origin of the request is not allowed here",
    };
    text(StatusCode::FORBIDDEN, message.to_owned())
}

/// Rejects requests that are no reads, except for a reload and a deletion of values.
pub(super) async fn require_method(request: Request, next: Next) -> Response {
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    let (is_allowed, allow, advice) = match request.uri().path() {
        reload::PATH | forget::PATH => (request.method() == Method::POST, "POST", "use POST"),
        _ => (is_read, "GET, HEAD", "use GET or HEAD"),
    };
    if is_allowed {
        return next.run(request).await;
    }
    ([(ALLOW, allow)], text(StatusCode::METHOD_NOT_ALLOWED, advice.into())).into_response()
}

/// Rejects requests without the token, if one is configured.
pub(super) async fn require_token(State(admin): State<Admin>, request: Request, next: Next) -> Response {
    if is_authorized(admin.0.token, request.headers()) {
        return next.run(request).await;
    }
    let message = "send the token for `admin.token` as `Authorization: Bearer …`";
    ([(WWW_AUTHENTICATE, "Bearer")], text(StatusCode::UNAUTHORIZED, message.into())).into_response()
}

/// Whether the request has the token, if one is required.
pub(super) fn is_authorized(token: Option<Digest>, headers: &HeaderMap) -> bool {
    let Some(token) = token else { return true };
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let (Some(credential), None) = (values.next(), values.next()) else { return false };
    let credential = credential.to_str().ok().and_then(|credential| credential.split_once(' '));
    // Digests are compared, so that timing reveals nothing about the token.
    credential.is_some_and(|(scheme, value)| {
        scheme.eq_ignore_ascii_case("bearer") && Digest::of(value.trim().as_bytes()) == token
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requires_the_token_if_one_is_configured() {
        let headers = |values: &[&str]| {
            values.iter().map(|value| (AUTHORIZATION, value.parse().unwrap())).collect::<HeaderMap>()
        };
        let authorized = |values: &[&str]| is_authorized(Some(Digest::of(b"secret")), &headers(values));
        assert!(authorized(&["Bearer secret"]) && authorized(&["bearer secret"]));
        for bad in ["Bearer Secret", "secret", "Basic secret", "Bearer "] {
            assert!(!authorized(&[bad]), "{bad}");
        }
        assert!(!authorized(&[]) && !authorized(&["Bearer secret", "Bearer secret"]));
        assert!(is_authorized(None, &headers(&[])));
    }
}
