//! The tool `draft_release`, which asks the user for the version.

use larder_provider::{Answer, Call, InputRequest, Result, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::changelog::releases;
use crate::{Changelog, load};

/// The form that the client shows.
#[derive(Deserialize, JsonSchema)]
struct Form {
    /// Such as 1.2.0
    version: String,
}

impl Changelog {
    // Called twice: first without input, then with the response to the request that the first call returned.
    pub(crate) fn draft(&self, call: &Call) -> Result<Answer> {
        let releases = releases(&load()?);
        let Some(unreleased) = releases
            .iter()
            .find(|release| release.version == "Unreleased")
        else {
            return Ok(ToolResult::error("There is nothing to release.").into());
        };
        let Some(input) = &call.input else {
            let request = InputRequest::elicit::<Form>("version", "Which version is released?");
            return Ok(request.state(unreleased.digest()).into());
        };
        let Some(Form { version }) = input.accepted("version")? else {
            return Ok(ToolResult::text("No release was drafted.").into());
        };
        if !input.has_state(unreleased.digest()) {
            return Ok(ToolResult::error("The changelog has changed: draft again.").into());
        }
        let (_, changes) = unreleased.text.split_once('\n').unwrap_or_default();
        Ok(ToolResult::text(format!("## [{version}]\n{changes}")).into())
    }
}
