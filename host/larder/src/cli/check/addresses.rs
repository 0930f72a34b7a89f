//! Checks the addresses on which a server would listen. The check connects to the addresses. It does not listen on
//! them, because that could make the start of a real server fail.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::path::Path;
use std::time::Duration;

use larder_config::Config;
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
    let other = match (&of(config)[..], &sockets(config)[..]) {
        ([(_, endpoint), (_, admin)], _) if endpoint == admin && endpoint.port() != 0 => "port",
        (_, [(_, _, endpoint), (_, _, admin)]) if endpoint == admin => "path",
        _ => return report,
    };
    let fault =
        format!("admin.listen: is the address of `server.listen` too: choose another {other}");
    report.faults.push(fault);
    report
}

/// Returns both addresses, with their keys.
fn all(config: &Config) -> impl Iterator<Item = (&'static str, &ListenAddress)> {
    let admin = config
        .admin
        .listen
        .as_ref()
        .map(|listen| ("admin.listen", listen));
    [("server.listen", &config.endpoint.listen)]
        .into_iter()
        .chain(admin)
}

/// Returns the IP addresses of a configuration, with their keys.
pub(super) fn of(config: &Config) -> Vec<(&'static str, SocketAddr)> {
    let addresses = all(config).filter_map(|(key, listen)| match listen {
        ListenAddress::Tcp(address) => Some((key, *address)),
        ListenAddress::Unix { .. } => None,
    });
    addresses.collect()
}

/// Returns the Unix sockets of a configuration, with their keys and paths.
pub(super) fn sockets(config: &Config) -> Vec<(&'static str, &ListenAddress, &Path)> {
    let sockets = all(config).filter_map(|(key, listen)| match listen {
        ListenAddress::Tcp(_) => None,
        ListenAddress::Unix { path, .. } => Some((key, listen, path.as_path())),
    });
    sockets.collect()
}

/// Whether a server can listen on an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AddressUse {
    Free,
    InUse,
    /// The address does not belong to this machine.
    NotHere,
}

/// Determines whether a server can listen on an address.
pub(super) fn find_use(address: SocketAddr) -> AddressUse {
    // A bind succeeds only with an address of this machine, so any port is suitable.
    if UdpSocket::bind((address.ip(), 0)).is_err() {
        return AddressUse::NotHere;
    }
    if is_in_use(address) {
        AddressUse::InUse
    } else {
        AddressUse::Free
    }
}

fn is_in_use(address: SocketAddr) -> bool {
    address.port() != 0 && TcpStream::connect_timeout(&reachable(address), TIMEOUT).is_ok()
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
