//! Secrets that only the host sends: each of them has hosts to which it may be sent, and no guest receives it.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::RwLock;

use super::{HostRule, Secret};
use crate::name::TeamName;

/// The hosts to which a secret may be sent. Methods and addresses are the concern of the rules of providers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SecretHosts(Arc<[HostRule]>);

impl SecretHosts {
    /// The hosts of these rules.
    pub fn new(rules: impl IntoIterator<Item = HostRule>) -> Self {
        let rules = rules.into_iter().map(|rule| HostRule {
            methods: Some(Vec::new()),
            private: true,
            auth: None,
            ..rule
        });
        Self(rules.collect())
    }

    /// One rule for each host, which allows every method.
    pub fn rules(&self) -> &[HostRule] {
        &self.0
    }

    /// Whether the secret may be sent to every host of this rule.
    pub fn include(&self, rule: &HostRule) -> bool {
        self.0.iter().any(|hosts| hosts.includes(rule))
    }
}

/// A secret with the hosts to which it may be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credential {
    /// The value.
    pub secret: Secret,
    /// Where it may be sent.
    pub hosts: SecretHosts,
}

/// The credentials of one team, by the names of their secrets.
pub type TeamCredentials = BTreeMap<String, Credential>;

/// The current credentials of all teams. Clones share them. A change takes effect on the next request of a guest.
#[derive(Debug, Clone, Default)]
pub struct CredentialStore(Arc<RwLock<BTreeMap<TeamName, TeamCredentials>>>);

impl CredentialStore {
    /// Replaces all credentials.
    pub fn set(&self, teams: BTreeMap<TeamName, TeamCredentials>) {
        *self.0.write() = teams;
    }

    /// The credential of a team with this name.
    pub fn get(&self, team: &TeamName, name: &str) -> Option<Credential> {
        self.0.read().get(team)?.get(name).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(scheme: &str, host: &str) -> HostRule {
        HostRule {
            scheme: Some(scheme.into()),
            ..HostRule::of_host(host)
        }
    }

    #[test]
    fn a_secret_may_be_sent_to_its_hosts_only() {
        let hosts = SecretHosts::new([rule("https", "*.example.com")]);
        let post = HostRule {
            methods: Some(vec!["POST".into()]),
            private: true,
            ..rule("https", "api.example.com")
        };
        assert!(hosts.include(&post));
        for (scheme, host) in [
            ("http", "api.example.com"),
            ("https", "example.com"),
            ("https", "*.com"),
            ("https", "api.example.org"),
        ] {
            assert!(!hosts.include(&rule(scheme, host)), "{scheme}://{host}");
        }
        assert!(!SecretHosts::default().include(&post));
    }

    #[test]
    fn a_team_has_only_its_own_credentials() {
        let store = CredentialStore::default();
        let team = |name: &str| TeamName::parse(name).unwrap();
        let credential = Credential {
            secret: Secret::new("hush-hush"),
            hosts: SecretHosts::default(),
        };
        let own = [("token".to_owned(), credential.clone())].into();
        store.set([(team("own"), own)].into());
        assert_eq!(store.get(&team("own"), "token"), Some(credential));
        assert_eq!(store.get(&team("other"), "token"), None);
        store.set(BTreeMap::new());
        assert_eq!(store.get(&team("own"), "token"), None);
    }
}
