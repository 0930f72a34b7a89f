//! What is known about the content of a watched URI. A client that stores this state, and watches the URI again after a
//! restart of the server, is notified only if the content differs.

use serde::{Deserialize, Serialize};

use larder_model::name::Digest;

/// Identifies the content of a URI at the time of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContentFingerprint {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "digest_text")]
    pub(crate) digest: Option<Digest>,
}

/// What a check found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ContentState {
    /// No provider has the URI.
    Missing,
    /// The URI has content.
    Present(ContentFingerprint),
}

impl ContentFingerprint {
    /// Returns whether the content may differ. Versions differ whenever the content does, also between
    /// revisions.
    pub(crate) fn differs(&self, other: &Self) -> bool {
        let versions = self
            .version
            .as_ref()
            .zip(other.version.as_ref())
            .map(|(a, b)| a != b);
        let digests = self.digest.zip(other.digest).map(|(a, b)| a != b);
        match (versions, digests) {
            (None, None) => true,
            (versions, digests) => versions == Some(true) || digests == Some(true),
        }
    }
}

impl ContentState {
    /// Returns whether the content may differ.
    pub(crate) fn differs(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Missing, Self::Missing) => false,
            (Self::Present(one), Self::Present(other)) => one.differs(other),
            (Self::Missing, Self::Present(_)) | (Self::Present(_), Self::Missing) => true,
        }
    }
}

/// Writes a digest as text.
mod digest_text {
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    use larder_model::name::Digest;

    pub(super) fn serialize<S: Serializer>(
        digest: &Option<Digest>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match digest {
            Some(digest) => serializer.collect_str(&format_args!("sha256:{digest}")),
            None => serializer.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Digest>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        text.map(|text| Digest::parse(&text).map_err(D::Error::custom))
            .transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_state_is_read_again() {
        let fingerprint = |version: Option<&str>, digest: Option<&str>| ContentFingerprint {
            version: version.map(ToOwned::to_owned),
            digest: digest.map(|content| Digest::of(content.as_bytes())),
        };
        let states = [(Some("1"), None), (None, Some("a")), (Some("1"), Some("a"))];
        let states =
            states.map(|(version, digest)| ContentState::Present(fingerprint(version, digest)));
        for state in states.into_iter().chain([ContentState::Missing]) {
            let text = serde_json::to_string(&state).unwrap();
            let read: ContentState = serde_json::from_str(&text).unwrap();
            assert!(read == state && !read.differs(&state), "{text}");
        }
        assert!(
            serde_json::from_str::<ContentState>(r#"{"Present":{"digest":"sha256:00"}}"#).is_err()
        );
    }
}
