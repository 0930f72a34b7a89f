//! The results of resolving references. They are kept in the store, so that a restart serves the same images as before.

use std::time::{Duration, SystemTime};

use larder_model::name::Digest;
use serde::{Deserialize, Serialize};

/// The use of a reference: one provider of one team.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ResolutionKey {
    /// Distinguishes servers that share a store, such as the path of their configuration file.
    pub server: String,
    /// The team.
    pub team: String,
    /// The provider.
    pub provider: String,
    /// The reference.
    pub reference: String,
}

/// The result of resolving a reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolution {
    /// The image that is served: the digest of its manifest.
    pub accepted: Digest,
    /// The newest image. After a tag was moved, it differs from `accepted` until the update is accepted.
    pub latest: Digest,
    /// The digest in the lock file when `accepted` was set. If the lock file has another digest, that digest is
    /// accepted.
    pub locked: Option<Digest>,
    /// When the registry was last called.
    pub checked: SystemTime,
}

/// A resolution in its stored form.
#[derive(Serialize, Deserialize)]
pub(crate) struct StoredResolution {
    accepted: String,
    latest: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    locked: Option<String>,
    checked: u64,
}

impl ResolutionKey {
    /// Returns a file name for this use of the reference.
    pub(crate) fn file_name(&self) -> String {
        let Self {
            server,
            team,
            provider,
            reference,
        } = self;
        Digest::of(
            [server, team, provider, reference]
                .map(|part| format!("{}:{part}", part.len()))
                .concat()
                .as_bytes(),
        )
        .to_string()
    }
}

impl From<&Resolution> for StoredResolution {
    fn from(resolution: &Resolution) -> Self {
        let since = resolution
            .checked
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        Self {
            accepted: format!("sha256:{}", resolution.accepted),
            latest: format!("sha256:{}", resolution.latest),
            locked: resolution.locked.map(|digest| format!("sha256:{digest}")),
            checked: since.as_secs(),
        }
    }
}

impl StoredResolution {
    /// Returns the resolution. `None` if the record is damaged: then the reference is resolved again.
    pub(crate) fn parse(self) -> Option<Resolution> {
        Some(Resolution {
            accepted: Digest::parse(&self.accepted).ok()?,
            latest: Digest::parse(&self.latest).ok()?,
            locked: self.locked.and_then(|text| Digest::parse(&text).ok()),
            checked: SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(self.checked))?,
        })
    }
}
