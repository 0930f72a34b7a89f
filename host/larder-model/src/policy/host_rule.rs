//! Rules for the HTTP requests of guests.

use super::host_auth::HostAuth;
use super::tcp_rule;

/// A rule that allows HTTP requests to one host or its subdomains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostRule {
    /// `http` or `https`; none for `https` only.
    pub scheme: Option<String>,
    /// A host name, an IP address, or `*.` and a domain for all its subdomains. Lower case.
    pub host: String,
    /// None for the default port of the scheme.
    pub port: Option<u16>,
    /// None for GET and HEAD only; empty for every method.
    pub methods: Option<Vec<String>>,
    /// Whether the name may resolve to an address in a private network.
    pub private: bool,
    /// The credential that the host adds to the requests that this rule allows.
    pub auth: Option<HostAuth>,
}

impl HostRule {
    /// A rule for GET and HEAD over HTTPS to the public addresses of a host.
    pub fn of_host(host: impl Into<String>) -> Self {
        Self {
            scheme: None,
            host: host.into(),
            port: None,
            methods: None,
            private: false,
            auth: None,
        }
    }

    /// Whether this rule allows this request.
    pub fn allows(&self, method: &str, scheme: &str, host: &str, port: u16) -> bool {
        self.has_method(method)
            && self.scheme() == scheme
            && self.port_number() == port
            && self.matches_host(host)
    }

    fn port_number(&self) -> u16 {
        self.port.unwrap_or(default_port(self.scheme()))
    }

    /// Whether this rule allows every request that the other rule allows, whatever credentials they add.
    pub fn includes(&self, other: &Self) -> bool {
        let methods = match &other.methods {
            None => ["GET", "HEAD"]
                .into_iter()
                .all(|method| self.has_method(method)),
            Some(all) if all.is_empty() => self.methods.as_ref().is_some_and(Vec::is_empty),
            Some(some) => some.iter().all(|method| self.has_method(method)),
        };
        // A wildcard stands for subdomains. If `*.b.example.com` is taken as a name, it is a subdomain of
        // `*.example.com`.
        let host = self.host == other.host || self.matches_host(&other.host);
        methods
            && host
            && self.scheme() == other.scheme()
            && self.port_number() == other.port_number()
            && (self.private || !other.private)
    }

    /// Whether the other rule grants nothing beyond this rule: no other request, and no other credential.
    pub(super) fn covers(&self, other: &Self) -> bool {
        self.includes(other) && (other.auth.is_none() || self.auth == other.auth)
    }

    /// The scheme of the requests that this rule allows.
    pub fn scheme(&self) -> &str {
        self.scheme.as_deref().unwrap_or("https")
    }

    fn has_method(&self, method: &str) -> bool {
        match &self.methods {
            None => matches!(method, "GET" | "HEAD"),
            Some(methods) => {
                methods.is_empty() || methods.iter().any(|m| m.eq_ignore_ascii_case(method))
            }
        }
    }

    /// Whether this rule applies to this host.
    pub(crate) fn matches_host(&self, host: &str) -> bool {
        tcp_rule::matches_host(&self.host, host)
    }
}

fn default_port(scheme: &str) -> u16 {
    if scheme == "http" { 80 } else { 443 }
}

#[cfg(test)]
mod tests {
    use super::super::CredentialPlacement;
    use super::*;

    fn rule(host: &str) -> HostRule {
        HostRule::of_host(host)
    }

    #[test]
    fn a_rule_allows_https_get_and_head_by_default() {
        let plain = rule("api.example.com");
        assert!(plain.allows("GET", "https", "API.example.com", 443));
        for (method, scheme, host, port) in [
            ("POST", "https", "api.example.com", 443),
            ("GET", "http", "api.example.com", 80),
            ("GET", "https", "api.example.com", 8443),
            ("GET", "https", "example.com", 443),
            ("GET", "https", "api.example.com.evil.net", 443),
        ] {
            assert!(
                !plain.allows(method, scheme, host, port),
                "{method} {scheme} {host} {port}"
            );
        }
        let wide = HostRule {
            methods: Some(vec![]),
            port: Some(8080),
            scheme: Some("http".into()),
            ..plain
        };
        assert!(wide.allows("DELETE", "http", "api.example.com", 8080));
    }

    #[test]
    fn a_wildcard_matches_subdomains_only() {
        let star = rule("*.example.com");
        assert!(star.matches_host("a.example.com") && star.matches_host("a.b.example.com"));
        for other in ["example.com", "evilexample.com", ".example.com"] {
            assert!(!star.matches_host(other), "{other}");
        }
    }

    #[test]
    fn a_rule_covers_only_its_own_credential() {
        let auth = |secret: &str, plain_http| {
            Some(HostAuth {
                secret: secret.into(),
                placement: CredentialPlacement::Bearer,
                certificate: None,
                plain_http,
            })
        };
        let with = |auth| HostRule {
            auth,
            ..rule("api.example.com")
        };
        let own = with(auth("own", false));
        assert!(own.covers(&own) && own.covers(&with(None)));
        assert!(!own.covers(&with(auth("other", false))));
        assert!(!own.covers(&with(auth("own", true))));
        assert!(!with(None).covers(&own) && with(None).includes(&own));
    }
}
