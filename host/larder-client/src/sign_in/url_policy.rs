//! Which URLs are used of those that a server names. A server on the Internet must not make this client send requests
//! to machines of a private network, and no token is requested or sent without encryption.

use std::error::Error;
use std::net::{IpAddr, SocketAddr};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

use super::error::SignInError;

const PRIVATE: &str =
    "its address is in a private network, and the server that names the URL is public";

/// Whether an IP address belongs to the public network.
pub type IsPublicAddress = fn(IpAddr) -> bool;

/// The rules for the URLs that one server names.
#[derive(Clone, Copy)]
pub(super) struct UrlPolicy {
    is_public: IsPublicAddress,
    /// Whether URLs must not lead to private addresses.
    only_public: bool,
    /// Whether URLs of this machine need no TLS.
    allows_local_http: bool,
    /// Whether no URL needs TLS.
    allows_http: bool,
}

impl UrlPolicy {
    /// Returns the rules for the URLs that this server names. A server whose name cannot be resolved here is reached
    /// through a proxy, and counts as public.
    pub(super) async fn of_server(
        server: &Url,
        is_public: IsPublicAddress,
        insecure: bool,
    ) -> Self {
        let addresses = addresses_of(server).await;
        Self {
            is_public,
            only_public: addresses.is_empty() || addresses.into_iter().any(is_public),
            allows_local_http: is_this_machine(server),
            allows_http: insecure,
        }
    }

    /// Parses a URL that a server named.
    pub(super) fn parse(&self, text: &str) -> Result<Url, SignInError> {
        let bad = |reason| SignInError::url(text, reason);
        let url = Url::parse(text).map_err(|_| bad("it is not a URL"))?;
        if !self.is_secure(&url) {
            return Err(bad("it must begin with https://"));
        }
        if has_user(&url) || url.fragment().is_some() {
            return Err(bad("it must not contain a user or a fragment"));
        }
        if ip_of(&url).is_some_and(|address| !self.allows(address)) {
            return Err(bad(PRIVATE));
        }
        Ok(url)
    }

    fn is_secure(&self, url: &Url) -> bool {
        match url.scheme() {
            "https" => true,
            "http" => self.allows_http || (self.allows_local_http && is_this_machine(url)),
            _ => false,
        }
    }

    /// Returns a resolver that refuses the addresses that this host must not have.
    pub(super) fn resolver(self, url: &Url) -> HostResolver {
        let host = url.host_str().unwrap_or_default().to_owned();
        HostResolver { policy: self, host }
    }

    fn allows(&self, address: IpAddr) -> bool {
        !self.only_public || (self.is_public)(address)
    }

    fn allows_all(&self, addresses: &[SocketAddr]) -> bool {
        addresses.iter().all(|address| self.allows(address.ip()))
    }
}

fn has_user(url: &Url) -> bool {
    !url.username().is_empty() || url.password().is_some()
}

/// Resolves the names of one client. The name of a proxy is not checked, because the user configured the proxy.
pub(super) struct HostResolver {
    policy: UrlPolicy,
    host: String,
}

impl Resolve for HostResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let name = name.as_str().to_owned();
        let policy = (name == self.host).then_some(self.policy);
        Box::pin(async move { lookup(&name, policy).await })
    }
}

async fn lookup(
    name: &str,
    policy: Option<UrlPolicy>,
) -> Result<Addrs, Box<dyn Error + Send + Sync>> {
    let found: Vec<SocketAddr> = tokio::net::lookup_host((name, 0)).await?.collect();
    if policy.is_some_and(|policy| !policy.allows_all(&found)) {
        return Err(PRIVATE.into());
    }
    Ok(Box::new(found.into_iter()))
}

/// Whether the URL leads to this machine.
pub(crate) fn is_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        _ => ip_of(url).is_some_and(|address| address.is_loopback()),
    }
}

fn ip_of(url: &Url) -> Option<IpAddr> {
    match url.host()? {
        Host::Ipv4(address) => Some(address.into()),
        Host::Ipv6(address) => Some(address.into()),
        Host::Domain(_) => None,
    }
}

async fn addresses_of(url: &Url) -> Vec<IpAddr> {
    if let Some(address) = ip_of(url) {
        return vec![address];
    }
    let name = url.host_str().unwrap_or_default();
    match tokio::net::lookup_host((name, 0)).await {
        Ok(found) => found.map(|address| address.ip()).collect(),
        Err(_) => Vec::new(),
    }
}
