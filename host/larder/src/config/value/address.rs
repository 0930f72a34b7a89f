//! Addresses to listen on.

use std::net::{Ipv4Addr, SocketAddr};

use serde::de::Error;
use serde::{Deserialize, Deserializer};

use super::Scalar;
use larder_mcp::ListenAddress;

/// An address of the endpoint: an IP address and a port, or a Unix socket.
#[derive(Debug, Clone)]
pub(in crate::config) struct Listen(pub(in crate::config) ListenAddress);

impl<'de> Deserialize<'de> for Listen {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Scalar::deserialize(deserializer)?.0;
        parse_listen_address(&text).map(Self).map_err(D::Error::custom)
    }
}

/// The permissions of the file of a Unix socket, in octal: `0660`.
#[derive(Debug, Clone, Copy)]
pub(in crate::config) struct SocketMode(pub(in crate::config) u32);

impl<'de> Deserialize<'de> for SocketMode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // A TOML number without quotes would be decimal.
        let text = String::deserialize(deserializer)?;
        let mode = u32::from_str_radix(&text, 8).ok().filter(|mode| *mode <= 0o777);
        mode.map(Self).ok_or_else(|| {
            D::Error::custom(format!("`{text}` is not a file mode: write it in octal, such as \"0660\""))
        })
    }
}

/// An address and a port to listen on, or `off`.
#[derive(Debug, Clone, Copy)]
pub(in crate::config) struct ListenOrOff(pub(in crate::config) Option<SocketAddr>);

impl<'de> Deserialize<'de> for ListenOrOff {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Scalar::deserialize(deserializer)?.0;
        if text == "off" {
            return Ok(Self(None));
        }
        parse_socket_address(&text)
            .map(|address| Self(Some(address)))
            .map_err(|why| D::Error::custom(format!("{why}, or \"off\"")))
    }
}

/// The permissions of the file of a Unix socket: only the user who runs the server can connect.
const DEFAULT_SOCKET_MODE: u32 = 0o600;

/// Parses an address of the endpoint: an IP address and a port, or `unix:` and a path.
pub(crate) fn parse_listen_address(text: &str) -> Result<ListenAddress, String> {
    match text.strip_prefix("unix:") {
        Some("") => Err("the path of the Unix socket is missing: write \"unix:/run/larder.sock\"".into()),
        Some(path) => Ok(ListenAddress::Unix { path: path.into(), mode: DEFAULT_SOCKET_MODE }),
        None => parse_socket_address(text)
            .map(ListenAddress::Tcp)
            .map_err(|error| format!("{error}, or a Unix socket, such as \"unix:/run/larder.sock\"")),
    }
}

/// Parses an IP address and a port. `localhost` means 127.0.0.1.
fn parse_socket_address(text: &str) -> Result<SocketAddr, String> {
    let local = text.strip_prefix("localhost:").and_then(|port| port.parse::<u16>().ok());
    match local {
        Some(port) => Ok((Ipv4Addr::LOCALHOST, port).into()),
        None => text.parse().map_err(|_| {
            format!("`{text}` is not an address: write an IP address and a port, such as \"127.0.0.1:7878\"")
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_addresses_of_the_endpoint() {
        let parse = |text| parse_listen_address(text).map(|address| address.to_string());
        assert_eq!(parse("localhost:80").as_deref(), Ok("127.0.0.1:80"));
        assert_eq!(parse("[::1]:80").as_deref(), Ok("[::1]:80"));
        assert_eq!(parse("unix:/run/larder.sock").as_deref(), Ok("unix:/run/larder.sock"));
        for bad in ["", "7878", "localhost", "example.com:80", "127.0.0.1:70000", "unix:", "/run/larder.sock"]
        {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
