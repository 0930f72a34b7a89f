//! Skills: folders that the operator grants as skills, with the bytes of their last snapshot.

use std::sync::Arc;

use super::audit_record::{AuditRecord, written};
use super::view::{TeamCatalog, View};
use super::{Error, Gateway};
use crate::catalog::Offer;
use larder_model::resource::{Call, Entry, Freshness, Page, ReadResult};
use larder_model::uri::Uri;
use larder_runtime::metrics::CacheResult;
use larder_skills::{ProviderSkills, Skill, SkillFile};

impl Gateway {
    /// Returns the skill with this URI, and how long it may be cached.
    pub async fn skill(
        &self,
        call: &Arc<Call>,
        uri: &Uri,
    ) -> Result<(Arc<Skill>, Freshness), Error> {
        let mut record = self
            .begin_record("get-skill", call, Some(uri.as_str()))
            .await?;
        let result = self.find_skill(call, uri, &mut record);
        written(record.end_with_items(&result, |_| 1)).await?;
        result.map(|skill| (skill, self.definitions_freshness()))
    }

    fn find_skill(
        &self,
        call: &Arc<Call>,
        uri: &Uri,
        record: &mut AuditRecord<'_>,
    ) -> Result<Arc<Skill>, Error> {
        let view = self.view(call);
        Self::refresh_stale_lists(&view);
        let unknown = || {
            let uri = uri.to_string();
            view.unknown_uri(&uri.clone(), Error::UnknownSkill { uri })
        };
        let mut skills = view.skills();
        let (offer, skill) = skills
            .find(|(_, skill)| skill.uri() == uri)
            .ok_or_else(unknown)?;
        record.set_provider(offer);
        offer.provider.charge_bytes(skill.manifest_size());
        Ok(skill.clone())
    }

    /// Returns the content of a file of a skill. The provider is not called.
    pub(super) fn read_skill_file(
        call: &Arc<Call>,
        offer: &Offer,
        file: &SkillFile,
        known_version: Option<&str>,
        record: &mut AuditRecord<'_>,
    ) -> Result<ReadResult, Error> {
        let uri = file.uri.as_str();
        let not_found = || Error::NotFound { uri: uri.into() };
        offer.permit(call).map_err(|_| not_found())?;
        record.set_provider(offer);
        let exceeded = |error| Error::from_call(offer, uri, None, error);
        offer.provider.check_byte_quota().map_err(exceeded)?;
        record.set_result(true, None);
        offer.provider.metrics().record_read(CacheResult::Hit);
        if known_version.is_some() && file.result.version.as_deref() == known_version {
            return Err(Error::NotModified {
                uri: uri.into(),
                version: known_version.map(ToOwned::to_owned),
            });
        }
        offer.provider.charge_bytes(file.result.wire_size());
        Ok(file.result.clone())
    }

    /// Replaces the entries of `SKILL.md` by entries with the names and descriptions of the skills.
    pub(super) fn with_skill_entries(
        &self,
        call: &Arc<Call>,
        mut page: Page<Arc<Entry>>,
    ) -> Page<Arc<Entry>> {
        let view = self.view(call);
        for entry in &mut page.items {
            if let Some(of_skill) = view.skill_entry(&entry.uri) {
                *entry = of_skill.clone();
            }
        }
        page
    }
}

impl View {
    /// Returns all skills of the caller, in order.
    pub(super) fn skills(&self) -> impl Iterator<Item = (&Arc<Offer>, &Arc<Skill>)> {
        let all = self.teams().iter().flat_map(TeamCatalog::skills);
        all.filter(|(offer, skill)| self.serves(offer, skill))
    }

    /// Whether the caller reads all files of a skill from its snapshot.
    fn serves(&self, offer: &Arc<Offer>, skill: &Skill) -> bool {
        let is_snapshot = |file: &Arc<SkillFile>| {
            let served = self.skill_file(&file.uri);
            served.is_some_and(|(_, served)| Arc::ptr_eq(served, file))
        };
        self.ownership(offer)
            .is_some_and(|ownership| ownership.has_no_collisions())
            || skill.files.iter().all(is_snapshot)
    }

    /// Returns the file with this URI, if it is a file of a skill that the caller reads.
    pub(super) fn skill_file(&self, uri: &Uri) -> Option<(&Arc<Offer>, &Arc<SkillFile>)> {
        let (at, found) = self.find_first(|team| team.skill_file(uri))?;
        (!self.is_covered_before(at, uri)).then_some(found)
    }

    /// Returns the entry of the skill whose `SKILL.md` has this URI.
    pub(super) fn skill_entry(&self, uri: &Uri) -> Option<&Arc<Entry>> {
        if !uri.as_str().ends_with("/SKILL.md") {
            return None;
        }
        let (offer, _) = self.skill_file(uri)?;
        let mut skills = self.teams().iter().flat_map(TeamCatalog::skills);
        let (_, skill) =
            skills.find(|(owner, skill)| Arc::ptr_eq(owner, offer) && skill.uri() == uri)?;
        Some(&skill.entry)
    }
}

impl TeamCatalog {
    /// Returns the skills of the providers that may offer skills now.
    fn skills(&self) -> impl Iterator<Item = (&Arc<Offer>, &Arc<Skill>)> {
        let granted = self.offers().iter().filter(|offer| offer.grant().skills);
        granted.flat_map(|offer| {
            let skills = self.skills_of(offer);
            let skills = skills.map_or(&[][..], |skills| skills.skills());
            skills.iter().map(move |skill| (offer, skill))
        })
    }

    /// Returns the skills and pages of a provider that are offered now.
    pub(super) fn skills_of(&self, offer: &Offer) -> Option<&Arc<ProviderSkills>> {
        self.skills.as_ref()?.of(offer.name())
    }

    /// Returns the entries of the files of skills that the catalog does not hold.
    pub(super) fn unlisted_skill_files(&self, offer: &Offer) -> &[Arc<Entry>] {
        let granted = self.skills_of(offer).filter(|_| offer.grant().skills);
        granted.map_or(&[], |skills| skills.unlisted())
    }

    /// Whether a read of a page tries this provider first, so that its snapshot is the page.
    fn has_approved_page(&self, offer: &Arc<Offer>, uri: &Uri) -> bool {
        let owner = self.catalog.first_owner(uri);
        offer.has_approved_pages() && owner.is_none_or(|owner| Arc::ptr_eq(owner, offer))
    }

    /// Returns the file of a skill or the page with this URI.
    fn skill_file(&self, uri: &Uri) -> Option<(&Arc<Offer>, &Arc<SkillFile>)> {
        let mut found = self.skills.as_ref()?.files(uri).filter_map(|(name, file)| {
            let offer = self.catalog.offer(name)?;
            Some((offer, file))
        });
        found.find(|(offer, _)| self.is_read_from_snapshot(offer, uri))
    }

    fn is_read_from_snapshot(&self, offer: &Arc<Offer>, uri: &Uri) -> bool {
        if offer.pages.contains(uri) {
            return self.has_approved_page(offer, uri);
        }
        let owner = self.catalog.by_uri(uri.as_str());
        offer.grant().skills && owner.is_none_or(|owner| Arc::ptr_eq(owner, offer))
    }
}
