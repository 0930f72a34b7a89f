//! The HTTP clients of one revision of a provider, which connect only to checked addresses.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::connect_timeout::{ConnectTimeoutLayer, with_connect_timeout};
use super::{RequestError, ResponseResult, request_error};
use crate::network::dns::DnsLookups;
use crate::network::resolved_addresses::NetworkScope;
use larder_model::policy::{HostAuth, Secret};

/// Maximum number of clients with certificates. Each has its own connections.
const MAX_CERTIFIED: usize = 16;

/// The clients of one revision of a provider. Nothing is shared with other providers, not even connections.
pub(super) struct HttpClients {
    timeout: Duration,
    lookups: Arc<DnsLookups>,
    /// One client per [`NetworkScope`], so that a connection to a private address is never used for a request that may
    /// only reach public addresses.
    clients: [OnceLock<Result<reqwest::Client, String>>; 2],
    /// One client per certificate, the oldest first.
    certified: Mutex<Vec<CertifiedClient>>,
}

/// A client whose connections have a client certificate.
struct CertifiedClient {
    auth: HostAuth,
    scope: NetworkScope,
    certificate: ClientCertificate,
    client: reqwest::Client,
}

/// A certificate and its private key in the format PEM.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct ClientCertificate {
    pub(super) key: Secret,
    /// None if `key` contains both.
    pub(super) certificate: Option<Secret>,
}

/// Sends a request. `connect_timeout` limits the time for connecting.
pub(super) async fn execute(
    client: &reqwest::Client,
    request: reqwest::Request,
    connect_timeout: Option<Duration>,
) -> ResponseResult {
    let response = with_connect_timeout(connect_timeout, client.execute(request)).await;
    response
        .map(Into::into)
        .map_err(|error| request_error(&error))
}

impl HttpClients {
    /// The time limit is for a whole exchange.
    pub(super) fn new(timeout: Duration, lookups: Arc<DnsLookups>) -> Self {
        Self {
            timeout,
            lookups,
            clients: [OnceLock::new(), OnceLock::new()],
            certified: Mutex::default(),
        }
    }

    /// The client for the addresses in this scope.
    pub(super) fn get(&self, scope: NetworkScope) -> Result<reqwest::Client, RequestError> {
        let client = self.clients[scope as usize].get_or_init(|| {
            let client = self.builder(scope).build();
            client.map_err(|error| format!("cannot set up TLS: {error}"))
        });
        client.clone().map_err(RequestError::Unreachable)
    }

    /// The client for the addresses in this scope with the current certificate of a credential, if it has one. A client
    /// with a replaced certificate is dropped, and its connections end with their requests.
    pub(super) fn for_auth(
        &self,
        auth: &HostAuth,
        scope: NetworkScope,
        certificate: Option<ClientCertificate>,
    ) -> Result<reqwest::Client, RequestError> {
        let Some(certificate) = certificate else {
            return self.get(scope);
        };
        let mut certified = self.certified.lock();
        let is_same = |one: &CertifiedClient| one.auth == *auth && one.scope == scope;
        if let Some(at) = certified.iter().position(is_same) {
            if certified[at].certificate == certificate {
                return Ok(certified[at].client.clone());
            }
            certified.remove(at);
        }
        let client = self.certified_client(auth, scope, &certificate)?;
        if certified.len() == MAX_CERTIFIED {
            certified.remove(0);
        }
        certified.push(CertifiedClient {
            auth: auth.clone(),
            scope,
            certificate,
            client: client.clone(),
        });
        Ok(client)
    }

    fn certified_client(
        &self,
        auth: &HostAuth,
        scope: NetworkScope,
        certificate: &ClientCertificate,
    ) -> Result<reqwest::Client, RequestError> {
        // The cause could contain a part of the key.
        let invalid = |_: reqwest::Error| {
            let names = auth.certificate.as_ref();
            let name = names.map_or("", |names| &names.key);
            RequestError::Denied(format!(
                "the secret `{name}` is not the private key of a client certificate, in the format PEM"
            ))
        };
        let identity = reqwest::Identity::from_pem(certificate.pem().as_bytes());
        let identity = identity.map_err(invalid)?;
        let builder = self.builder(scope).identity(identity);
        builder.build().map_err(invalid)
    }

    fn builder(&self, scope: NetworkScope) -> reqwest::ClientBuilder {
        larder_http::client_builder()
            .no_proxy()
            .timeout(self.timeout)
            .connector_layer(ConnectTimeoutLayer)
            .dns_resolver(Arc::new(Resolver {
                scope,
                lookups: self.lookups.clone(),
            }))
    }
}

impl ClientCertificate {
    fn pem(&self) -> String {
        let certificate = self.certificate.as_ref().map_or("", Secret::reveal);
        format!("{}\n{certificate}\n", self.key.reveal())
    }
}

/// Resolves host names. Addresses that are not public are removed, unless the request may reach them.
struct Resolver {
    scope: NetworkScope,
    lookups: Arc<DnsLookups>,
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let name = name.as_str().to_owned();
        let scope = self.scope;
        let lookups = self.lookups.clone();
        Box::pin(async move {
            let found = lookups.addresses(name.clone()).await?;
            let allowed = scope.check(&name, found)?;
            Ok(Box::new(allowed.into_iter()) as Addrs)
        })
    }
}
