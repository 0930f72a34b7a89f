//! Which requests the rules of a grant allow. The URL is checked in its parsed form, and the connection uses the same
//! parsed form.

use std::net::IpAddr;

use super::RequestError;
use crate::network::resolved_addresses::NetworkScope;
use larder_model::policy::{HostAuth, HostRule};

/// The parts of a request that rules are about.
pub(super) struct RequestTarget<'a> {
    method: &'a str,
    url: &'a reqwest::Url,
    /// The name or the address, without brackets.
    host: &'a str,
    port: u16,
    /// The host, if it is an address.
    address: Option<IpAddr>,
}

/// What the rules of a grant give to a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RequestAccess<'r> {
    /// The addresses that it may reach.
    pub(super) scope: NetworkScope,
    /// The credential that the host adds. The first rule that has one decides.
    pub(super) auth: Option<&'r HostAuth>,
}

impl<'a> RequestTarget<'a> {
    pub(super) fn of(request: &'a reqwest::Request) -> Self {
        let url = request.url();
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        Self {
            method: request.method().as_str(),
            url,
            host,
            port: url.port_or_known_default().unwrap_or_default(),
            address: host.parse().ok(),
        }
    }

    /// Scheme, host and port.
    pub(super) fn origin(&self) -> String {
        self.url.origin().ascii_serialization()
    }

    /// The address that the URL contains instead of a name.
    pub(super) fn address(&self) -> Option<IpAddr> {
        self.address
    }

    pub(super) fn is_tls(&self) -> bool {
        self.url.scheme() == "https"
    }

    pub(super) fn is_allowed_by_any(&self, rules: &[HostRule]) -> bool {
        rules.iter().any(|rule| self.is_allowed_by(rule))
    }

    /// Whether a rule allows the request. A wildcard includes no addresses.
    fn is_allowed_by(&self, rule: &HostRule) -> bool {
        let mut host = self.host;
        if self.address.is_some() {
            if rule.host.trim_matches(['[', ']']) != host {
                return false;
            }
            host = &rule.host;
        }
        rule.allows(self.method, self.url.scheme(), host, self.port)
    }

    /// Checks that a rule allows the request. A rule with `private` applies only to the requests that the rule itself
    /// covers, also if another rule has the same host.
    pub(super) fn check<'r>(
        &self,
        rules: &'r [HostRule],
    ) -> Result<RequestAccess<'r>, RequestError> {
        let mut access: Option<RequestAccess<'r>> = None;
        for rule in rules.iter().filter(|rule| self.is_allowed_by(rule)) {
            let scope = NetworkScope::of_rule(rule.private);
            if let Some(auth) = &rule.auth {
                // Another rule must not extend the addresses that receive the credential.
                return Ok(RequestAccess {
                    scope,
                    auth: Some(auth),
                });
            }
            if access.is_none() || scope == NetworkScope::Private {
                access = Some(RequestAccess { scope, auth: None });
            }
        }
        access.ok_or_else(|| self.denial())
    }

    fn denial(&self) -> RequestError {
        let origin = self.origin();
        let method = self.method;
        // Without `methods`, a rule allows only read requests.
        let rule = match method {
            "GET" | "HEAD" => format!("\"{origin}\""),
            _ => format!("{{ host = \"{origin}\", methods = [\"{method}\"] }}"),
        };
        let hint = format!("its operator can allow it with `hosts = [{rule}]`");
        RequestError::Denied(format!("{method} to {origin} is not granted; {hint}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use larder_model::policy::CredentialPlacement;

    fn rule(host: &str, scheme: Option<&str>, port: Option<u16>) -> HostRule {
        HostRule {
            scheme: scheme.map(Into::into),
            port,
            ..HostRule::of_host(host)
        }
    }

    fn check(rules: &[HostRule], url: &str) -> Result<NetworkScope, RequestError> {
        let url = reqwest::Url::parse(url).unwrap();
        let request = reqwest::Request::new(http::Method::GET, url);
        let access = RequestTarget::of(&request).check(rules)?;
        Ok(access.scope)
    }

    fn allows(rule: HostRule, url: &str) -> bool {
        check(&[rule], url).is_ok()
    }

    #[test]
    fn an_ip_address_needs_a_rule_of_its_own() {
        assert!(allows(
            rule("127.0.0.1", Some("http"), Some(8080)),
            "http://127.0.0.1:8080/x"
        ));
        assert!(allows(rule("[::1]", Some("http"), None), "http://[::1]/"));
        assert!(!allows(
            rule("*.0.0.1", Some("http"), None),
            "http://127.0.0.1/"
        ));
        assert!(!allows(
            rule("localhost", Some("http"), None),
            "http://127.0.0.1/"
        ));
    }

    #[test]
    fn normalizes_other_notations_of_an_address() {
        for url in ["http://0x7f.1/", "http://2130706433/", "http://127.1/"] {
            assert!(allows(rule("127.0.0.1", Some("http"), None), url), "{url}");
            assert!(!allows(rule("0x7f.1", Some("http"), None), url), "{url}");
        }
    }

    #[test]
    fn a_private_rule_applies_only_to_requests_that_it_covers() {
        let private = HostRule {
            private: true,
            ..rule("*.example.com", Some("http"), Some(8080))
        };
        let rules = [private, rule("api.example.com", None, None)];
        let scope = |url: &str| check(&rules, url);
        assert_eq!(
            scope("http://api.example.com:8080/"),
            Ok(NetworkScope::Private)
        );
        assert_eq!(scope("https://api.example.com/"), Ok(NetworkScope::Public));
        assert!(scope("https://other.example.com/").is_err());
        let both = [
            rule("a.example", None, None),
            HostRule {
                private: true,
                ..rule("a.example", None, None)
            },
        ];
        assert_eq!(
            check(&both, "https://a.example/"),
            Ok(NetworkScope::Private)
        );
    }

    #[test]
    fn the_user_info_of_a_url_is_not_its_host() {
        assert!(!allows(
            rule("api.example.com", None, None),
            "https://api.example.com@evil.net/"
        ));
    }

    #[test]
    fn the_first_rule_with_a_credential_decides() {
        let with_auth = |secret: &str, rule| HostRule {
            auth: Some(HostAuth {
                secret: secret.into(),
                placement: CredentialPlacement::Bearer,
                certificate: None,
                plain_http: false,
            }),
            ..rule
        };
        let private = HostRule {
            private: true,
            ..rule("*.example.com", None, None)
        };
        let rules = [
            private,
            with_auth("first", rule("api.example.com", None, None)),
            with_auth("second", rule("*.example.com", None, None)),
        ];
        let access = |url: &str| {
            let url = reqwest::Url::parse(url).unwrap();
            let request = reqwest::Request::new(http::Method::GET, url);
            let access = RequestTarget::of(&request).check(&rules).unwrap();
            (access.scope, access.auth.unwrap().secret.clone())
        };
        let public = |secret: &str| (NetworkScope::Public, secret.to_owned());
        assert_eq!(access("https://api.example.com/"), public("first"));
        assert_eq!(access("https://www.example.com/"), public("second"));
    }
}
