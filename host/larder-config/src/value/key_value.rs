//! `key_value`: the buckets of the key-value store that a provider may use.

use serde::Deserialize;

use larder_model::policy::KeyValueGrant;

/// The granted buckets.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(from = "Vec<Bucket>")]
pub(crate) struct KeyValue(pub(crate) KeyValueGrant);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Bucket {
    Shared,
    Caller,
}

impl From<Vec<Bucket>> for KeyValue {
    fn from(buckets: Vec<Bucket>) -> Self {
        let has = |bucket| buckets.contains(&bucket);
        Self(KeyValueGrant {
            shared: has(Bucket::Shared),
            caller: has(Bucket::Caller),
        })
    }
}
