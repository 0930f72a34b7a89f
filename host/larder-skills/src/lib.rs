//! Skills among the resources of a provider, as the extension `io.modelcontextprotocol/skills` defines them: which
//! folders are skills, what their front matter says, and the manifest of their files. Also the folders of URIs, which
//! the extension can list. Nothing here calls a provider.

#![cfg_attr(test, allow(clippy::too_many_lines, reason = "tables are long"))]

pub mod directory;
mod folder;
mod front_matter;
mod not_a_skill;
mod provider_skills;
mod skill;
mod yaml;

pub use self::folder::{SkillFolder, SkillFolders, skill_folders};
pub use self::front_matter::{FrontMatter, FrontMatterError};
pub use self::not_a_skill::NotASkill;
pub use self::provider_skills::{ProviderSkills, SkillProblem, TeamSkills};
pub use self::skill::{Skill, SkillFile};
pub use self::yaml::YamlError;
