//! Rules for TCP connections.

use std::fmt;
use std::net::IpAddr;

/// A rule that allows TCP connections to one port of a host, or of the subdomains of a domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TcpRule {
    /// A host name, an IP address without brackets, or `*.` and a domain for all its subdomains. Lower case.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Whether the address may be in a private network.
    pub private: bool,
}

impl TcpRule {
    /// The host of the rule, if it is an IP address.
    pub fn address(&self) -> Option<IpAddr> {
        self.host.parse().ok()
    }

    /// Whether this rule applies to the host with this name. No rule applies to an IP address by its name.
    pub fn matches_name(&self, name: &str) -> bool {
        name.parse::<IpAddr>().is_err() && matches_host(&self.host, name)
    }

    /// Whether this rule allows everything that the other rule allows.
    pub fn includes(&self, other: &Self) -> bool {
        let host = self.host == other.host || self.matches_name(&other.host);
        host && self.port == other.port && (self.private || !other.private)
    }
}

/// The host and the port, such as `db.internal:5432` or `[::1]:5432`.
impl fmt::Display for TcpRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.address() {
            Some(IpAddr::V6(address)) => write!(f, "[{address}]:{}", self.port),
            _ => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

/// Whether the host of a rule, which may begin with `*.`, is this host or includes it.
pub(super) fn matches_host(rule: &str, host: &str) -> bool {
    let host = host.to_ascii_lowercase();
    match rule.strip_prefix("*.") {
        Some(parent) => host
            .strip_suffix(parent)
            .is_some_and(|rest| rest.len() > 1 && rest.ends_with('.')),
        None => rule == host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(host: &str, port: u16, private: bool) -> TcpRule {
        TcpRule {
            host: host.into(),
            port,
            private,
        }
    }

    #[test]
    fn a_rule_includes_narrower_rules() {
        let wide = rule("*.example.com", 5432, false);
        for narrow in [
            wide.clone(),
            rule("db.example.com", 5432, false),
            rule("*.a.example.com", 5432, false),
        ] {
            assert!(wide.includes(&narrow), "{narrow}");
        }
        for other in [
            rule("example.com", 5432, false),
            rule("db.example.com", 5433, false),
            rule("db.example.com", 5432, true),
            rule("*.com", 5432, false),
        ] {
            assert!(!wide.includes(&other), "{other}");
        }
        assert!(rule("db", 1, true).includes(&rule("db", 1, false)));
    }

    #[test]
    fn a_wildcard_does_not_apply_to_an_address() {
        assert!(!rule("*.0.0.1", 80, true).matches_name("127.0.0.1"));
        assert!(!rule("*.0.0.1", 80, true).includes(&rule("127.0.0.1", 80, true)));
        assert!(rule("*.example.com", 80, false).matches_name("A.Example.com"));
        assert_eq!(rule("::1", 80, true).to_string(), "[::1]:80");
    }
}
