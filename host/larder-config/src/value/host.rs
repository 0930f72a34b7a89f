//! A host to which a provider may send HTTP requests: `https://api.example.com`, `http://127.0.0.1:8080`,
//! `*.example.org`, or a table with more options.

use std::marker::PhantomData;
use std::net::IpAddr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::host_auth::Auth;
use super::{Shorthand, ShorthandVisitor};
use larder_model::policy::HostRule;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Host(pub(crate) HostRule);

/// A host to which a secret may be sent, with every method.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SecretHost(pub(crate) HostRule);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HostTable {
    host: String,
    methods: Option<Vec<String>>,
    private: Option<bool>,
    auth: Option<Auth>,
    plain_http: Option<bool>,
}

impl<'de> Deserialize<'de> for SecretHost {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        parse_rule(&text).map(Self).map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Host {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ShorthandVisitor(PhantomData))
    }
}

impl Shorthand for Host {
    type Table = HostTable;
    const EXPECTED: &'static str = "a host such as \"https://api.example.com\", or a table with `host`, `methods`, `private`, `auth` and `plain_http`";

    fn from_text(text: &str) -> Result<Self, String> {
        parse_rule(text).map(Self)
    }

    fn from_table(table: HostTable) -> Result<Self, String> {
        let rule = parse_rule(&table.host)?;
        let methods = table.methods.map(parse_methods).transpose()?;
        let auth = super::host_auth::of_rule(table.auth, table.plain_http, rule.scheme())?;
        Ok(Self(HostRule {
            auth,
            methods,
            private: table.private.unwrap_or(rule.private),
            ..rule
        }))
    }
}

fn parse_rule(text: &str) -> Result<HostRule, String> {
    let (scheme, rest) = match text.split_once("://") {
        Some((scheme @ ("http" | "https"), rest)) => (Some(scheme.to_owned()), rest),
        Some(_) => return Err(format!("`{text}`: only http and https can be granted")),
        None => (None, text),
    };
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    if rest.contains(['/', '?', '#', '@']) {
        return Err(format!(
            "`{text}`: a grant names a host, without a path, a query or a user"
        ));
    }
    let (host, port) = split_port(rest)
        .ok_or_else(|| format!("`{text}`: the port is not a number up to 65535"))?;
    let host = host.to_ascii_lowercase();
    let is_address = parse_ip(&host).is_some();
    if !is_address && !is_host_pattern(&host) {
        return Err(not_a_host(text));
    }
    Ok(HostRule {
        scheme,
        port,
        // An explicit IP address or `localhost` implies permission to reach private addresses.
        private: is_address || host == "localhost",
        ..HostRule::of_host(host)
    })
}

/// Parses an IP address. An IPv6 address may be in brackets.
pub(super) fn parse_ip(host: &str) -> Option<IpAddr> {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    bare.parse().ok()
}

pub(super) fn not_a_host(text: &str) -> String {
    format!("`{text}` is not a host: write a name, `*.` and a name, or an IP address")
}

pub(super) fn split_port(text: &str) -> Option<(&str, Option<u16>)> {
    match text.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => Some((host, Some(port.parse().ok()?))),
        _ => Some((text, None)),
    }
}

/// Whether the text is the name of a host, or `*.` and a name.
pub(super) fn is_host_pattern(text: &str) -> bool {
    let name = text.strip_prefix("*.").unwrap_or(text);
    name.split('.').all(is_label)
}

fn is_label(text: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    !text.is_empty() && text.chars().all(is_allowed)
}

/// Parses HTTP methods. `["*"]` means all methods, which a `HostRule` represents as an empty list.
fn parse_methods(raw: Vec<String>) -> Result<Vec<String>, String> {
    if raw.iter().any(|method| method == "*") {
        return Ok(Vec::new());
    }
    match raw.iter().find(|method| !is_method(method)) {
        Some(bad) => Err(format!("`{bad}` is not an HTTP method")),
        None if raw.is_empty() => {
            Err("`methods` is empty: list some, or write [\"*\"] for all".into())
        }
        None => Ok(raw
            .into_iter()
            .map(|method| method.to_ascii_uppercase())
            .collect()),
    }
}

fn is_method(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(text: &str, expected: Expect) {
        let shown = match parse_rule(text) {
            Ok(HostRule {
                scheme,
                host,
                port,
                private,
                ..
            }) => {
                format!("{scheme:?} {host} {port:?} {private}")
            }
            Err(message) => message,
        };
        expected.assert_eq(&shown);
    }

    #[test]
    fn accepts_names_wildcards_and_addresses() {
        check(
            "https://API.example.com/",
            expect![[r#"Some("https") api.example.com None false"#]],
        );
        check(
            "http://127.0.0.1:8080",
            expect![[r#"Some("http") 127.0.0.1 Some(8080) true"#]],
        );
        check("*.example.org", expect!["None *.example.org None false"]);
        check(
            "http://[::1]:80",
            expect![[r#"Some("http") [::1] Some(80) true"#]],
        );
        check("localhost:3000", expect!["None localhost Some(3000) true"]);
    }

    #[test]
    fn rejects_other_texts_with_a_hint() {
        check(
            "*",
            expect!["`*` is not a host: write a name, `*.` and a name, or an IP address"],
        );
        check(
            "",
            expect!["`` is not a host: write a name, `*.` and a name, or an IP address"],
        );
        check(
            "a b",
            expect!["`a b` is not a host: write a name, `*.` and a name, or an IP address"],
        );
        check(
            "ftp://x",
            expect!["`ftp://x`: only http and https can be granted"],
        );
        check(
            "https://x/y",
            expect!["`https://x/y`: a grant names a host, without a path, a query or a user"],
        );
        check(
            "https://u@x",
            expect!["`https://u@x`: a grant names a host, without a path, a query or a user"],
        );
        check(
            "x:99999",
            expect!["`x:99999`: the port is not a number up to 65535"],
        );
    }

    #[test]
    fn a_wildcard_means_all_methods() {
        let of =
            |names: &[&str]| parse_methods(names.iter().map(|&name| name.to_owned()).collect());
        assert_eq!(of(&["*"]), Ok(vec![]));
        assert_eq!(
            of(&["get", "POST"]),
            Ok(vec!["GET".to_owned(), "POST".to_owned()])
        );
        assert!(of(&[]).is_err() && of(&["G T"]).is_err());
    }
}
