//! Checks the addresses on which a server would listen. It connects to them instead of listening on them, which could
//! make the start of a real server fail.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::time::Duration;

use crate::config::Config;
use larder_mcp::ListenAddress;

/// How long a connection to an address of this machine may take.
const TIMEOUT: Duration = Duration::from_millis(500);

/// What was found about the addresses.
#[derive(Debug, Default)]
pub(super) struct AddressReport {
    pub(super) faults: Vec<String>,
    pub(super) warnings: Vec<String>,
}

/// Checks both addresses of a configuration.
pub(super) fn examine(config: &Config) -> AddressReport {
    let mut report = AddressReport::default();
    for (key, address) in of(config) {
        report.check(key, address);
    }
    let endpoint = endpoint_address(config);
    if endpoint.is_some_and(|endpoint| endpoint.port() != 0 && config.admin.listen == Some(endpoint)) {
        report.faults.push("admin.listen: is the address of `server.listen` too: choose another port".into());
    }
    report
}

/// Returns the addresses of a configuration, with their keys.
pub(super) fn of(config: &Config) -> Vec<(&'static str, SocketAddr)> {
    let addresses = [("server.listen", endpoint_address(config)), ("admin.listen", config.admin.listen)];
    addresses.into_iter().filter_map(|(key, address)| Some((key, address?))).collect()
}

fn endpoint_address(config: &Config) -> Option<SocketAddr> {
    match &config.endpoint.listen {
        ListenAddress::Tcp(address) => Some(*address),
        ListenAddress::Unix { .. } => None,
    }
}

/// Whether a server can listen on an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AddressUse {
    Free,
    InUse,
    /// It is not an address of this machine.
    NotHere,
}

/// Determines whether a server can listen on an address.
pub(super) fn find_use(address: SocketAddr) -> AddressUse {
    // Only an address of this machine can be bound, and any port will do.
    if UdpSocket::bind((address.ip(), 0)).is_err() {
        return AddressUse::NotHere;
    }
    let is_in_use = address.port() != 0 && TcpStream::connect_timeout(&reachable(address), TIMEOUT).is_ok();
    if is_in_use { AddressUse::InUse } else { AddressUse::Free }
}

impl AddressReport {
    fn check(&mut self, key: &str, address: SocketAddr) {
        match find_use(address) {
            AddressUse::Free => {}
            AddressUse::InUse => self.warnings.push(format!(
                "{key}: {address} is in use: by a server that runs already, or by another program; a server cannot start there now"
            )),
            AddressUse::NotHere => self.faults.push(format!(
                "{key}: {} is not an address of this machine: write one that it has, or 0.0.0.0 for all",
                address.ip()
            )),
        }
    }
}

/// Returns the address to connect to.
fn reachable(listen: SocketAddr) -> SocketAddr {
    let ip: IpAddr = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, listen.port())
}
