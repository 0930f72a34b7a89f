//! The compiled schemas of tools.

use std::sync::Arc;

use larder_json_schema::JsonSchema;
use serde_json::Value;

/// Maximum effort of a validation: about a tenth of a second.
pub const MAX_EFFORT: u64 = 10_000_000;

/// The compiled schemas of a tool.
#[derive(Debug, Clone)]
pub struct ToolSchemas {
    /// The schema of the tool's arguments.
    pub input: Arc<JsonSchema>,
    /// The schema of the tool's structured result.
    pub output: Option<Arc<JsonSchema>>,
}

/// What is validated in a call of a tool.
#[derive(Debug, Clone)]
pub struct ToolValidation {
    /// The name of the tool, for the log.
    pub name: String,
    /// The schemas.
    pub schemas: ToolSchemas,
    /// The arguments of the call.
    pub arguments: Arc<Value>,
}
