//! What is not served, or not by whom it was offered, and why: for operators.

use std::collections::BTreeSet;
use std::fmt;
use std::time::SystemTime;

use crate::name::{Digest, ProviderName, TeamName};

/// A revision that waits for its operator, because it asks for more than it may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldBack {
    /// Of which team.
    pub team: TeamName,
    /// Whose revision it is.
    pub provider: ProviderName,
    /// The digest of its component.
    pub digest: Digest,
    /// What it asks for and was not approved, a line each.
    pub lines: BTreeSet<String>,
    /// Since when it is so.
    pub since: SystemTime,
}

/// A component that is not served, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejected {
    /// The name of its file.
    pub file: String,
    /// The digest of its bytes, if they could be read.
    pub digest: Option<Digest>,
    /// A sentence that names the cause.
    pub reason: String,
    /// Since when it is so.
    pub since: SystemTime,
}

/// Two providers offer the same; one of them is served without it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collision {
    /// The URI, or the text of the template.
    pub what: String,
    /// Who keeps it.
    pub keeps: ProviderName,
    /// Who is served without it.
    pub loses: ProviderName,
}

impl fmt::Display for HeldBack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { team, provider, digest, lines, .. } = self;
        let asks: Vec<&str> = lines.iter().map(String::as_str).collect();
        let (digest, asks) = (digest.short(), asks.join("`, `"));
        let team = if *team == TeamName::sole() { String::new() } else { format!(" --team {team}") };
        write!(
            f,
            "{provider} {digest} is held back until `larder approve {provider}{team}`: it asks for `{asks}`"
        )
    }
}

impl fmt::Display for Collision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, keeps, loses } = self;
        if keeps == loses {
            return write!(f, "`{what}` is listed twice by `{keeps}`; the first one is served");
        }
        write!(f, "`{what}` is offered by `{keeps}` and by `{loses}`; `{keeps}` keeps it")
    }
}

impl Rejected {
    /// The same reason as before is one since then.
    pub fn or_before(mut self, before: Option<&Self>) -> Self {
        if let Some(before) =
            before.filter(|b| (&b.file, b.digest, &b.reason) == (&self.file, self.digest, &self.reason))
        {
            self.since = before.since;
        }
        self
    }
}

impl HeldBack {
    /// Held back for the same as before, it is so since then.
    pub fn or_before(mut self, before: Option<&Self>) -> Self {
        if let Some(before) = before.filter(|b| (b.digest, &b.lines) == (self.digest, &self.lines)) {
            self.since = before.since;
        }
        self
    }
}
