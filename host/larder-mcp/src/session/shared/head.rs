//! The part of a stored session that all replicas have: its owner, when it was used, and what changed last.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::merge::SharedPart;
use crate::session::store::SessionOwner;
use larder_model::name::{TeamName, Teams};

/// The head of a stored session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::session) struct Head {
    pub(in crate::session) owner: SessionOwner,
    pub(in crate::session) last_used: SystemTime,
    /// Whether a client has an open notification stream.
    pub(in crate::session) has_stream: bool,
    /// The run of the server whose notifications the client receives.
    pub(in crate::session) run: String,
    /// The digest of the part that all replicas share.
    pub(in crate::session) shared_part: String,
    /// The size of the body.
    pub(in crate::session) bytes: usize,
}

/// The written form.
#[derive(Serialize, Deserialize)]
struct SerializedHead {
    subject: Option<String>,
    issuer: Option<String>,
    teams: Vec<String>,
    /// In milliseconds since 1970.
    last_used: u64,
    has_stream: bool,
    run: String,
    shared_part: String,
    bytes: usize,
}

impl Head {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let age = self
            .last_used
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let written = SerializedHead {
            subject: self.owner.subject.clone(),
            issuer: self.owner.issuer.clone(),
            teams: self.owner.teams.iter().map(ToString::to_string).collect(),
            last_used: u64::try_from(age.as_millis()).unwrap_or(u64::MAX),
            has_stream: self.has_stream,
            run: self.run.clone(),
            shared_part: self.shared_part.clone(),
            bytes: self.bytes,
        };
        // Texts and numbers are always written.
        serde_json::to_vec(&written).unwrap_or_default()
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let written: SerializedHead = serde_json::from_slice(bytes).ok()?;
        let teams: Option<Vec<_>> = written
            .teams
            .iter()
            .map(|team| TeamName::parse(team).ok())
            .collect();
        let owner = SessionOwner {
            subject: written.subject,
            issuer: written.issuer,
            teams: Teams::of(teams?)?,
        };
        Some(Self {
            owner,
            last_used: UNIX_EPOCH.checked_add(Duration::from_millis(written.last_used))?,
            has_stream: written.has_stream,
            run: written.run,
            shared_part: written.shared_part,
            bytes: written.bytes,
        })
    }

    /// Whether a session with this head has these subscriptions.
    pub(super) fn has(&self, part: &SharedPart) -> bool {
        self.shared_part == part.digest()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_again() {
        let teams = ["b", "a"].map(|team| TeamName::parse(team).unwrap());
        let owner = SessionOwner {
            subject: Some("ann".into()),
            issuer: None,
            teams: Teams::of(teams).unwrap(),
        };
        let last_used = UNIX_EPOCH + Duration::from_millis(1_800_000_000_123);
        let run = "r1".to_owned();
        let shared_part = SharedPart::default().digest();
        let head = Head {
            owner,
            last_used,
            has_stream: true,
            run,
            shared_part,
            bytes: 7,
        };
        assert_eq!(Head::from_bytes(&head.to_bytes()), Some(head.clone()));
        assert!(head.has(&SharedPart::default()));
        let other = String::from_utf8(head.to_bytes())
            .unwrap()
            .replace("\"a\"", "\"?\"");
        assert_eq!(
            (Head::from_bytes(other.as_bytes()), Head::from_bytes(b"{}")),
            (None, None)
        );
    }
}
