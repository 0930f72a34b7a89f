//! The addresses to which one guest can connect: the addresses of granted names at the time when the guest looked the
//! names up and the host checked them. Later changes in the DNS have no effect on them.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

use crate::network::resolved_addresses::{NetworkScope, PrivateAddress};
use larder_model::policy::TcpRule;

/// Maximum number of addresses of one guest.
const MAX_PINNED: usize = 256;

/// The names of the addresses with the granted ports.
#[derive(Debug, Default)]
pub(crate) struct PinnedAddresses(HashMap<SocketAddr, String>);

impl PinnedAddresses {
    /// Adds the addresses that were found for a name, with the ports that the rules for this name allow. Returns the
    /// addresses that one of these rules allows.
    pub(crate) fn pin(
        &mut self,
        rules: &[TcpRule],
        name: &str,
        found: Vec<SocketAddr>,
    ) -> Result<Vec<IpAddr>, PrivateAddress> {
        let rules: Vec<_> = rules
            .iter()
            .filter(|rule| rule.matches_name(name))
            .collect();
        let widest = NetworkScope::of_rule(rules.iter().any(|rule| rule.private));
        let mut allowed: Vec<_> = widest
            .check(name, found)?
            .into_iter()
            .map(|found| found.ip())
            .collect();
        allowed.truncate(MAX_PINNED.saturating_sub(self.0.len()) / rules.len().max(1));
        for (address, rule) in allowed
            .iter()
            .flat_map(|address| rules.iter().map(move |rule| (*address, rule)))
        {
            // A rule with `private` applies only to its own port.
            if NetworkScope::of_rule(rule.private).allows(address) {
                self.0
                    .entry(SocketAddr::new(address, rule.port))
                    .or_insert_with(|| name.to_owned());
            }
        }
        Ok(allowed)
    }

    /// Returns the host and the port of an address, such as `db.internal:5432`, if the guest can connect to it.
    pub(crate) fn target(&self, rules: &[TcpRule], address: SocketAddr) -> Option<String> {
        let is_granted = |rule: &&TcpRule| {
            rule.address() == Some(address.ip())
                && rule.port == address.port()
                && NetworkScope::of_rule(rule.private).allows(address.ip())
        };
        match self.0.get(&SocketAddr::new(address.ip(), address.port())) {
            Some(name) => Some(format!("{name}:{}", address.port())),
            None => rules.iter().find(is_granted).map(ToString::to_string),
        }
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

    fn found(addresses: &[&str]) -> Vec<SocketAddr> {
        addresses
            .iter()
            .map(|address| SocketAddr::new(address.parse().unwrap(), 0))
            .collect()
    }

    fn can_connect(pinned: &PinnedAddresses, rules: &[TcpRule], address: &str) -> bool {
        pinned.target(rules, address.parse().unwrap()).is_some()
    }

    #[test]
    fn a_name_that_changes_its_address_later_stays_where_it_was() {
        let rules = [rule("db.example.com", 5432, false)];
        let mut pinned = PinnedAddresses::default();
        assert_eq!(
            pinned
                .pin(&rules, "db.example.com", found(&["1.1.1.1"]))
                .unwrap()
                .len(),
            1
        );
        let rebound = pinned.pin(
            &rules,
            "db.example.com",
            found(&["127.0.0.1", "169.254.169.254"]),
        );
        assert!(
            rebound
                .unwrap_err()
                .to_string()
                .contains("`private = true`")
        );
        assert!(can_connect(&pinned, &rules, "1.1.1.1:5432"));
        for other in [
            "127.0.0.1:5432",
            "169.254.169.254:5432",
            "1.1.1.1:5433",
            "1.1.1.2:5432",
        ] {
            assert!(!can_connect(&pinned, &rules, other), "{other}");
        }
    }

    #[test]
    fn only_addresses_that_pass_the_check_are_answered() {
        let rules = [rule("db.example.com", 5432, false)];
        let mut pinned = PinnedAddresses::default();
        let mixed = pinned
            .pin(&rules, "db.example.com", found(&["10.0.0.1", "1.1.1.1"]))
            .unwrap();
        assert_eq!(mixed, ["1.1.1.1".parse::<IpAddr>().unwrap()]);
        assert!(!can_connect(&pinned, &rules, "10.0.0.1:5432"));
    }

    #[test]
    fn private_applies_to_the_port_of_its_rule() {
        let rules = [
            rule("db.example.com", 5432, false),
            rule("db.example.com", 6379, true),
        ];
        let mut pinned = PinnedAddresses::default();
        pinned
            .pin(&rules, "db.example.com", found(&["10.0.0.1"]))
            .unwrap();
        assert!(can_connect(&pinned, &rules, "10.0.0.1:6379"));
        assert!(!can_connect(&pinned, &rules, "10.0.0.1:5432"));
    }

    #[test]
    fn an_address_needs_a_rule_of_its_own() {
        let rules = [
            rule("10.0.0.5", 6379, true),
            rule("10.0.0.6", 6379, false),
            rule("*.0.0.7", 6379, true),
        ];
        let pinned = PinnedAddresses::default();
        assert!(can_connect(&pinned, &rules, "10.0.0.5:6379"));
        for other in ["10.0.0.5:6380", "10.0.0.6:6379", "10.0.0.7:6379"] {
            assert!(!can_connect(&pinned, &rules, other), "{other}");
        }
    }

    #[test]
    fn the_number_of_addresses_is_bounded() {
        let rules = [
            rule("*.example.com", 1, false),
            rule("*.example.com", 2, false),
        ];
        let mut pinned = PinnedAddresses::default();
        for n in 0..100 {
            let many: Vec<_> = (0..100).map(|host| format!("1.1.{n}.{host}")).collect();
            let many: Vec<_> = many.iter().map(String::as_str).collect();
            pinned
                .pin(&rules, &format!("h{n}.example.com"), found(&many))
                .unwrap();
        }
        assert_eq!(pinned.0.len(), MAX_PINNED);
    }
}
