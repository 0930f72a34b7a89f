//! The prompt `announce_release`.

use larder_provider::{
    ArgumentQuery, Completion, EmbeddedResource, Error, PromptRequest, PromptResult, Result,
};

use crate::changelog::releases;
use crate::{Changelog, RELEASES, load};

impl Changelog {
    pub(crate) fn announce(&self, request: &PromptRequest) -> Result<PromptResult> {
        let version = request.argument("version")?;
        let tone = request.optional("tone").filter(|tone| !tone.is_empty());
        let manner = tone
            .map(|tone| format!(", in a {tone} tone"))
            .unwrap_or_default();
        let releases = releases(&load()?);
        let release = releases.iter().find(|release| release.version == version);
        let release =
            release.ok_or_else(|| Error::invalid(format!("there is no release `{version}`")))?;
        let text = format!(
            "Write an announcement of release {version} for its users{manner}. Name the most important change first."
        );
        let content = EmbeddedResource::text(format!("{RELEASES}{version}"), &release.text);
        Ok(PromptResult::new()
            .description(format!("Announcement of release {version}"))
            .user(text)
            .user(content.mime("text/markdown")))
    }

    pub(crate) fn complete_version(&self, query: &ArgumentQuery) -> Result<Completion> {
        let versions = releases(&load()?)
            .into_iter()
            .map(|release| release.version);
        Ok(Completion::matching(versions, &query.prefix))
    }
}
