//! The definitions of tools and the contents of skills and pages that wait for approval, as `larder approve` shows them.

use serde::{Deserialize, Serialize};

use crate::catalog::{WithheldContent, WithheldTool, tool_json};

/// Maximum bytes of the definitions of one request.
const MAX_BYTES: usize = 256 << 10;

/// A tool whose definition waits for approval, or a skill or page whose content waits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ToolChange {
    /// The name of the tool that clients see; `skill` or `page` and the URI of others.
    pub name: String,
    /// The definition that was offered before, as JSON; none if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The definition that waits, as JSON; none if its size exceeds the limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

impl ToolChange {
    /// Returns the definitions of these tools until the limit of their size is reached.
    pub(super) fn all(tools: &[WithheldTool], contents: &[WithheldContent]) -> Vec<Self> {
        let mut left = MAX_BYTES;
        let mut fitting = |json: String| {
            left = left.checked_sub(json.len())?;
            Some(json)
        };
        let mut changes = Vec::new();
        for withheld in tools {
            let before = withheld.before.as_ref();
            changes.push(Self {
                name: withheld.tool.name.to_string(),
                after: fitting(tool_json(&withheld.tool.tool)),
                before: before.and_then(|tool| fitting(tool_json(&tool.tool))),
            });
        }
        for withheld in contents {
            changes.push(Self {
                name: withheld.name.clone(),
                after: fitting(withheld.after.clone()),
                before: withheld.before.clone().and_then(&mut fitting),
            });
        }
        changes
    }
}
