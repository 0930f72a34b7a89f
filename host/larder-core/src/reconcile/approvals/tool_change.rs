//! The definitions of tools that wait for approval, as `larder approve` shows them.

use serde::{Deserialize, Serialize};

use crate::catalog::{WithheldTool, tool_json};

/// Maximum bytes of the definitions of one request.
const MAX_BYTES: usize = 256 << 10;

/// A tool whose definition waits for approval.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ToolChange {
    /// The name that clients see.
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
    pub(super) fn all(withheld: &[WithheldTool]) -> Vec<Self> {
        let mut left = MAX_BYTES;
        let mut fitting = |json: String| {
            left = left.checked_sub(json.len())?;
            Some(json)
        };
        let change = |withheld: &WithheldTool| Self {
            name: withheld.tool.name.to_string(),
            after: fitting(tool_json(&withheld.tool.tool)),
            before: withheld
                .before
                .as_ref()
                .and_then(|tool| fitting(tool_json(&tool.tool))),
        };
        withheld.iter().map(change).collect()
    }
}
