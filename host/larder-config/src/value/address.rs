//! Addresses to listen on.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use serde::de::Error;
use serde::{Deserialize, Deserializer};

use super::{Scalar, parse_scalar};
use larder_mcp::ListenAddress;

/// An address of the endpoint: an IP address and a port, or a Unix socket.
#[derive(Debug, Clone)]
pub(crate) struct Listen(pub(crate) ListenAddress);

impl<'de> Deserialize<'de> for Listen {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        parse_scalar(deserializer, parse_listen_address).map(Self)
    }
}

/// The permissions of the file of a Unix socket, in octal: `0660`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SocketMode(pub(crate) u32);

impl<'de> Deserialize<'de> for SocketMode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // A TOML number without quotes would be read as decimal.
        let text = String::deserialize(deserializer)?;
        parse_mode(&text).map(Self).ok_or_else(|| {
            D::Error::custom(format!(
                "`{text}` is not a file mode: write it in octal, such as \"0660\""
            ))
        })
    }
}

fn parse_mode(text: &str) -> Option<u32> {
    u32::from_str_radix(text, 8)
        .ok()
        .filter(|mode| *mode <= 0o777)
}

/// An admin address, or `None` for `off`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdminAddress(pub Option<ListenAddress>);

impl<'de> Deserialize<'de> for AdminAddress {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        parse_scalar(deserializer, parse_admin_address)
    }
}

/// The URL of a server.
#[derive(Debug, Clone)]
pub(crate) struct ServerUrl(pub(crate) String);

impl<'de> Deserialize<'de> for ServerUrl {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Scalar::deserialize(deserializer)?.0;
        let after = |scheme| {
            text.strip_prefix(scheme)
                .filter(|rest: &&str| !rest.is_empty())
        };
        let authority = after("http://").or_else(|| after("https://"));
        if authority.is_some_and(|rest| !rest.starts_with('/')) || after("unix:").is_some() {
            Ok(Self(text))
        } else {
            Err(D::Error::custom(format!(
                "`{text}` is not the URL of a server: write one such as \"http://127.0.0.1:7878/mcp\""
            )))
        }
    }
}

/// A name with which clients reach the server, with or without a port: `docs.example.com`.
#[derive(Debug, Clone)]
pub(crate) struct ServerName(pub(crate) String);

impl<'de> Deserialize<'de> for ServerName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Scalar::deserialize(deserializer)?.0;
        if is_server_name(&text) {
            return Ok(Self(text));
        }
        Err(D::Error::custom(format!(
            "`{text}` never equals a Host header: write a name without a scheme, a path or `*`, such as \"{}\"",
            name_in_url(&text).unwrap_or("docs.example.com")
        )))
    }
}

fn name_in_url(text: &str) -> Option<&str> {
    let authority = text.split_once("://").map_or(text, |(_, rest)| rest);
    let name = authority.split(['/', '?', '#']).next();
    name.filter(|name| is_server_name(name))
}

fn is_server_name(text: &str) -> bool {
    let bracketed = text.strip_prefix('[').and_then(|text| text.split_once(']'));
    match bracketed {
        Some((ip, port)) => ip.parse::<Ipv6Addr>().is_ok() && is_port_suffix(port),
        None => is_name_with_port(text),
    }
}

fn is_name_with_port(text: &str) -> bool {
    match text.split_once(':') {
        Some((name, port)) => is_name(name) && is_port(port),
        None => is_name(text),
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

/// Whether the text is empty, or a colon and a port.
fn is_port_suffix(text: &str) -> bool {
    text.is_empty() || text.strip_prefix(':').is_some_and(is_port)
}

fn is_port(text: &str) -> bool {
    text.parse::<u16>().is_ok()
}

/// The origin of a web page: `https://app.example.com`.
#[derive(Debug, Clone)]
pub(crate) struct Origin(pub(crate) String);

impl<'de> Deserialize<'de> for Origin {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Scalar::deserialize(deserializer)?.0;
        if is_origin(&text) || text == "null" {
            Ok(Self(text))
        } else {
            Err(D::Error::custom(format!(
                "`{text}` never equals an Origin header: list each origin with its scheme, and without a path or \
                 `*`, such as \"https://app.example.com\""
            )))
        }
    }
}

fn is_origin(text: &str) -> bool {
    text.split_once("://")
        .map(|(_, rest)| rest.strip_suffix('/').unwrap_or(rest))
        .is_some_and(is_authority)
}

fn is_authority(text: &str) -> bool {
    !text.is_empty()
        && text
            .chars()
            .all(|c| c.is_ascii_graphic() && !"/?#@*".contains(c))
}

/// The permissions of the file of a Unix socket: only the user who runs the server can connect.
const DEFAULT_SOCKET_MODE: u32 = 0o600;

/// Parses an address to listen on: an IP address and a port, or `unix:` and a path.
pub fn parse_listen_address(text: &str) -> Result<ListenAddress, String> {
    match text.strip_prefix("unix:") {
        Some("") => {
            Err("the path of the Unix socket is missing: write \"unix:/run/larder.sock\"".into())
        }
        Some(path) => Ok(unix_socket(path)),
        None => parse_socket_address(text)
            .map(ListenAddress::Tcp)
            .map_err(|error| {
                format!("{error}, or a Unix socket, such as \"unix:/run/larder.sock\"")
            }),
    }
}

fn unix_socket(path: &str) -> ListenAddress {
    ListenAddress::Unix {
        path: path.into(),
        mode: DEFAULT_SOCKET_MODE,
    }
}

/// Parses the admin address: an address to listen on, or `off`.
pub fn parse_admin_address(text: &str) -> Result<AdminAddress, String> {
    match text {
        "off" => Ok(AdminAddress(None)),
        _ => parse_listen_address(text)
            .map(|address| AdminAddress(Some(address)))
            .map_err(|error| format!("{error}, or \"off\"")),
    }
}

/// Parses an IP address and a port. `localhost` means 127.0.0.1.
fn parse_socket_address(text: &str) -> Result<SocketAddr, String> {
    if let Some(address) = parse_localhost(text) {
        return Ok(address);
    }
    text.parse().map_err(|_| {
        format!(
            "`{text}` is not an address: write an IP address and a port, such as \"127.0.0.1:7878\""
        )
    })
}

fn parse_localhost(text: &str) -> Option<SocketAddr> {
    let port = text.strip_prefix("localhost:")?;
    let port: u16 = port.parse().ok()?;
    Some((Ipv4Addr::LOCALHOST, port).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_addresses_of_the_endpoint() {
        let parse = |text| parse_listen_address(text).map(|address| address.to_string());
        assert_eq!(parse("localhost:80").as_deref(), Ok("127.0.0.1:80"));
        assert_eq!(parse("[::1]:80").as_deref(), Ok("[::1]:80"));
        assert_eq!(
            parse("unix:/run/larder.sock").as_deref(),
            Ok("unix:/run/larder.sock")
        );
        for bad in [
            "",
            "7878",
            "localhost",
            "example.com:80",
            "127.0.0.1:70000",
            "unix:",
            "/run/larder.sock",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn accepts_only_names_that_a_host_header_can_have() {
        for good in [
            "docs.example.com",
            "docs:8080",
            "10.0.0.1",
            "[::1]",
            "[::1]:80",
            "my_host",
        ] {
            assert!(is_server_name(good), "{good}");
        }
        for bad in [
            "",
            "*",
            "*.example.com",
            "https://docs.example.com",
            "docs/mcp",
            "docs:",
            "docs:x",
            "::1",
            "a b",
        ] {
            assert!(!is_server_name(bad), "{bad}");
        }
    }
}
