//! HTTP clients with the settings of a registry.

use std::time::Duration;

use larder_http::{client_builder, root_cause};
use reqwest::redirect::Policy;

use super::request::Kind;
use crate::Error;
use crate::access::{Access, Registry};

/// The maximum number of redirections of one request.
const MAX_REDIRECTS: usize = 5;
/// How long a connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The name of this client in requests.
const USER_AGENT: &str = concat!("larder/", env!("CARGO_PKG_VERSION"));

/// The clients for one registry.
#[derive(Debug, Clone)]
pub(super) struct HttpClients {
    /// Follows redirects, because registries store content at other addresses.
    pub(super) following: reqwest::Client,
    /// Follows no redirects, because these requests contain a secret or an upload.
    pub(super) direct: reqwest::Client,
}

impl HttpClients {
    pub(super) fn new(name: &str, registry: &Registry, access: &Access) -> Result<Self, Error> {
        let is_plain = registry.plain_http;
        let redirects = Policy::custom(move |attempt| match attempt.previous().len() {
            count if count > MAX_REDIRECTS => attempt.error("it redirects too often"),
            _ if !is_plain && attempt.url().scheme() != "https" => {
                attempt.error("it redirects to plain HTTP")
            }
            _ => attempt.follow(),
        });
        Ok(Self {
            following: client(name, registry, access, redirects)?,
            direct: client(name, registry, access, Policy::none())?,
        })
    }

    pub(super) fn for_request(self, kind: &Kind<'_>) -> reqwest::Client {
        if kind.follows_redirects() {
            self.following
        } else {
            self.direct
        }
    }
}

/// Returns a client with the settings of a registry.
fn client(
    name: &str,
    registry: &Registry,
    access: &Access,
    redirects: Policy,
) -> Result<reqwest::Client, Error> {
    let failed = |cause: String| Error::Settings {
        registry: name.to_owned(),
        cause,
    };
    let mut builder = client_builder()
        .user_agent(USER_AGENT)
        .connect_timeout(CONNECT_TIMEOUT.min(access.limits.stall))
        .https_only(!registry.plain_http)
        .referer(false)
        .redirect(redirects);
    if let Some(proxy) = &registry.proxy {
        // The error may contain the credentials of the proxy.
        let proxy = reqwest::Proxy::all(proxy.reveal())
            .map_err(|_| failed("the proxy is no URL".into()))?;
        builder = builder.proxy(proxy);
    }
    if let Some(pem) = &registry.ca {
        builder = builder.tls_certs_merge(certificates(pem).map_err(failed)?);
    }
    builder.build().map_err(|error| failed(root_cause(&error)))
}

fn certificates(pem: &str) -> Result<Vec<reqwest::Certificate>, String> {
    let certificates = reqwest::Certificate::from_pem_bundle(pem.as_bytes());
    match certificates {
        Ok(certificates) if certificates.is_empty() => {
            Err("its `ca` contains no certificate".into())
        }
        Ok(certificates) => Ok(certificates),
        Err(error) => Err(format!("its `ca`: {}", root_cause(&error))),
    }
}

pub(super) fn unavailable(registry: &str, error: &reqwest::Error) -> Error {
    Error::unavailable(registry, root_cause(error))
}
