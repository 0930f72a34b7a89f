//! JSON Schemas from providers, for the arguments and results of tools. Each is compiled once. A schema comes from a
//! guest, so it cannot refer to other documents, and the effort of each validation is bounded.

mod effort;

use std::fmt::Write as _;

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;
use serde_json::value::RawValue;

use self::effort::{Effort, EffortKeyword};

/// Maximum number of errors in a message. Models correct a few errors at a time.
const MAX_ERRORS: usize = 5;
/// Maximum length of one error, which can quote the instance.
const MAX_ERROR_LENGTH: usize = 300;
/// Maximum size of a compiled regular expression.
const MAX_PATTERN_SIZE: usize = 1 << 20;

/// A compiled schema.
pub(crate) struct JsonSchema {
    validator: Validator,
}

/// Why a value is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SchemaError {
    /// The value does not match the schema. The texts say where and why.
    #[error("{0}")]
    Mismatch(String),
    /// The validation takes too much effort.
    #[error("the schema needs too much time to validate this value")]
    TooMuchEffort,
}

impl JsonSchema {
    /// Compiles a schema: draft 2020-12, unless the schema names another one.
    pub(crate) fn compile(schema: &RawValue) -> Result<Self, String> {
        let mut schema: Value = serde_json::from_str(schema.get()).map_err(|error| error.to_string())?;
        effort::instrument(&mut schema)?;
        let patterns = PatternOptions::regex().size_limit(MAX_PATTERN_SIZE).dfa_size_limit(MAX_PATTERN_SIZE);
        let options = jsonschema::options()
            .with_pattern_options(patterns)
            .with_keyword(effort::KEYWORD, |_, weight, _| Ok(Box::new(EffortKeyword::new(weight))));
        let validator = options.build(&schema).map_err(|error| shorten(&error.to_string()))?;
        Ok(Self { validator })
    }

    /// Validates a value.
    pub(crate) fn validate(&self, value: &Value) -> Result<(), SchemaError> {
        let errors = Effort::default().limit(|| match self.validator.is_valid(value) {
            true => String::new(),
            false => self.describe_errors(value),
        });
        match errors {
            Some(errors) if errors.is_empty() => Ok(()),
            Some(errors) => Err(SchemaError::Mismatch(errors)),
            None => Err(SchemaError::TooMuchEffort),
        }
    }

    fn describe_errors(&self, value: &Value) -> String {
        let mut text = String::new();
        for error in self.validator.iter_errors(value).take(MAX_ERRORS) {
            let separator = if text.is_empty() { "" } else { "; " };
            let path = error.instance_path().to_string();
            let place = if path.is_empty() { String::new() } else { format!("`{path}`: ") };
            // Writing to a string cannot fail.
            _ = write!(text, "{separator}{place}{}", shorten(&error.to_string()));
        }
        text
    }
}

impl std::fmt::Debug for JsonSchema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JsonSchema")
    }
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(MAX_ERROR_LENGTH) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn compile(schema: &Value) -> Result<JsonSchema, String> {
        JsonSchema::compile(&serde_json::value::to_raw_value(schema).unwrap())
    }

    #[test]
    fn says_where_a_value_does_not_match() {
        let schema = compile(&json!({
            "type": "object",
            "properties": { "count": { "type": "integer", "minimum": 1 }, "unit": { "enum": ["day", "week"] } },
            "required": ["unit"],
            "additionalProperties": false,
        }))
        .unwrap();
        assert_eq!(schema.validate(&json!({ "unit": "day", "count": 2 })), Ok(()));
        let wrong = schema.validate(&json!({ "count": 0, "x": 1 })).unwrap_err().to_string();
        for part in ["`/count`: 0 is less than the minimum of 1", "\"unit\" is a required property", "'x'"] {
            assert!(wrong.contains(part), "{part} in {wrong}");
        }
    }

    #[test]
    fn refers_to_no_other_document() {
        for reference in ["https://example.com/schema.json", "file:///etc/passwd", "other.json"] {
            let schema = json!({ "type": "object", "properties": { "a": { "$ref": reference } } });
            assert!(compile(&schema).is_err(), "{reference}");
        }
        let own =
            json!({ "properties": { "a": { "$ref": "#/$defs/a" } }, "$defs": { "a": { "type": "string" } } });
        assert!(compile(&own).unwrap().validate(&json!({ "a": 1 })).is_err());
    }

    #[test]
    fn rejects_invalid_schemas_and_patterns() {
        for schema in [
            json!({ "type": "strange" }),
            json!({ "properties": [] }),
            json!({ "pattern": "(" }),
            json!({ "pattern": "(?=a)" }),
            json!({ "pattern": "((a{1000}){1000}){1000}" }),
        ] {
            assert!(compile(&schema).is_err(), "{schema}");
        }
    }

    #[test]
    fn bounds_the_effort() {
        // Each level of the value is validated twice as often as the level above it.
        let branch = json!({ "properties": { "a": { "$ref": "#" } } });
        let schema =
            compile(&json!({ "anyOf": [branch, branch, { "const": 1 }], "not": { "const": 2 } })).unwrap();
        let nested = |levels| (0..levels).fold(json!(2), |value, _| json!({ "a": value }));
        assert!(matches!(schema.validate(&nested(3)), Err(SchemaError::Mismatch(_))));
        let start = std::time::Instant::now();
        assert_eq!(schema.validate(&nested(60)), Err(SchemaError::TooMuchEffort));
        assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
        // A reference that leads to itself ends as well.
        let endless =
            json!({ "$ref": "#/$defs/a", "$defs": { "a": { "allOf": [{ "$ref": "#/$defs/a" }] } } });
        let _ = compile(&endless).map(|schema| schema.validate(&json!(1)));
    }

    #[test]
    fn long_lists_of_values_count() {
        let values: Vec<_> = (0..5_000).map(|n| json!(format!("value {n}"))).collect();
        let schema = compile(&json!({ "items": { "enum": values } })).unwrap();
        let items: Vec<_> = (0..100_000).map(|n| json!(format!("{n}"))).collect();
        assert!(schema.validate(&json!(items)).is_err());
        assert_eq!(schema.validate(&json!(["value 1", "value 4999"])), Ok(()));
    }
}
