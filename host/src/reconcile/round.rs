//! What came of one round, in one line that a person understands.

use std::fmt;
use std::time::Duration;

use crate::catalog::{Collision, Rejected};
use crate::name::ProviderName;

/// What one round changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Round {
    /// New or newer providers.
    pub loaded: Vec<ProviderName>,
    /// Components that were rejected now.
    pub rejected: Vec<Rejected>,
    /// Providers that are not there any more.
    pub gone: Vec<ProviderName>,
    /// All that two providers offer, as it stands.
    pub collisions: Vec<Collision>,
    /// The folder itself could not be looked at.
    pub trouble: Option<String>,
    /// How long it took.
    pub took: Duration,
}

impl fmt::Display for Round {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names =
            |names: &[ProviderName]| names.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let mut parts = Vec::new();
        parts.extend(self.trouble.clone());
        if !self.loaded.is_empty() {
            parts.push(format!("loaded {}", names(&self.loaded)));
        }
        parts.extend(self.rejected.iter().map(|line| format!("rejected {}: {}", line.file, line.reason)));
        if !self.gone.is_empty() {
            parts.push(format!("gone {}", names(&self.gone)));
        }
        if parts.is_empty() {
            parts.push("nothing new".into());
        }
        write!(f, "{} (in {:.1?})", parts.join("; "), self.took)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_is_one_line() {
        let name = |name| ProviderName::parse(name).unwrap();
        let rejected = Rejected { file: "c.wasm".into(), digest: None, reason: "the file is empty".into() };
        let round = Round {
            loaded: vec![name("a"), name("b")],
            rejected: vec![rejected],
            took: Duration::from_millis(12),
            ..Round::default()
        };
        assert_eq!(round.to_string(), "loaded a, b; rejected c.wasm: the file is empty (in 12.0ms)");
        assert_eq!(Round::default().to_string(), "nothing new (in 0.0ns)");
    }
}
