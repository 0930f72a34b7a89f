//! Addresses to listen on.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use serde::de::Error;
use serde::{Deserialize, Deserializer};

use super::Scalar;
use larder_mcp::ListenAddress;

/// An address of the endpoint: an IP address and a port, or a Unix socket.
#[derive(Debug, Clone)]
pub(crate) struct Listen(pub(crate) ListenAddress);

impl<'de> Deserialize<'de> for Listen {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Scalar::deserialize(deserializer)?.0;
        parse_listen_address(&text)
            .map(Self)
            .map_err(D::Error::custom)
    }
}

/// The permissions of the file of a Unix socket, in octal: `0660`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SocketMode(pub(crate) u32);

impl<'de> Deserialize<'de> for SocketMode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // A TOML number without quotes would be read as decimal.
        let text = String::deserialize(deserializer)?;
        let mode = u32::from_str_radix(&text, 8)
            .ok()
            .filter(|mode| *mode <= 0o777);
        mode.map(Self).ok_or_else(|| {
            D::Error::custom(format!(
                "`{text}` is not a file mode: write it in octal, such as \"0660\""
            ))
        })
    }
}

/// An admin address, or `None` for `off`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdminAddress(pub Option<ListenAddress>);

impl<'de> Deserialize<'de> for AdminAddress {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        parse_admin_address(&Scalar::deserialize(deserializer)?.0).map_err(D::Error::custom)
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
        let authority = text
            .split_once("://")
            .map_or(text.as_str(), |(_, rest)| rest);
        let name = authority
            .split(['/', '?', '#'])
            .next()
            .filter(|name| is_server_name(name));
        Err(D::Error::custom(format!(
            "`{text}` never equals a Host header: write a name without a scheme, a path or `*`, such as \"{}\"",
            name.unwrap_or("docs.example.com")
        )))
    }
}

fn is_server_name(text: &str) -> bool {
    let is_port = |text: &str| text.parse::<u16>().is_ok();
    if let Some((ip, port)) = text.strip_prefix('[').and_then(|text| text.split_once(']')) {
        return ip.parse::<Ipv6Addr>().is_ok()
            && (port.is_empty() || port.strip_prefix(':').is_some_and(is_port));
    }
    let (name, port) = text
        .split_once(':')
        .map_or((text, None), |(name, port)| (name, Some(port)));
    !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
        && port.is_none_or(is_port)
}

/// The origin of a web page: `https://app.example.com`.
#[derive(Debug, Clone)]
pub(crate) struct Origin(pub(crate) String);

impl<'de> Deserialize<'de> for Origin {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Scalar::deserialize(deserializer)?.0;
        let authority = text
            .split_once("://")
            .map(|(_, rest)| rest.strip_suffix('/').unwrap_or(rest));
        let is_origin = authority.is_some_and(|authority| {
            !authority.is_empty()
                && authority
                    .chars()
                    .all(|c| c.is_ascii_graphic() && !"/?#@*".contains(c))
        });
        if is_origin || text == "null" {
            Ok(Self(text))
        } else {
            Err(D::Error::custom(format!(
                "`{text}` never equals an Origin header: list each origin with its scheme, and without a path or \
                 `*`, such as \"https://app.example.com\""
            )))
        }
    }
}

/// The permissions of the file of a Unix socket: only the user who runs the server can connect.
const DEFAULT_SOCKET_MODE: u32 = 0o600;

/// Parses an address to listen on: an IP address and a port, or `unix:` and a path.
pub fn parse_listen_address(text: &str) -> Result<ListenAddress, String> {
    match text.strip_prefix("unix:") {
        Some("") => {
            Err("the path of the Unix socket is missing: write \"unix:/run/larder.sock\"".into())
        }
        Some(path) => Ok(ListenAddress::Unix {
            path: path.into(),
            mode: DEFAULT_SOCKET_MODE,
        }),
        None => parse_socket_address(text)
            .map(ListenAddress::Tcp)
            .map_err(|error| {
                format!("{error}, or a Unix socket, such as \"unix:/run/larder.sock\"")
            }),
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
    let local = text
        .strip_prefix("localhost:")
        .and_then(|port| port.parse::<u16>().ok());
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
