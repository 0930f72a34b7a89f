//! Builds the skills of one provider from its list and its files, and reads the pages of its apps.
//!
//! All skills are built from one list. A file with a version in the list must have that version when it is read. Files
//! without one are read twice. So the files of a skill are from the same time.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::long_list;
use crate::catalog::{Catalog, Offer};
use crate::host_reads;
use larder_model::resource::Entry;
use larder_model::uri::Uri;
use larder_provider::CallError;
use larder_skills::{
    NotASkill, ProviderSkills, Skill, SkillFile, SkillFolder, SkillProblem, skill_folders,
};

/// What a build has to do.
#[derive(Debug)]
pub(super) struct BuildRequest {
    /// Files that have to be read, also if the list has their known version.
    pub(super) updated: HashSet<Uri>,
    /// Whether a file that does not match the list excludes its skills, instead of all skills.
    pub(super) is_last_attempt: bool,
}

/// Builds the skills of one provider.
pub(super) struct Build<'a> {
    catalog: &'a Arc<Catalog>,
    offer: &'a Arc<Offer>,
    /// The last skills, if the same revision returned them.
    known: Option<&'a Arc<ProviderSkills>>,
    request: BuildRequest,
    /// The bytes that all skills may take, and those that are left.
    room: u64,
    left: u64,
    files: HashMap<Uri, Arc<SkillFile>>,
    /// Whether files may be missing, because the list is too long.
    is_list_partial: bool,
    list_time: Duration,
}

/// What a build returns.
pub(super) struct BuiltContent {
    pub(super) skills: ProviderSkills,
    /// How long the provider took to list what the catalog does not hold.
    pub(super) list_time: Duration,
}

/// Why the skills of a provider cannot be built now.
#[derive(Debug)]
pub(super) enum Obstacle {
    /// A file does not match the list, so that one of them is old.
    Changing(Uri),
    /// The provider cannot answer now.
    Provider(CallError),
}

/// Why a folder has no skill.
enum Failure {
    NotASkill(NotASkill),
    Obstacle(Obstacle),
}

impl Obstacle {
    /// How long to wait at least.
    pub(super) fn pause(&self) -> Duration {
        match self {
            Self::Provider(CallError::QuotaExceeded(exceeded)) => exceeded.retry,
            Self::Provider(CallError::CircuitOpen(time)) => *time,
            _ => Duration::ZERO,
        }
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Changing(uri) => write!(f, "{uri} changed while it was read"),
            Self::Provider(error) => write!(f, "the provider cannot answer: {error}"),
        }
    }
}

impl From<NotASkill> for Failure {
    fn from(reason: NotASkill) -> Self {
        Self::NotASkill(reason)
    }
}

impl<'a> Build<'a> {
    pub(super) fn new(
        catalog: &'a Arc<Catalog>,
        offer: &'a Arc<Offer>,
        known: Option<&'a Arc<ProviderSkills>>,
        room: u64,
        request: BuildRequest,
    ) -> Self {
        Self {
            catalog,
            offer,
            known,
            request,
            room,
            left: room,
            files: HashMap::new(),
            is_list_partial: false,
            list_time: Duration::ZERO,
        }
    }

    pub(super) async fn run(mut self) -> Result<BuiltContent, Obstacle> {
        let mut built = ProviderSkills::default();
        let offer = self.offer;
        let has_skills = offer.grant().skills;
        let long_list = self.long_list().await?;
        let entries = long_list.as_deref().unwrap_or(&offer.entries);
        for folder in skill_folders(entries).filter(|_| has_skills) {
            let uri = &folder.skill_md.uri;
            let skill = self.skill(&folder).await.map(Arc::new);
            if let Some(skill) = unless_problem(skill, uri, false, &mut built)? {
                built.add(skill);
            }
        }
        if let Some(entries) = &long_list {
            built.set_unlisted(unlisted(offer, entries, &built));
        }
        for uri in offer.pages.iter().filter(|_| offer.has_approved_pages()) {
            let page = self.page(uri).await;
            if let Some(page) = unless_problem(page, uri, true, &mut built)? {
                built.add_page(page);
            }
        }
        Ok(BuiltContent {
            skills: built,
            list_time: self.list_time,
        })
    }

    /// Returns the entries of the skills, if the list is longer than the catalog.
    async fn long_list(&mut self) -> Result<Option<Vec<Arc<Entry>>>, Obstacle> {
        let offer = self.offer;
        let is_long = offer.next_cursor.is_some() && !offer.is_personal();
        if !is_long || !offer.grant().skills {
            return Ok(None);
        }
        let start = Instant::now();
        let entries = long_list::skill_entries(self.catalog, offer).await;
        let entries = entries.map_err(Obstacle::Provider)?;
        self.list_time = start.elapsed();
        self.is_list_partial = entries.is_none();
        Ok(entries)
    }

    /// Reads a page. The metadata of its content is restricted in each read, so only its HTML is compared.
    async fn page(&mut self, uri: &Uri) -> Result<Arc<SkillFile>, Failure> {
        let page = self.read_unlisted(uri, self.known_page(uri)).await?;
        self.take_room(page.size)?;
        Ok(page)
    }

    fn known_page(&self, uri: &Uri) -> Option<&'a Arc<SkillFile>> {
        self.known?.page(uri)
    }

    /// Reduces the room for the following skills and pages.
    fn take_room(&mut self, bytes: u64) -> Result<(), NotASkill> {
        let left = self.left.checked_sub(bytes);
        self.left = left.ok_or(NotASkill::NoRoom(self.room))?;
        Ok(())
    }

    async fn skill(&mut self, folder: &SkillFolder<'_>) -> Result<Skill, Failure> {
        self.check_list()?;
        let entries = folder.files()?;
        let skill_md = self.file(folder.skill_md).await?;
        let front_matter = folder.front_matter(&skill_md)?;
        let mut files = Vec::with_capacity(entries.len());
        let mut added = 0;
        for entry in &entries {
            let is_new = !self.files.contains_key(&entry.uri);
            let file = self.file(entry).await?;
            added += if is_new { file.size } else { 0 };
            if added > self.left {
                return Err(NotASkill::NoRoom(self.room).into());
            }
            files.push(file);
        }
        self.confirm(&entries).await?;
        let skill = Skill::new(folder, front_matter, files)?;
        added += skill.manifest_size() as u64;
        self.take_room(added)?;
        Ok(skill)
    }

    /// Checks that the list has all files, and that it is the same for all callers.
    fn check_list(&self) -> Result<(), NotASkill> {
        if self.offer.is_personal() {
            return Err(NotASkill::PersonalList);
        }
        if self.is_list_partial {
            return Err(NotASkill::PartialList);
        }
        Ok(())
    }

    /// Returns a file, which is read at most once.
    async fn file(&mut self, entry: &Entry) -> Result<Arc<SkillFile>, Failure> {
        if let Some(file) = self.files.get(&entry.uri) {
            return Ok(file.clone());
        }
        let known = self.known.and_then(|known| known.file(&entry.uri)).cloned();
        let file = match known {
            Some(known) if self.is_current(&known, entry) => known,
            known => self.read(entry, known.as_ref()).await?,
        };
        self.files.insert(entry.uri.clone(), file.clone());
        Ok(file)
    }

    /// Whether the list has the version of a known file.
    fn is_current(&self, known: &SkillFile, entry: &Entry) -> bool {
        let is_listed = entry.version.is_some() && entry.version == known.result.version;
        is_listed && !self.request.updated.contains(&entry.uri)
    }

    async fn read(
        &self,
        entry: &Entry,
        known: Option<&Arc<SkillFile>>,
    ) -> Result<Arc<SkillFile>, Failure> {
        let uri = &entry.uri;
        let file = self.read_unlisted(uri, known).await?;
        let versions = entry.version.as_ref().zip(file.result.version.as_ref());
        if versions.is_some_and(|(listed, read)| listed != read) {
            return Err(self.changing(uri));
        }
        Ok(file)
    }

    /// Reads a file without a comparison with its entry.
    async fn read_unlisted(
        &self,
        uri: &Uri,
        known: Option<&Arc<SkillFile>>,
    ) -> Result<Arc<SkillFile>, Failure> {
        let known_version = known.and_then(|known| known.result.version.clone());
        let result = host_reads::read(self.catalog, self.offer, uri, known_version).await;
        let file = match (result, known) {
            (Err(CallError::NotModified), Some(known)) => known.clone(),
            (Ok(result), _) if host_reads::belongs_to_caller(&result) => {
                return Err(NotASkill::NeedsCaller(uri.to_string()).into());
            }
            (Ok(result), _) => Arc::new(SkillFile::new(uri.clone(), result)?),
            (Err(error), _) => return Err(self.failure(uri, error)),
        };
        Ok(file)
    }

    fn failure(&self, uri: &Uri, error: CallError) -> Failure {
        match error {
            CallError::NotFound => self.changing(uri),
            CallError::Busy
            | CallError::NoMemory
            | CallError::QuotaExceeded(_)
            | CallError::CircuitOpen(_)
            | CallError::Unavailable(_) => Failure::Obstacle(Obstacle::Provider(error)),
            CallError::Denied(_) | CallError::Invalid(_) | CallError::Refused(_) => {
                NotASkill::NeedsCaller(uri.to_string()).into()
            }
            error => NotASkill::Unreadable {
                uri: uri.to_string(),
                message: error.to_string(),
            }
            .into(),
        }
    }

    /// The list or the file is old. Later both may be from the same time.
    fn changing(&self, uri: &Uri) -> Failure {
        if self.request.is_last_attempt {
            NotASkill::Unstable(uri.to_string()).into()
        } else {
            Failure::Obstacle(Obstacle::Changing(uri.clone()))
        }
    }

    /// Reads the files without a version in the list again, and compares.
    async fn confirm(&self, entries: &[&Arc<Entry>]) -> Result<(), Failure> {
        for entry in entries.iter().filter(|entry| entry.version.is_none()) {
            let Some(file) = self.files.get(&entry.uri) else {
                continue;
            };
            let again = self.read(entry, Some(file)).await?;
            if !again.has_same_content(file) {
                return Err(self.changing(&entry.uri));
            }
        }
        Ok(())
    }
}

/// Returns the entries of files of skills that the catalog does not hold.
fn unlisted(offer: &Offer, entries: &[Arc<Entry>], built: &ProviderSkills) -> Vec<Arc<Entry>> {
    let files = entries
        .iter()
        .filter(|entry| built.file(&entry.uri).is_some());
    files
        .filter(|entry| offer.listed_entry(&entry.uri).is_none())
        .cloned()
        .collect()
}

/// Adds the reason why something is not offered to the problems. Fails if nothing can be built now.
fn unless_problem<T>(
    result: Result<T, Failure>,
    uri: &Uri,
    is_page: bool,
    built: &mut ProviderSkills,
) -> Result<Option<T>, Obstacle> {
    match result {
        Ok(offered) => Ok(Some(offered)),
        Err(Failure::Obstacle(obstacle)) => Err(obstacle),
        Err(Failure::NotASkill(reason)) => {
            built.add_problem(SkillProblem {
                uri: uri.clone(),
                is_page,
                reason,
            });
            Ok(None)
        }
    }
}
