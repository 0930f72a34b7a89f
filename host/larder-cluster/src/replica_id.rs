//! The id of a replica. It is random for each process, because a restarted process does not have the state of its
//! predecessor.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::ClusterError;
use larder_model::name::ReplicaName;

/// The id of a replica, written as 16 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ReplicaId(u64);

impl ReplicaId {
    /// Chooses a new id.
    pub(crate) fn random() -> Result<Self, ClusterError> {
        let mut bytes = [0; 8];
        getrandom::fill(&mut bytes).map_err(ClusterError::Random)?;
        Ok(Self(u64::from_le_bytes(bytes)))
    }

    /// Parses the text that `Display` writes.
    pub fn parse(text: &str) -> Option<Self> {
        let is_plain = text.len() == 16
            && text
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        u64::from_str_radix(text, 16)
            .ok()
            .filter(|_| is_plain)
            .map(Self)
    }

    /// The id as a number.
    pub(crate) fn number(self) -> u64 {
        self.0
    }

    /// The id as a name, for a replica without a configured name.
    pub fn as_name(self) -> ReplicaName {
        ReplicaName::of_number(self.0)
    }

    #[cfg(test)]
    pub(crate) fn of(number: u64) -> Self {
        Self(number)
    }
}

impl fmt::Display for ReplicaId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for ReplicaId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl TryFrom<String> for ReplicaId {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).ok_or("not the id of a replica")
    }
}

impl From<ReplicaId> for String {
    fn from(id: ReplicaId) -> Self {
        id.to_string()
    }
}
