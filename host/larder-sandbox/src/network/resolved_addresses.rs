//! The addresses of granted hosts, for HTTP requests and for TCP connections. The host resolves a name once and checks
//! every address, and guests can only connect to checked addresses.

use std::net::{IpAddr, SocketAddr};

use larder_model::address::is_public;

/// Which addresses a guest may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NetworkScope {
    Public,
    Private,
}

/// The name has only addresses that the guest may not reach.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{name}` resolves to {address}, an address inside this network; its operator can allow it with `private = true`"
)]
pub(crate) struct PrivateAddress {
    name: String,
    address: IpAddr,
}

impl NetworkScope {
    /// The scope of a rule with or without `private`.
    pub(super) fn of_rule(private: bool) -> Self {
        if private { Self::Private } else { Self::Public }
    }

    pub(super) fn allows(self, address: IpAddr) -> bool {
        self == Self::Private || is_public(address)
    }

    /// Removes the addresses of a name that are outside of this scope.
    pub(super) fn check(
        self,
        name: &str,
        found: Vec<SocketAddr>,
    ) -> Result<Vec<SocketAddr>, PrivateAddress> {
        let denied = found
            .iter()
            .map(SocketAddr::ip)
            .find(|address| !self.allows(*address));
        let allowed: Vec<_> = found
            .into_iter()
            .filter(|found| self.allows(found.ip()))
            .collect();
        match denied {
            Some(address) if allowed.is_empty() => Err(PrivateAddress {
                name: name.to_owned(),
                address,
            }),
            _ => Ok(allowed),
        }
    }
}
