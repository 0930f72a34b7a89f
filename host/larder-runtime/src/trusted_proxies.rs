//! The address of a client behind a reverse proxy. The headers `Forwarded` and `X-Forwarded-For` count only in
//! requests of proxies that the operator trusts, because any client can send them.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use http::header::{FORWARDED, HeaderMap, HeaderName};

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
/// The entry for all clients of a Unix socket.
const UNIX: &str = "unix";

/// The reverse proxies whose headers count.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustedProxies(Vec<TrustedProxy>);

/// A reverse proxy, or a network of reverse proxies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustedProxy {
    /// The addresses that have the same first bits as this address.
    Network {
        /// An address.
        address: IpAddr,
        /// How many bits are compared.
        bits: u32,
    },
    /// The clients of the Unix socket.
    Unix,
}

/// The text is not an address, a network or `unix`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadProxy;

impl fmt::Display for BadProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("must be an IP address, a network such as \"10.0.0.0/8\", or \"unix\"")
    }
}

impl FromStr for TrustedProxy {
    type Err = BadProxy;

    fn from_str(text: &str) -> Result<Self, BadProxy> {
        if text == UNIX {
            return Ok(Self::Unix);
        }
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| BadProxy)?;
        let max = if address.is_ipv4() {
            u32::BITS
        } else {
            u128::BITS
        };
        let bits = bits.map_or(Ok(max), str::parse).map_err(|_| BadProxy)?;
        if bits > max {
            Err(BadProxy)
        } else {
            Ok(Self::Network { address, bits })
        }
    }
}

impl TrustedProxy {
    fn contains(self, client: Option<IpAddr>) -> bool {
        let has_same_bits =
            |one: u128, other: u128, shift: u32| (one ^ other).checked_shr(shift).unwrap_or(0) == 0;
        match (self, client) {
            (Self::Unix, None) => true,
            (
                Self::Network {
                    address: IpAddr::V4(own),
                    bits,
                },
                Some(IpAddr::V4(other)),
            ) => has_same_bits(
                own.to_bits().into(),
                other.to_bits().into(),
                u32::BITS - bits,
            ),
            (
                Self::Network {
                    address: IpAddr::V6(own),
                    bits,
                },
                Some(IpAddr::V6(other)),
            ) => has_same_bits(own.to_bits(), other.to_bits(), u128::BITS - bits),
            _ => false,
        }
    }
}

impl FromIterator<TrustedProxy> for TrustedProxies {
    fn from_iter<T: IntoIterator<Item = TrustedProxy>>(all: T) -> Self {
        Self(all.into_iter().collect())
    }
}

impl TrustedProxies {
    /// Returns the address of the client that sent a request. `peer` is the address at the other end of the
    /// connection, or none on a Unix socket. Behind trusted proxies, the client is the last address in the
    /// headers that is not a trusted proxy.
    ///
    /// A proxy sets one of the two headers, and may pass on the other header unchanged from the client. So if a request
    /// has both headers and they differ, neither counts.
    pub fn client(&self, peer: Option<IpAddr>, headers: &HeaderMap) -> Option<IpAddr> {
        let peer = peer.map(|peer| peer.to_canonical());
        if !self.trusts(peer) {
            return peer;
        }
        let [forwarded, listed] = [
            self.last_untrusted(forwarded(headers)),
            self.last_untrusted(x_forwarded_for(headers)),
        ];
        match (forwarded, listed) {
            (Some(one), Some(other)) if one != other => peer,
            (one, other) => one.or(other).flatten().or(peer),
        }
    }

    fn trusts(&self, client: Option<IpAddr>) -> bool {
        self.0.iter().any(|proxy| proxy.contains(client))
    }

    /// Returns the last address that is not a trusted proxy. If all addresses are trusted proxies, returns the first
    /// one. `None` without a header. An entry that is not an address ends the search, because the entries before it may
    /// be forged.
    fn last_untrusted(&self, clients: Option<Vec<&str>>) -> Option<Option<IpAddr>> {
        let mut last = None;
        for client in clients?.into_iter().rev() {
            let Some(address) = address(client) else {
                break;
            };
            last = Some(address);
            if !self.trusts(last) {
                break;
            }
        }
        Some(last)
    }
}

/// Returns the entries of all headers of this name.
fn entries(headers: &HeaderMap, name: HeaderName) -> Option<Vec<&str>> {
    let values: Vec<_> = headers
        .get_all(name)
        .iter()
        .map(|value| value.to_str().unwrap_or_default())
        .collect();
    let entries = || {
        values
            .iter()
            .flat_map(|value| value.split(','))
            .map(str::trim)
            .collect()
    };
    (!values.is_empty()).then(entries)
}

fn x_forwarded_for(headers: &HeaderMap) -> Option<Vec<&str>> {
    entries(headers, X_FORWARDED_FOR)
}

/// Returns the parameter `for` of each entry; an empty text for an entry without one.
fn forwarded(headers: &HeaderMap) -> Option<Vec<&str>> {
    let entries = entries(headers, FORWARDED)?;
    Some(
        entries
            .into_iter()
            .map(|entry| client_of(entry).unwrap_or_default())
            .collect(),
    )
}

fn client_of(entry: &str) -> Option<&str> {
    entry.split(';').find_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        name.trim()
            .eq_ignore_ascii_case("for")
            .then(|| value.trim().trim_matches('"'))
    })
}

/// Parses an address, which may have a port and brackets.
fn address(entry: &str) -> Option<IpAddr> {
    let bracketed = entry
        .strip_prefix('[')
        .and_then(|rest| rest.split_once(']'))
        .map(|(address, _)| address);
    let without_port = entry.rsplit_once(':').map(|(address, _)| address);
    let all = [
        Some(entry),
        bracketed,
        without_port.filter(|address| !address.contains(':')),
    ];
    let address: IpAddr = all
        .into_iter()
        .flatten()
        .find_map(|text| text.parse().ok())?;
    Some(address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(trusted: &str, peer: &str, headers: &[(&str, &str)], expected: &str) {
        let trusted: TrustedProxies = trusted
            .split_whitespace()
            .map(|text| text.parse().unwrap())
            .collect();
        let headers: HeaderMap = headers
            .iter()
            .map(|(name, value)| (name.parse::<HeaderName>().unwrap(), value.parse().unwrap()))
            .collect();
        let client = trusted.client(peer.parse().ok(), &headers);
        assert_eq!(
            client.map_or("none".into(), |client| client.to_string()),
            expected,
            "{peer} {headers:?}"
        );
    }

    #[test]
    fn believes_only_trusted_proxies() {
        let list = &[("x-forwarded-for", "1.1.1.1, 2.2.2.2")];
        check("", "10.0.0.1", list, "10.0.0.1");
        check("10.0.0.0/8", "11.0.0.1", list, "11.0.0.1");
        check("10.0.0.0/8", "10.0.0.1", list, "2.2.2.2");
        check("10.0.0.0/8", "::ffff:10.0.0.1", list, "2.2.2.2");
        check("10.0.0.0/8", "10.0.0.1", &[], "10.0.0.1");
        check("10.0.0.0/8", "unix", list, "none");
        check("unix", "unix", list, "2.2.2.2");
        check(
            "fd00::/8 10.9.9.9",
            "fdab::1",
            &[("x-forwarded-for", "2001:db8::7,10.9.9.9")],
            "2001:db8::7",
        );
        check("0.0.0.0/0", "9.9.9.9", list, "1.1.1.1");
    }

    #[test]
    fn takes_the_last_address_that_is_no_proxy() {
        let of =
            |headers: &[(&str, &str)], expected| check("10.0.0.0/8", "10.0.0.1", headers, expected);
        of(
            &[("x-forwarded-for", "6.6.6.6, 3.3.3.3, 10.0.0.2, 10.0.0.3")],
            "3.3.3.3",
        );
        of(
            &[
                ("x-forwarded-for", "6.6.6.6"),
                ("x-forwarded-for", "4.4.4.4:8080"),
            ],
            "4.4.4.4",
        );
        of(
            &[("x-forwarded-for", "6.6.6.6, unknown, 10.0.0.2")],
            "10.0.0.2",
        );
        of(&[("x-forwarded-for", "unknown")], "10.0.0.1");
        of(
            &[(
                "forwarded",
                "for=6.6.6.6, For=\"[2001:db8::1]:47\";proto=https",
            )],
            "2001:db8::1",
        );
        of(
            &[("forwarded", "proto=https;for=5.5.5.5;by=10.0.0.1")],
            "5.5.5.5",
        );
        of(&[("forwarded", "for=6.6.6.6, for=_hidden")], "10.0.0.1");
        of(
            &[("forwarded", "for=6.6.6.6"), ("x-forwarded-for", "3.3.3.3")],
            "10.0.0.1",
        );
        of(
            &[("forwarded", "for=3.3.3.3"), ("x-forwarded-for", "3.3.3.3")],
            "3.3.3.3",
        );
    }

    #[test]
    fn rejects_what_is_no_network() {
        for bad in [
            "",
            "x",
            "10.0.0.0/33",
            "10.0.0.0/",
            "::/129",
            "10.0.0.0/-1",
            "localhost",
            "Unix",
        ] {
            assert_eq!(bad.parse::<TrustedProxy>(), Err(BadProxy), "{bad}");
        }
    }
}
