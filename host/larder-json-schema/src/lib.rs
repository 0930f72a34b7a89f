//! JSON Schema for schemas and values from untrusted authors: drafts 4 to 2020-12, in one document, with `format` and
//! the contents of texts as annotations. A schema is compiled once. The depth of a compilation and the depth and effort
//! of a validation are limited.

#![cfg_attr(test, allow(clippy::too_many_lines, reason = "tables are long"))]

mod compile;
mod draft;
mod effort;
mod equality;
mod error;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod node;
mod number;
pub mod pattern;
#[cfg(test)]
mod tests;
mod validate;

pub use effort::Effort;
pub use error::{InvalidSchema, SchemaError};

use serde_json::Value;

use self::node::{Node, NodeId};

/// A compiled schema.
pub struct JsonSchema {
    nodes: Vec<Node>,
    root: NodeId,
}

impl JsonSchema {
    /// Compiles a schema: draft 2020-12, unless the schema names another draft. Each regular expression in the schema
    /// may have this size.
    pub fn compile(schema: &Value, pattern_size: usize) -> Result<Self, InvalidSchema> {
        compile::compile(schema, pattern_size)
    }

    /// Validates a value.
    pub fn validate(&self, value: &Value, effort: &mut Effort<'_>) -> Result<(), SchemaError> {
        validate::validate(self, value, effort)
    }
}

impl std::fmt::Debug for JsonSchema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "JsonSchema({} nodes)", self.nodes.len())
    }
}
