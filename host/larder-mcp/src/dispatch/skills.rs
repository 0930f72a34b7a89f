//! The methods of the skills extension.

use super::{Context, ResultMetadata};
use crate::outgoing::waiting_bytes::ChargedResponse;
use crate::render::skills::skill_json;
use crate::wire::rpc_error::DispatchError;
use larder_model::uri::Uri;

impl Context<'_> {
    /// `skills/list`.
    pub(super) async fn skills(
        self,
        cursor: Option<&str>,
    ) -> Result<ChargedResponse, DispatchError> {
        let page = self.gateway().skills(self.call, cursor).await?;
        let items = page.items.iter().map(|skill| skill_json(skill));
        Ok(self.page(&page, "skills", items)?)
    }

    /// `skills/get`.
    pub(super) async fn skill(self, uri: &Uri) -> Result<ChargedResponse, DispatchError> {
        let (skill, freshness) = self.gateway().skill(self.call, uri).await?;
        let json = skill_json(&skill);
        let metadata = ResultMetadata {
            freshness: Some(freshness),
            ..ResultMetadata::default()
        };
        let out = self.output(json.len())?;
        Ok(self.result_in(out, metadata, |o| o.json_bytes("skill", json))?)
    }

    /// `resources/directory/read`.
    pub(super) async fn directory(
        self,
        uri: &Uri,
        cursor: Option<&str>,
    ) -> Result<ChargedResponse, DispatchError> {
        let page = self.gateway().directory(self.call, uri, cursor).await?;
        Ok(self.entry_page(&page)?)
    }
}
