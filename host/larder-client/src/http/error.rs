//! Errors of HTTP requests.

use std::error::Error;
use std::io;

use reqwest::{StatusCode, Url};

use crate::error::ClientError;

pub(super) fn request_error(url: &Url, error: &reqwest::Error) -> ClientError {
    if error.is_timeout() && !error.is_connect() {
        return ClientError::TimedOut(url.to_string());
    }
    if let Some(why) = certificate_error(error) {
        return ClientError::Certificate {
            url: url.to_string(),
            why,
        };
    }
    // Users understand the innermost cause.
    let cause = innermost_cause(error);
    let why = if is_refused_connection(cause) {
        "connection refused".into()
    } else if error.is_timeout() {
        "no answer in time".into()
    } else {
        cause.to_string()
    };
    if error.is_connect() || error.is_builder() || error.is_request() {
        ClientError::Unreachable {
            url: url.to_string(),
            why,
        }
    } else {
        ClientError::Closed
    }
}

fn innermost_cause<'a>(error: &'a (dyn Error + 'static)) -> &'a (dyn Error + 'static) {
    let mut cause = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause
}

fn is_refused_connection(cause: &(dyn Error + 'static)) -> bool {
    let error = cause.downcast_ref::<io::Error>();
    error.is_some_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}

/// If an error was caused by a rejected certificate: why the certificate was rejected.
fn certificate_error(error: &reqwest::Error) -> Option<String> {
    let mut cause: Option<&(dyn Error + 'static)> = error.source();
    while let Some(error) = cause {
        // The source of an I/O error is the source of the inner error, not the inner error itself.
        let inner = error
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref);
        let tls = error
            .downcast_ref()
            .or_else(|| inner.and_then(|inner| inner.downcast_ref()));
        if let Some(rustls::Error::InvalidCertificate(error)) = tls {
            return Some(explain(error));
        }
        cause = inner
            .map(|inner| inner as &(dyn Error + 'static))
            .or_else(|| error.source());
    }
    None
}

fn explain(error: &rustls::CertificateError) -> String {
    match error {
        rustls::CertificateError::UnknownIssuer => {
            "it is self-signed, or signed by an authority that this system does not know; if it is the right \
             server, give that certificate, or the one of the authority, with `--ca FILE`"
                .into()
        }
        other if format!("{other:?}").contains("CaUsedAsEndEntity") => {
            "it is the certificate of an authority (CA:TRUE), which a server must not use for itself: sign \
             another one with it, or create it with `basicConstraints = CA:FALSE`"
                .into()
        }
        other => other.to_string(),
    }
}

/// The probable cause of an HTTP status without a JSON-RPC message.
pub(super) fn status_hint(status: StatusCode, location: Option<&str>) -> String {
    match (status, location) {
        (_, Some(to)) if status.is_redirection() => {
            format!("it has moved; try --url {}", to.escape_debug())
        }
        (StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED, _) => {
            "there is no MCP endpoint at this path; the path of a Larder server is /mcp".into()
        }
        (StatusCode::FORBIDDEN, _) => {
            "it refuses this client; is the host name in the server's `hosts`?".into()
        }
        (status, _) if status.is_server_error() => "the server failed; see its log".into(),
        _ => "there is no MCP endpoint at this URL; is the URL right?".into(),
    }
}
