//! The requests of a call to which the host added a credential, for the audit log.

use std::sync::OnceLock;

use parking_lot::Mutex;

/// Maximum number of uses that are recorded for one call.
const MAX_RECORDS: usize = 128;
/// Replaces the host of uses beyond the limit.
const OTHER_HOSTS: &str = "other hosts";

/// The uses of credentials on behalf of a call. Most calls use none. Then this costs nothing.
#[derive(Debug, Default)]
pub struct CredentialUses(OnceLock<Mutex<Vec<CredentialUse>>>);

/// Requests with the same credential that ended in the same way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CredentialUse {
    /// The name of the secret.
    pub secret: String,
    /// Scheme, host and port.
    pub host: String,
    /// How the requests ended.
    pub outcome: &'static str,
    /// The number of requests.
    pub count: u64,
}

impl CredentialUses {
    /// Adds a request. With very many hosts, requests are still counted for each secret and outcome.
    pub fn add(&self, secret: &str, host: &str, outcome: &'static str) {
        let mut uses = self.0.get_or_init(Mutex::default).lock();
        let is_known = |used: &&mut CredentialUse, host: &str| {
            used.secret == secret && used.host == host && used.outcome == outcome
        };
        if let Some(used) = uses.iter_mut().find(|used| is_known(used, host)) {
            used.count += 1;
            return;
        }
        let host = if uses.len() < MAX_RECORDS {
            host
        } else {
            OTHER_HOSTS
        };
        match uses.iter_mut().find(|used| is_known(used, host)) {
            Some(used) => used.count += 1,
            None => uses.push(CredentialUse {
                secret: secret.to_owned(),
                host: host.to_owned(),
                outcome,
                count: 1,
            }),
        }
    }

    /// Returns the records.
    pub fn list(&self) -> Vec<CredentialUse> {
        let uses = self.0.get().map(|uses| uses.lock().clone());
        uses.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_every_use() {
        let uses = CredentialUses::default();
        assert!(uses.list().is_empty());
        uses.add("token", "https://a.example", "ok");
        uses.add("token", "https://a.example", "ok");
        uses.add("token", "https://a.example", "denied");
        let counts = |uses: &CredentialUses| -> Vec<u64> {
            uses.list().iter().map(|used| used.count).collect()
        };
        assert_eq!(counts(&uses), [2, 1]);
        (0..500).for_each(|n| uses.add("token", &format!("https://{n}.example"), "ok"));
        let last = uses.list().pop().unwrap();
        assert_eq!((&*last.host, last.secret.as_str()), (OTHER_HOSTS, "token"));
        assert_eq!(counts(&uses).len(), MAX_RECORDS + 1);
        assert_eq!(counts(&uses).iter().sum::<u64>(), 503);
    }
}
