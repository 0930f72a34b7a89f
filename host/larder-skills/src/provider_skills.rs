//! The skills of a provider, which are published as a whole, and those of all providers of a team.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

use super::not_a_skill::NotASkill;
use super::skill::{Skill, SkillFile};
use larder_model::name::ProviderName;
use larder_model::uri::Uri;

/// The skills of one provider at one time.
#[derive(Debug, Default)]
pub struct ProviderSkills {
    skills: Vec<Arc<Skill>>,
    problems: Vec<SkillProblem>,
    /// The files of all skills.
    files: HashMap<Uri, Arc<SkillFile>>,
}

/// A folder that is not offered as a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillProblem {
    /// The URI of its `SKILL.md`.
    pub uri: Uri,
    /// Why it is not a skill.
    pub reason: NotASkill,
}

impl fmt::Display for SkillProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is not a skill: {}", self.uri, self.reason)
    }
}

impl ProviderSkills {
    /// Adds a skill. Skills are added in the order of their URIs.
    pub fn add(&mut self, skill: Skill) {
        let files = skill.files.iter();
        self.files
            .extend(files.map(|file| (file.uri.clone(), file.clone())));
        self.skills.push(Arc::new(skill));
    }

    /// Adds a folder that is not a skill.
    pub fn add_problem(&mut self, uri: Uri, reason: NotASkill) {
        self.problems.push(SkillProblem { uri, reason });
    }

    /// The skills, sorted by URI.
    pub fn skills(&self) -> &[Arc<Skill>] {
        &self.skills
    }

    /// The folders that are not skills.
    pub fn problems(&self) -> &[SkillProblem] {
        &self.problems
    }

    /// Returns a file of a skill.
    pub fn file(&self, uri: &Uri) -> Option<&Arc<SkillFile>> {
        self.files.get(uri)
    }

    /// All files of all skills.
    pub fn files(&self) -> impl Iterator<Item = &Arc<SkillFile>> {
        self.files.values()
    }

    /// Returns the URIs of the files that are new, gone or different, compared with these skills.
    pub fn changed_files<'a>(&'a self, before: &'a Self) -> impl Iterator<Item = &'a Uri> {
        let is_changed = move |file: &&Arc<SkillFile>| {
            let old = before.file(&file.uri);
            old.is_none_or(|old| !old.has_same_content(file))
        };
        let gone = before
            .files()
            .filter(move |file| self.file(&file.uri).is_none());
        let changed = self.files().filter(is_changed);
        changed.chain(gone).map(|file| &file.uri)
    }

    /// The memory that the files and manifests take, in bytes.
    pub fn bytes(&self) -> u64 {
        let files = self.files.values().map(|file| file.size).sum::<u64>();
        let manifests = self.skills.iter().map(|skill| skill.manifest_size() as u64);
        files + manifests.sum::<u64>()
    }

    /// Whether both have the same skills with the same files.
    pub fn has_same_skills(&self, other: &Self) -> bool {
        let mut pairs = self.skills.iter().zip(&other.skills);
        self.skills.len() == other.skills.len()
            && pairs.all(|(a, b)| a.uri() == b.uri() && a.has_same_content(b))
    }
}

/// The skills of the providers of a team.
#[derive(Debug, Default, Clone)]
pub struct TeamSkills(BTreeMap<ProviderName, Arc<ProviderSkills>>);

impl TeamSkills {
    /// Returns the skills of a provider. `None` if they are not known yet.
    pub fn of(&self, provider: &ProviderName) -> Option<&Arc<ProviderSkills>> {
        self.0.get(provider)
    }

    /// Returns the file with this URI from each provider that has it in a skill.
    pub fn files<'a>(
        &'a self,
        uri: &Uri,
    ) -> impl Iterator<Item = (&'a ProviderName, &'a Arc<SkillFile>)> {
        let all = self.0.iter();
        all.filter_map(|(name, skills)| Some((name, skills.file(uri)?)))
    }

    /// Replaces the skills of a provider, or removes them.
    pub fn set(&mut self, provider: &ProviderName, skills: Option<Arc<ProviderSkills>>) {
        match skills {
            Some(skills) => self.0.insert(provider.clone(), skills),
            None => self.0.remove(provider),
        };
    }

    /// The providers whose skills are known.
    pub fn providers(&self) -> impl Iterator<Item = &ProviderName> {
        self.0.keys()
    }

    /// The memory that the skills of all providers except this one take, in bytes.
    pub fn bytes_without(&self, provider: &ProviderName) -> u64 {
        let others = self.0.iter().filter(|(name, _)| *name != provider);
        others.map(|(_, skills)| skills.bytes()).sum()
    }
}
