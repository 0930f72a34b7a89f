//! Tests of whole schemas.

mod attacks;
mod errors;
mod suite;

use serde_json::Value;

use crate::{Effort, InvalidSchema, JsonSchema, SchemaError, pattern};

/// Sufficient for each value of these tests, and small enough for a test that ends soon.
const UNITS: u64 = 2_000_000;

fn compile(schema: &Value) -> Result<JsonSchema, InvalidSchema> {
    JsonSchema::compile(schema, pattern::size_limit(1))
}

fn validate(schema: &JsonSchema, value: &Value) -> Result<(), SchemaError> {
    schema.validate(value, &mut Effort::new(UNITS))
}

/// Compiles a valid schema.
fn valid(schema: &Value) -> JsonSchema {
    compile(schema).unwrap_or_else(|error| panic!("{schema}: {error}"))
}
