//! The skills of a provider, as operators see them.

use serde::{Deserialize, Serialize};

use larder_skills::ProviderSkills;

/// Maximum number of folders that are described.
const MAX_PROBLEMS: usize = 100;

/// The skills of a provider.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SkillStatus {
    /// The number of skills that clients can get.
    pub skills: usize,
    /// The bytes of their files, which are in memory.
    pub bytes: u64,
    /// The folders that are not skills, and why, up to a limit.
    pub problems: Vec<String>,
}

impl SkillStatus {
    pub(super) fn of(skills: &ProviderSkills) -> Self {
        let problems = skills.problems().iter().take(MAX_PROBLEMS);
        Self {
            skills: skills.skills().len(),
            bytes: skills.bytes(),
            problems: problems.map(ToString::to_string).collect(),
        }
    }
}
