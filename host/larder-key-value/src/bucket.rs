//! The names of buckets, and the limits of keys and values.

use larder_model::name::{Digest, ProviderName, TeamName};
use larder_model::resource::Caller;

/// Maximum size of a key in bytes.
pub const MAX_KEY: usize = 512;
/// Maximum size of a value in bytes.
pub const MAX_VALUE: usize = 1 << 20;

/// A bucket of a provider: the bucket that all callers share, or the bucket of one caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BucketName {
    pub(crate) provider: ProviderName,
    caller: Option<Digest>,
}

impl BucketName {
    /// The bucket that all callers of a provider share.
    pub fn shared(provider: &ProviderName) -> Self {
        Self {
            provider: provider.clone(),
            caller: None,
        }
    }

    /// The bucket of a caller. Callers with the same issuer, subject and team have the same bucket, also with different
    /// credentials. None if the caller has no subject, because it then cannot be distinguished from other callers.
    pub fn of_caller(provider: &ProviderName, team: &TeamName, caller: &Caller) -> Option<Self> {
        let subject = caller.subject.as_deref()?;
        let mut name = Vec::new();
        for part in [Some(team.as_str()), caller.issuer.as_deref(), Some(subject)] {
            // The name contains the lengths, so that different callers never have the same name.
            name.push(u8::from(part.is_some()));
            let part = part.unwrap_or_default();
            name.extend((part.len() as u64).to_be_bytes());
            name.extend(part.as_bytes());
        }
        Some(Self {
            provider: provider.clone(),
            caller: Some(Digest::of(&name)),
        })
    }

    /// Whether the bucket belongs to one caller.
    pub(crate) fn is_of_caller(&self) -> bool {
        self.caller.is_some()
    }

    /// The key of the bucket in the table of buckets.
    pub(crate) fn row(&self) -> (&str, &[u8]) {
        (
            self.provider.as_str(),
            self.caller.as_ref().map_or(&[], |caller| caller.bytes()),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use larder_model::name::Teams;

    #[test]
    fn each_caller_has_a_bucket_of_its_own() {
        let provider = ProviderName::parse("notes").unwrap();
        let team = |name: &str| TeamName::parse(name).unwrap();
        let caller = |issuer: Option<&str>, subject: Option<&str>| Caller {
            subject: subject.map(Into::into),
            issuer: issuer.map(Into::into),
            teams: Teams::default_team(),
            scopes: vec![],
        };
        let bucket =
            |team: &TeamName, caller: &Caller| BucketName::of_caller(&provider, team, caller);
        let a = team("a");
        let b = team("b");
        let names = [
            bucket(&a, &caller(None, Some("ann"))),
            bucket(&b, &caller(None, Some("ann"))),
            bucket(&a, &caller(Some(""), Some("ann"))),
            bucket(&a, &caller(Some("a"), Some("nn"))),
            bucket(&a, &caller(Some("an"), Some("n"))),
            bucket(&a, &caller(None, Some(""))),
            Some(BucketName::shared(&provider)),
        ];
        for (at, name) in names.iter().enumerate() {
            assert!(name.is_some() && !names[..at].contains(name), "{name:?}");
        }
        assert_eq!(bucket(&a, &caller(Some("x"), None)), None);
        let other_scopes = Caller {
            scopes: vec!["write".into()],
            ..caller(None, Some("ann"))
        };
        assert_eq!(bucket(&a, &other_scopes), names[0]);
    }
}
