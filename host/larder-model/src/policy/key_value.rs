//! The key-value store of a provider: which buckets it may use, and how much it may store.

use std::time::Duration;

/// The buckets of the key-value store that a provider may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KeyValueGrant {
    /// The bucket that all callers share.
    pub shared: bool,
    /// A bucket for each caller.
    pub caller: bool,
}

/// The maximum that one provider may store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyValueLimits {
    /// Bytes in all buckets of the provider.
    pub bytes: u64,
    /// Bytes in one bucket.
    pub bucket_bytes: u64,
    /// Keys in one bucket.
    pub bucket_keys: u64,
    /// Buckets of callers.
    pub callers: u64,
    /// How long the bucket of a caller is kept after its last use.
    pub expiry: Duration,
}

impl Default for KeyValueLimits {
    fn default() -> Self {
        Self {
            bytes: 16 << 20,
            bucket_bytes: 1 << 20,
            bucket_keys: 1_000,
            callers: 1_000,
            expiry: Duration::from_hours(90 * 24),
        }
    }
}

impl KeyValueGrant {
    /// The buckets that both grants allow.
    pub(super) fn intersection(self, other: Self) -> Self {
        Self {
            shared: self.shared && other.shared,
            caller: self.caller && other.caller,
        }
    }

    /// The buckets that one of the grants allows.
    pub(super) fn union(self, other: Self) -> Self {
        Self {
            shared: self.shared || other.shared,
            caller: self.caller || other.caller,
        }
    }

    /// The buckets of this grant that the other grant does not allow, as lines.
    pub(super) fn lines_beyond(self, other: Self) -> impl Iterator<Item = String> {
        self.names_beyond(other)
            .map(|bucket| format!("key-value {bucket}"))
    }

    /// The names of the buckets in the form of the configuration.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        self.names_beyond(Self::default())
    }

    fn names_beyond(self, other: Self) -> impl Iterator<Item = &'static str> {
        let buckets = [
            ("caller", self.caller && !other.caller),
            ("shared", self.shared && !other.shared),
        ];
        buckets
            .into_iter()
            .filter_map(|(name, is_beyond)| is_beyond.then_some(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn combines_grants() {
        let (shared, caller) = (
            KeyValueGrant {
                shared: true,
                caller: false,
            },
            KeyValueGrant {
                shared: false,
                caller: true,
            },
        );
        let both = shared.union(caller);
        assert_eq!(
            (both.intersection(caller), shared.intersection(caller)),
            (caller, KeyValueGrant::default())
        );
        assert_eq!(both.names().collect::<Vec<_>>(), ["caller", "shared"]);
        assert_eq!(
            both.lines_beyond(shared).collect::<Vec<_>>(),
            ["key-value caller"]
        );
        assert_eq!(caller.lines_beyond(both).count(), 0);
    }
}
