//! Restores the approved content of skills and pages after a restart of the server.

use std::sync::Arc;

use crate::reconcile::Approvals;
use larder_model::name::{Digest, TeamName};
use larder_model::uri::Uri;
use larder_skills::{ProviderSkills, SkillFile};

/// A skill or page whose approved content is not known.
#[derive(Debug)]
pub(super) struct MissingContent {
    pub(super) uri: Uri,
    pub(super) is_page: bool,
    /// The digest of the approved content.
    pub(super) pin: Digest,
}

/// Reads approved content from the state folder.
#[derive(Debug)]
pub(super) struct SnapshotReader {
    pub(super) approvals: Approvals,
    pub(super) team: TeamName,
    /// The skills as they are now. A skill that does not exist any more is not restored.
    pub(super) built: Arc<ProviderSkills>,
    /// The content that is known already.
    pub(super) known: ProviderSkills,
}

impl SnapshotReader {
    /// Returns all known content.
    pub(super) fn read(mut self, missing: Vec<MissingContent>) -> ProviderSkills {
        for content in missing {
            let uri = &content.uri;
            match self.approvals.snapshot(&self.team, content.pin) {
                Ok(Some(files)) => self.add(&content, files),
                Ok(None) => tracing::debug!(%uri, "the approved content is not stored"),
                Err(error) => tracing::warn!(%uri, %error, "cannot restore the approved content"),
            }
        }
        self.known
    }

    /// Adds the files of a skill or a page, if they have the digest of its pin.
    fn add(&mut self, content: &MissingContent, files: Vec<Arc<SkillFile>>) {
        if content.is_page {
            let is_pinned =
                |page: &Arc<SkillFile>| page.uri == content.uri && page.digest == content.pin;
            if let Some(page) = files.into_iter().next().filter(is_pinned) {
                self.known.add_page(page);
                return;
            }
        } else if let Some(skill) = self.built.skill(&content.uri)
            && let Ok(skill) = skill.with_files(files)
            && skill.digest() == content.pin
            && self.has_no_other_content(&skill.files)
        {
            self.known.add(Arc::new(skill));
            return;
        }
        tracing::warn!(uri = %content.uri, "the stored content is not the approved content");
    }

    /// Whether these files are the same in the other skills. A file inside two skills has one content only.
    fn has_no_other_content(&self, files: &[Arc<SkillFile>]) -> bool {
        files.iter().all(|file| {
            let other = self.known.file(&file.uri);
            other.is_none_or(|other| other.has_same_content(file))
        })
    }
}
