//! The skills and the pages of apps of a provider, which are published as a whole, and those of all providers of a team.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

use super::not_a_skill::NotASkill;
use super::skill::{Skill, SkillFile};
use larder_model::name::ProviderName;
use larder_model::resource::Entry;
use larder_model::uri::Uri;

/// The skills and the pages of one provider at one time.
#[derive(Debug, Default, Clone)]
pub struct ProviderSkills {
    skills: Vec<Arc<Skill>>,
    pages: Vec<Arc<SkillFile>>,
    problems: Vec<SkillProblem>,
    /// The pages, and the files of all skills.
    files: HashMap<Uri, Arc<SkillFile>>,
    unlisted: Vec<Arc<Entry>>,
}

/// What is not offered as a skill or as a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillProblem {
    /// The URI of the `SKILL.md` or of the page.
    pub uri: Uri,
    /// Whether this is a page.
    pub is_page: bool,
    /// Why it is not offered.
    pub reason: NotASkill,
}

impl fmt::Display for SkillProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.is_page { "page" } else { "skill" };
        write!(f, "{} is not a {what}: {}", self.uri, self.reason)
    }
}

impl ProviderSkills {
    /// Adds a skill. Skills are added in the order of their URIs.
    pub fn add(&mut self, skill: Arc<Skill>) {
        let files = skill.files.iter();
        self.files
            .extend(files.map(|file| (file.uri.clone(), file.clone())));
        self.skills.push(skill);
    }

    /// Adds a page.
    pub fn add_page(&mut self, page: Arc<SkillFile>) {
        self.files.insert(page.uri.clone(), page.clone());
        self.pages.push(page);
    }

    /// Sets the entries of files of skills that the catalog does not hold, sorted by URI.
    pub fn set_unlisted(&mut self, entries: Vec<Arc<Entry>>) {
        self.unlisted = entries;
    }

    /// Adds something that is not offered.
    pub fn add_problem(&mut self, problem: SkillProblem) {
        self.problems.push(problem);
    }

    /// The skills, sorted by URI.
    pub fn skills(&self) -> &[Arc<Skill>] {
        &self.skills
    }

    /// The pages, sorted by URI.
    pub fn pages(&self) -> &[Arc<SkillFile>] {
        &self.pages
    }

    /// Returns the skill with this URI.
    pub fn skill(&self, uri: &Uri) -> Option<&Arc<Skill>> {
        self.skills.iter().find(|skill| skill.uri() == uri)
    }

    /// Returns the page with this URI.
    pub fn page(&self, uri: &Uri) -> Option<&Arc<SkillFile>> {
        self.pages.iter().find(|page| page.uri == *uri)
    }

    /// The entries of files of skills that the catalog does not hold, sorted by URI.
    pub fn unlisted(&self) -> &[Arc<Entry>] {
        &self.unlisted
    }

    /// What is not offered.
    pub fn problems(&self) -> &[SkillProblem] {
        &self.problems
    }

    /// Returns a page or a file of a skill.
    pub fn file(&self, uri: &Uri) -> Option<&Arc<SkillFile>> {
        self.files.get(uri)
    }

    /// All pages, and all files of all skills.
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

    /// Whether both have the same pages, and the same skills with the same files.
    pub fn has_same_skills(&self, other: &Self) -> bool {
        let mut skills = self.skills.iter().zip(&other.skills);
        let mut pages = self.pages.iter().zip(&other.pages);
        self.skills.len() == other.skills.len()
            && self.pages.len() == other.pages.len()
            && skills.all(|(a, b)| a.uri() == b.uri() && a.has_same_content(b))
            && pages.all(|(a, b)| a.has_same_content(b))
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
