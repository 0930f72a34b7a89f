//! Errors of HTTP requests.

use std::error::Error as _;

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
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    let why = match (error.source(), cause.downcast_ref::<std::io::Error>()) {
        (_, Some(io)) if io.kind() == std::io::ErrorKind::ConnectionRefused => {
            "connection refused".into()
        }
        _ if error.is_timeout() => "no answer in time".into(),
        _ => cause.to_string(),
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

/// If an error was caused by a rejected certificate: why the certificate was rejected.
fn certificate_error(error: &reqwest::Error) -> Option<String> {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = error.source();
    while let Some(error) = cause {
        // The source of an I/O error is the source of the inner error, not the inner error itself.
        let inner = error
            .downcast_ref::<std::io::Error>()
            .and_then(std::io::Error::get_ref);
        let tls = error
            .downcast_ref()
            .or_else(|| inner.and_then(|inner| inner.downcast_ref()));
        if let Some(rustls::Error::InvalidCertificate(error)) = tls {
            return Some(explain(error));
        }
        cause = inner
            .map(|inner| inner as &(dyn std::error::Error + 'static))
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
