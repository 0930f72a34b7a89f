//! A host to which a provider may open TCP connections: `db.internal:5432`, `[2001:db8::1]:5432`, `*.example.org:5432`,
//! or a table with `host`, `port` and `private`.

use std::marker::PhantomData;
use std::net::IpAddr;

use serde::{Deserialize, Deserializer};

use super::host::{is_host_pattern, not_a_host, parse_ip, split_port};
use super::{Shorthand, ShorthandVisitor};
use larder_model::address::is_public;
use larder_model::policy::TcpRule;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tcp(pub(crate) TcpRule);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TcpTable {
    host: String,
    port: Option<u16>,
    private: Option<bool>,
}

impl<'de> Deserialize<'de> for Tcp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ShorthandVisitor(PhantomData))
    }
}

impl Shorthand for Tcp {
    type Table = TcpTable;
    const EXPECTED: &'static str = "a host and a port such as \"db.internal:5432\", or a table with `host`, `port` and `private`";

    fn from_text(text: &str) -> Result<Self, String> {
        Self::from_table(TcpTable {
            host: text.to_owned(),
            port: None,
            private: None,
        })
    }

    fn from_table(
        TcpTable {
            host: text,
            port,
            private,
        }: TcpTable,
    ) -> Result<Self, String> {
        if text.contains(['/', '?', '#', '@']) {
            return Err(format!(
                "`{text}`: a TCP grant names a host and a port, without a scheme, a path or a user"
            ));
        }
        let (host, own_port) = match text.parse::<IpAddr>() {
            Ok(_) => (&*text, None),
            Err(_) => split_port(&text).ok_or_else(|| not_a_port(&text))?,
        };
        let port = only_port(&text, own_port, port)?;
        let host = parse_host(&text, host)?;
        let rule = TcpRule {
            host,
            port,
            private: private.unwrap_or(false),
        };
        if is_inside(&rule) && !rule.private {
            return Err(format!(
                "`{text}` is inside this network or machine: write {{ host = \"{}\", port = {port}, private = true }}",
                rule.host
            ));
        }
        Ok(Self(rule))
    }
}

fn not_a_port(text: &str) -> String {
    format!("`{text}`: the port is not a number from 1 to 65535")
}

/// Returns the port, which must be in the text or in the key `port`.
fn only_port(text: &str, own: Option<u16>, key: Option<u16>) -> Result<u16, String> {
    match (own, key) {
        (Some(0), _) | (_, Some(0)) => Err(not_a_port(text)),
        (Some(port), None) | (None, Some(port)) => Ok(port),
        (Some(_), Some(_)) => Err(format!(
            "`{text}`: the port is in `host` and in `port`: remove one"
        )),
        (None, None) => Err(format!(
            "`{text}`: write the port as well, such as \"{text}:5432\""
        )),
    }
}

/// Whether the host is known to be inside this network. The addresses of other names are checked when they are
/// resolved.
fn is_inside(rule: &TcpRule) -> bool {
    rule.host == "localhost" || rule.address().is_some_and(|address| !is_public(address))
}

fn parse_host(text: &str, host: &str) -> Result<String, String> {
    let host = host.to_ascii_lowercase();
    match parse_ip(&host) {
        Some(address) => Ok(address.to_string()),
        None if is_host_pattern(&host) => Ok(host),
        None => Err(not_a_host(text)),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(host: &str, port: Option<u16>, private: Option<bool>, expected: Expect) {
        let shown = match Tcp::from_table(TcpTable {
            host: host.into(),
            port,
            private,
        }) {
            Ok(Tcp(rule)) => format!("{rule} {}", rule.private),
            Err(message) => message,
        };
        expected.assert_eq(&shown);
    }

    #[test]
    fn accepts_names_wildcards_and_addresses() {
        check(
            "DB.internal:5432",
            None,
            None,
            expect!["db.internal:5432 false"],
        );
        check(
            "*.example.org",
            Some(6379),
            None,
            expect!["*.example.org:6379 false"],
        );
        check(
            "10.0.0.5",
            Some(6379),
            Some(true),
            expect!["10.0.0.5:6379 true"],
        );
        check("1.1.1.1:53", None, None, expect!["1.1.1.1:53 false"]);
        check(
            "[2606:4700::1111]:53",
            None,
            None,
            expect!["[2606:4700::1111]:53 false"],
        );
        check("::1", Some(80), Some(true), expect!["[::1]:80 true"]);
        check("db", Some(1), Some(true), expect!["db:1 true"]);
    }

    #[test]
    fn rejects_other_texts_with_a_hint() {
        check(
            "db",
            None,
            None,
            expect![[r#"`db`: write the port as well, such as "db:5432""#]],
        );
        check(
            "db:1",
            Some(1),
            None,
            expect!["`db:1`: the port is in `host` and in `port`: remove one"],
        );
        check(
            "db:0",
            None,
            None,
            expect!["`db:0`: the port is not a number from 1 to 65535"],
        );
        check(
            "db:99999",
            None,
            None,
            expect!["`db:99999`: the port is not a number from 1 to 65535"],
        );
        check(
            "tcp://db:1",
            None,
            None,
            expect![
                "`tcp://db:1`: a TCP grant names a host and a port, without a scheme, a path or a user"
            ],
        );
        check(
            "*:1",
            None,
            None,
            expect!["`*:1` is not a host: write a name, `*.` and a name, or an IP address"],
        );
        for host in ["10.0.0.5", "127.0.0.1", "localhost", "[::1]"] {
            let error = Tcp::from_text(&format!("{host}:1")).unwrap_err();
            assert!(error.ends_with("port = 1, private = true }"), "{error}");
        }
        check(
            "10.0.0.5:6379",
            None,
            None,
            expect![[
                r#"`10.0.0.5:6379` is inside this network or machine: write { host = "10.0.0.5", port = 6379, private = true }"#
            ]],
        );
    }
}
