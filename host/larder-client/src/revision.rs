//! The protocol revisions that this client supports.

use std::fmt;
use std::str::FromStr;

/// A revision of the protocol: 2026-07-28, or an older revision, which begins with a handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Revision(&'static str);

/// A revision that this client does not support.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "this client does not support revision {what}; it supports {}",
    Revision::ALL.map(Revision::as_str).join(", ")
)]
pub struct UnknownRevision {
    what: String,
}

impl Revision {
    /// All supported revisions, newest first.
    pub const ALL: [Self; 5] = [
        Self::MODERN,
        Self("2025-11-25"),
        Self("2025-06-18"),
        Self("2025-03-26"),
        Self("2024-11-05"),
    ];
    /// The revision with self-contained requests.
    pub const MODERN: Self = Self("2026-07-28");
    /// The newest revision that begins with a handshake.
    pub const LEGACY: Self = Self("2025-11-25");

    /// Returns the name on the wire.
    pub fn as_str(self) -> &'static str {
        self.0
    }

    /// Returns whether requests are self-contained, without a handshake.
    pub fn is_modern(self) -> bool {
        self == Self::MODERN
    }
}

impl FromStr for Revision {
    type Err = UnknownRevision;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.into_iter().find(|known| known.0 == text);
        known.ok_or_else(|| UnknownRevision {
            what: text.escape_debug().take(40).collect(),
        })
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_unknown_revisions() {
        assert_eq!("2025-11-25".parse(), Ok(Revision::LEGACY));
        let error = "2025-11-26".parse::<Revision>().unwrap_err().to_string();
        assert!(
            error.contains("2025-11-26; it supports 2026-07-28, 2025-11-25"),
            "{error}"
        );
    }
}
