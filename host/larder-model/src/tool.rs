//! Tools: functions of a provider that a model may call.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use serde_json::value::RawValue;

use crate::input::ProvidedInput;
use crate::message::Block;
use crate::resource::{Icon, Metadata};

/// Maximum length of the name of a tool.
const MAX_NAME: usize = 64;

/// The name of a tool, unique among the tools of a provider.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ToolName(Arc<str>);

/// Error of parsing the name of a tool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a tool name has 1 to {MAX_NAME} letters, digits, `_` or `-`")]
pub struct BadToolName;

impl ToolName {
    /// Parses a name.
    pub fn parse(text: &str) -> Result<Self, BadToolName> {
        let fits = (1..=MAX_NAME).contains(&text.len())
            && text
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
        if fits {
            Ok(Self(text.into()))
        } else {
            Err(BadToolName)
        }
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A tool, as a list contains it.
#[derive(Debug, Clone)]
pub struct Tool {
    /// The name of the tool.
    pub name: ToolName,
    /// The name of the tool for people.
    pub title: Option<String>,
    /// What the tool does.
    pub description: Option<String>,
    /// The JSON Schema of the arguments: an object whose `type` is `object`.
    pub input_schema: Box<RawValue>,
    /// The JSON Schema of [`ToolResult::structured`]. The schema is an object.
    pub output_schema: Option<Box<RawValue>>,
    /// Properties of the tool that a client may assume.
    pub hints: Hints,
    /// Icons to show.
    pub icons: Vec<Icon>,
    /// Metadata from the provider.
    pub metadata: Metadata,
}

/// Properties that a client may assume; none means unspecified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Hints {
    /// The tool changes nothing.
    pub read_only: Option<bool>,
    /// The tool may remove or overwrite something.
    pub destructive: Option<bool>,
    /// A second call with the same arguments has no further effect.
    pub idempotent: Option<bool>,
    /// The tool uses other systems.
    pub open_world: Option<bool>,
    /// A call may take long.
    pub long_running: Option<bool>,
}

/// A call of a tool.
#[derive(Debug, Clone)]
pub struct ToolCall {
    /// The name of the tool.
    pub name: ToolName,
    /// A JSON object that was validated against the schema of the tool.
    pub arguments: String,
    /// The answers of the client, if the provider requested input in an earlier call.
    pub input: Option<ProvidedInput>,
}

/// The result of a call.
#[derive(Debug, Clone)]
pub struct ToolResult {
    /// The content for the model.
    pub content: Vec<Block>,
    /// Any JSON value. It has not been validated against the schema of the tool.
    pub structured: Option<Box<RawValue>>,
    /// Whether the tool failed; the content explains it to the model.
    pub is_error: bool,
    /// Metadata from the provider.
    pub metadata: Metadata,
    /// A value that is released with the result, such as charged memory.
    pub held: Option<Arc<dyn Any + Send + Sync>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_names() {
        for good in ["a", "compare_releases", "-", "A-1", &"x".repeat(MAX_NAME)] {
            assert!(ToolName::parse(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "a b",
            "a.b",
            "a/b",
            "ü",
            "a\n",
            &"x".repeat(MAX_NAME + 1),
        ] {
            assert!(ToolName::parse(bad).is_err(), "{bad:?}");
        }
    }
}
