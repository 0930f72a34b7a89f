//! The tool `compare_releases`.

use larder_provider::{Call, Result, ToolResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::changelog::{Release, releases};
use crate::{Changelog, load};

/// The host validates the arguments with the schema of this type. The comments on the fields are part of the schema.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Versions {
    /// The older version.
    pub(crate) from: String,
    /// The newer version.
    pub(crate) to: String,
}

#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Comparison {
    pub(crate) changes: Vec<Change>,
}

#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Change {
    pub(crate) version: String,
    pub(crate) kind: String,
    pub(crate) item: String,
}

impl Changelog {
    pub(crate) fn compare(&self, call: &Call<Versions>) -> Result<ToolResult<Comparison>> {
        let releases = releases(&load()?);
        let index = |version: &str| {
            releases
                .iter()
                .position(|release| release.version == version)
        };
        // The newest release is the first.
        let (older, newer) = match (index(&call.arguments.from), index(&call.arguments.to)) {
            (Some(older), Some(newer)) => (older, newer),
            (None, _) => return Ok(unknown(&call.arguments.from, &releases)),
            (_, None) => return Ok(unknown(&call.arguments.to, &releases)),
        };
        let changes: Vec<Change> = releases[newer.min(older)..older]
            .iter()
            .flat_map(changes)
            .collect();
        let lines: Vec<String> = changes
            .iter()
            .map(
                |Change {
                     version,
                     kind,
                     item,
                 }| format!("{version} {kind}: {item}"),
            )
            .collect();
        let text = if lines.is_empty() {
            "Nothing changed.".to_owned()
        } else {
            lines.join("\n")
        };
        Ok(ToolResult::structured(Comparison { changes }).content(text))
    }
}

fn changes(release: &Release) -> Vec<Change> {
    let change = |kind: &str, item| Change {
        version: release.version.clone(),
        kind: kind.to_owned(),
        item,
    };
    let by_kind = release.changes().into_iter();
    by_kind
        .flat_map(|(kind, items)| items.into_iter().map(move |item| change(kind, item)))
        .collect()
}

/// A result that the model reads and can act on. An `Err` would end the request.
fn unknown(version: &str, releases: &[Release]) -> ToolResult<Comparison> {
    let known: Vec<&str> = releases
        .iter()
        .map(|release| release.version.as_str())
        .collect();
    ToolResult::error(format!(
        "There is no release `{version}`. Known releases: {}.",
        known.join(", ")
    ))
}
