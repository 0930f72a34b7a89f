//! Health of the server: current problems, and whether the server should receive requests.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

/// The current problems, by the part of the server that reported them. Clones share the same problems.
#[derive(Debug, Clone, Default)]
pub struct Health(Arc<Mutex<BTreeMap<String, HealthProblem>>>);

/// A current problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HealthProblem {
    /// What is wrong, in a sentence.
    pub message: String,
    /// The requests that cannot be served because of the problem.
    pub impact: Impact,
}

/// Which requests cannot be served because of a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Impact {
    /// All requests: the server is not ready.
    AllTeams,
    /// The requests of one team. The server is not ready only if no team has a provider.
    OneTeam,
    /// No requests so far: only the operator has to act.
    OperatorOnly,
    /// No requests: the server does what the configuration says, but the operator may expect something else.
    Notice,
}

impl Impact {
    /// All impacts.
    pub const ALL: [Self; 4] = [
        Self::AllTeams,
        Self::OneTeam,
        Self::OperatorOnly,
        Self::Notice,
    ];

    /// The name in metrics.
    pub fn label(self) -> &'static str {
        match self {
            Self::AllTeams => "all-teams",
            Self::OneTeam => "one-team",
            Self::OperatorOnly => "operator-only",
            Self::Notice => "notice",
        }
    }
}

impl Health {
    /// Reports a problem of this part. The problem replaces an earlier problem of the same part.
    pub fn report(&self, part: &str, message: impl Into<String>, impact: Impact) {
        let problem = HealthProblem {
            message: message.into(),
            impact,
        };
        self.lock().insert(part.to_owned(), problem);
    }

    /// Removes the problem of this part.
    pub fn resolve(&self, part: &str) {
        self.lock().remove(part);
    }

    /// Returns all current problems.
    pub fn problems(&self) -> Vec<HealthProblem> {
        self.lock().values().cloned().collect()
    }

    /// Whether this part has a problem.
    pub fn has_problem(&self, part: &str) -> bool {
        self.lock().contains_key(part)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, HealthProblem>> {
        self.0.lock()
    }
}
