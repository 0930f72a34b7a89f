//! Who may send requests to the admin listener: to which host, from which origin, with which method and credential, and
//! with which rights. The handlers of the paths do not check this.

mod denial;

use std::net::IpAddr;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use futures_util::StreamExt as _;
use http::header::{ALLOW, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN};
use http::uri::Uri;
use http::{Method, StatusCode};

pub(crate) use self::denial::Denial;
use super::Admin;
use super::authentication::Head;
use super::operator::{Operator, wait_for_end};
use super::response::text;
use super::{forget, reload};
use larder_runtime::host_policy::Forbidden;

/// Where the paths of the API begin.
const API: &str = "/api/";
/// The header in which browsers say where a request comes from.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The address of the client. It is an extension of each request over TCP or through a trusted proxy.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub(crate) IpAddr);

/// Returns the parts of a request that authentication needs.
pub(super) fn head(request: &Request) -> Head<'_> {
    let peer = request.extensions().get::<Peer>().map(|peer| peer.0);
    Head {
        peer,
        uri: request.uri(),
        headers: request.headers(),
    }
}

/// Rejects requests for other hosts, and requests from web pages of other origins.
pub(super) async fn require_own_host(
    State(admin): State<Admin>,
    request: Request,
    next: Next,
) -> Response {
    let message = match admin.0.host_policy.check(request.uri(), request.headers()) {
        Ok(_) => return next.run(request).await,
        Err(Forbidden::NoHost) => {
            let message = "the request has no header `host`";
            return refuse(
                &request,
                Denial::new(StatusCode::BAD_REQUEST, "host", message),
            );
        }
        Err(Forbidden::Host(_) | Forbidden::RepeatedHost) => {
            "the host is not allowed: add it to `admin.hosts`"
        }
        Err(Forbidden::Origin | Forbidden::RepeatedOrigin) => {
            "the origin of the request is not allowed here"
        }
    };
    refuse(&request, Denial::forbidden("host", message))
}

/// Rejects requests from other web pages to the API, and all other requests with effects from other web pages. A page
/// on another port of the same host is another page, although the browser sends it the same cookies.
pub(super) async fn require_same_origin(
    State(admin): State<Admin>,
    request: Request,
    next: Next,
) -> Response {
    let is_guarded = is_api(request.uri()) || !is_read(&request);
    if !is_guarded || is_same_origin(request.headers(), request.uri(), &admin.0.hosts) {
        return next.run(request).await;
    }
    let message = "the request comes from another web page";
    refuse(&request, Denial::forbidden("cross-site", message))
}

/// Rejects methods that the path does not have. For the API, rejects only methods that no path of the API has.
pub(super) async fn require_method(request: Request, next: Next) -> Response {
    let is_read = is_read(&request);
    let is_post = request.method() == Method::POST;
    let (is_allowed, allow, advice) = match request.uri().path() {
        reload::PATH | forget::PATH => (is_post, "POST", "use POST"),
        path if path.starts_with(API) => (
            is_read || is_post,
            "GET, HEAD, POST",
            "use GET, HEAD or POST",
        ),
        _ => (is_read, "GET, HEAD", "use GET or HEAD"),
    };
    if is_allowed {
        return next.run(request).await;
    }
    method_not_allowed(allow, advice)
}

fn method_not_allowed(allow: &'static str, advice: &str) -> Response {
    let response = text(StatusCode::METHOD_NOT_ALLOWED, advice.into());
    ([(ALLOW, allow)], response).into_response()
}

/// Rejects requests without a credential, if one is configured.
pub(super) async fn require_credential(
    State(admin): State<Admin>,
    request: Request,
    next: Next,
) -> Response {
    let authentication = &admin.0.authentication;
    if !authentication.requires_credential() {
        return next.run(request).await;
    }
    match authentication.by_header(head(&request)).await {
        Ok(_) => next.run(request).await,
        Err(denied) => Denial::from(denied).text(),
    }
}

/// Whether the request has a credential, if one is required.
pub(super) async fn is_authorized(admin: &Admin, head: Head<'_>) -> bool {
    let authentication = &admin.0.authentication;
    !authentication.requires_credential() || authentication.by_header(head).await.is_ok()
}

/// Rejects requests to the API that are not from an operator. Adds the [`Operator`] to requests of operators.
pub(super) async fn require_operator(
    State(admin): State<Admin>,
    mut request: Request,
    next: Next,
) -> Response {
    let authentication = &admin.0.authentication;
    let operator = match authentication.operator(head(&request)).await {
        Ok(operator) => operator,
        Err(denied) => return Denial::from(denied).json(&authentication.kinds()),
    };
    if !is_read(&request)
        && let Err(denied) = authentication.check_csrf(&operator, request.headers())
    {
        return Denial::from(denied).json(&authentication.kinds());
    }
    request.extensions_mut().insert(operator.clone());
    end_with_credential(next.run(request).await, &admin, operator)
}

/// Rejects requests of operators that may not see the catalog and may not read resources.
pub(super) async fn require_reader(
    State(admin): State<Admin>,
    request: Request,
    next: Next,
) -> Response {
    let operator = request.extensions().get::<Operator>();
    if operator.is_some_and(|operator| admin.0.authentication.may_read(operator)) {
        return next.run(request).await;
    }
    let message = "the MCP endpoint requires a credential for this, so the admin address does as well: configure \
                   `admin.token` or `admin.scope`, and log in";
    Denial::forbidden("forbidden", message).json(&[])
}

/// Rejects requests of operators that may not approve.
pub(super) async fn require_approver(request: Request, next: Next) -> Response {
    if request
        .extensions()
        .get::<Operator>()
        .is_some_and(Operator::may_approve)
    {
        return next.run(request).await;
    }
    let message = "any process of this machine can send requests without a credential, so they cannot approve: \
                   configure `admin.token` or `admin.scope`, or run `larder approve` on the machine of the server";
    Denial::forbidden("forbidden", message).json(&[])
}

/// Ends a stream when the credential ends.
fn end_with_credential(response: Response, admin: &Admin, operator: Operator) -> Response {
    if !is_event_stream(&response) {
        return response;
    }
    let admin = admin.clone();
    let end = async move { wait_for_end(|| admin.0.authentication.is_current(&operator)).await };
    response.map(|body| Body::from_stream(body.into_data_stream().take_until(Box::pin(end))))
}

fn is_event_stream(response: &Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
}

fn is_api(uri: &Uri) -> bool {
    uri.path().starts_with(API)
}

fn is_read(request: &Request) -> bool {
    matches!(*request.method(), Method::GET | Method::HEAD)
}

fn refuse(request: &Request, denial: Denial) -> Response {
    if is_api(request.uri()) {
        denial.json(&[])
    } else {
        denial.text()
    }
}

/// Whether the headers of a browser show that a page of this server sent the request. Other clients do not send these
/// headers. Behind a proxy, the page has another origin than the server: then the origin is one of the configured
/// `hosts`.
fn is_same_origin(headers: &HeaderMap, uri: &Uri, hosts: &[String]) -> bool {
    let host = requested_host(headers, uri);
    let is_own = |origin: &HeaderValue| {
        origin_authority(origin).is_some_and(|authority| is_own_host(authority, host, hosts))
    };
    is_from_own_site(headers) && headers.get_all(ORIGIN).iter().all(is_own)
}

fn is_from_own_site(headers: &HeaderMap) -> bool {
    let mut sites = headers.get_all(FETCH_SITE).iter();
    sites.all(|site| site == "same-origin" || site == "none")
}

fn requested_host<'a>(headers: &'a HeaderMap, uri: &'a Uri) -> Option<&'a str> {
    let host = uri.authority().map(|authority| authority.as_str());
    host.or_else(|| headers.get(HOST)?.to_str().ok())
}

fn origin_authority(origin: &HeaderValue) -> Option<&str> {
    let origin = origin.to_str().ok()?;
    origin
        .strip_prefix("http://")
        .or_else(|| origin.strip_prefix("https://"))
}

fn is_own_host(authority: &str, requested: Option<&str>, configured: &[String]) -> bool {
    let configured = configured.iter().map(String::as_str);
    let mut own = requested.into_iter().chain(configured);
    own.any(|own| own.eq_ignore_ascii_case(authority))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognizes_requests_of_its_own_page() {
        let check = |pairs: &[(&'static str, &str)]| {
            let headers = pairs
                .iter()
                .map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap()));
            is_same_origin(
                &headers.collect(),
                &Uri::from_static("/api/x"),
                &["admin.example".to_owned()],
            )
        };
        let host = ("host", "localhost:7879");
        assert!(check(&[host]), "not a browser");
        assert!(check(&[
            host,
            ("origin", "http://localhost:7879"),
            ("sec-fetch-site", "same-origin")
        ]));
        assert!(
            check(&[host, ("origin", "https://Admin.example")]),
            "behind a proxy"
        );
        for (origin, site) in [
            ("http://localhost:3000", "same-site"),
            ("http://localhost:7879", "same-site"),
            ("http://localhost:7879", "cross-site"),
            ("http://localhost:3000", "none"),
            ("http://localhost", "none"),
            ("null", "none"),
            ("localhost:7879", "none"),
            ("http://admin.example.evil.example", "none"),
        ] {
            assert!(
                !check(&[host, ("origin", origin), ("sec-fetch-site", site)]),
                "{origin} {site}"
            );
        }
        assert!(!check(&[host, ("sec-fetch-site", "cross-site")]));
    }
}
