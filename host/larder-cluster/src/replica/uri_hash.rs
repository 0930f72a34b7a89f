//! The hashes that replicas send instead of watched URIs, and the digest of a set of hashes.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use larder_model::name::{Digest, TeamName};
use larder_model::uri::Uri;

/// The size of a hash in bytes.
const HASH_BYTES: usize = 16;

/// The hash of a URI that a team watches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct UriHash(pub(super) u128);

impl UriHash {
    /// Computes the hash. No team has a name with a zero byte, so no two pairs have the same text.
    pub(crate) fn of(team: &TeamName, uri: &Uri) -> Self {
        let mut text = Vec::with_capacity(
            team.as_str()
                .len()
                .saturating_add(uri.as_str().len())
                .saturating_add(1),
        );
        text.extend_from_slice(team.as_str().as_bytes());
        text.push(0);
        text.extend_from_slice(uri.as_str().as_bytes());
        let mut bytes = [0; HASH_BYTES];
        bytes.copy_from_slice(&Digest::of(&text).bytes()[..HASH_BYTES]);
        Self(u128::from_be_bytes(bytes))
    }
}

/// The digest of a set of hashes. Adding or removing one hash takes the same time for a set of any size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct SetDigest {
    /// The number of hashes.
    pub(crate) count: u64,
    #[serde(serialize_with = "write_hex", deserialize_with = "read_hex")]
    exclusive_or: u128,
}

impl SetDigest {
    /// Adds a hash that is not in the set.
    pub(super) fn add(&mut self, hash: UriHash) {
        self.count = self.count.saturating_add(1);
        self.exclusive_or ^= hash.0;
    }

    /// Removes a hash of the set.
    pub(super) fn remove(&mut self, hash: UriHash) {
        self.count = self.count.saturating_sub(1);
        self.exclusive_or ^= hash.0;
    }
}

/// Hashes in a message: base64 of all of them, because there can be thousands.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct HashList(pub(crate) Vec<UriHash>);

impl Serialize for HashList {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let bytes: Vec<u8> = self
            .0
            .iter()
            .flat_map(|hash| hash.0.to_be_bytes())
            .collect();
        serializer.serialize_str(&base64_simd::STANDARD.encode_to_string(bytes))
    }
}

impl<'de> Deserialize<'de> for HashList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = base64_simd::STANDARD
            .decode_to_vec(text)
            .map_err(D::Error::custom)?;
        let (hashes, rest) = bytes.as_chunks::<HASH_BYTES>();
        if !rest.is_empty() {
            return Err(D::Error::custom("incomplete hash"));
        }
        Ok(Self(
            hashes
                .iter()
                .map(|hash| UriHash(u128::from_be_bytes(*hash)))
                .collect(),
        ))
    }
}

// Numbers in JSON have 64 bits.
fn write_hex<S: Serializer>(value: &u128, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&format!("{value:032x}"))
}

fn read_hex<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u128, D::Error> {
    u128::from_str_radix(&String::deserialize(deserializer)?, 16).map_err(D::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_team_has_hashes_of_its_own() {
        let hash = |team: &str, uri: &str| {
            UriHash::of(&TeamName::parse(team).unwrap(), &Uri::parse(uri).unwrap())
        };
        assert_eq!(hash("a", "x://b"), hash("a", "x://b"));
        assert_ne!(hash("a", "x://b"), hash("b", "x://b"));
        assert_ne!(hash("a", "x://b"), hash("a", "x://c"));
    }

    #[test]
    fn hashes_and_digests_survive_a_message() {
        let hashes = HashList(vec![UriHash(1), UriHash(u128::MAX)]);
        let text = serde_json::to_string(&hashes).unwrap();
        assert_eq!(serde_json::from_str::<HashList>(&text).unwrap(), hashes);
        assert!(serde_json::from_str::<HashList>("\"AAAA\"").is_err());
        let mut digest = SetDigest::default();
        hashes.0.iter().for_each(|hash| digest.add(*hash));
        let text = serde_json::to_string(&digest).unwrap();
        assert_eq!(serde_json::from_str::<SetDigest>(&text).unwrap(), digest);
        hashes.0.iter().for_each(|hash| digest.remove(*hash));
        assert_eq!(digest, SetDigest::default());
    }
}
