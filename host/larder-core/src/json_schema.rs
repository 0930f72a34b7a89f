//! JSON Schemas from providers, for the arguments and results of tools. Each is compiled once. A schema comes from a
//! guest, so it cannot refer to other documents, and the effort of each validation is bounded.

mod counted;
mod effort;
pub(crate) mod pattern;

use std::fmt::Write as _;

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;
use serde_json::value::RawValue;

use self::counted::{Counted, CountedNode, EffortKeyword};
use self::effort::Effort;

/// Maximum number of errors in a message. Models correct a few errors at a time.
const MAX_ERRORS: usize = 5;
/// Maximum length of one error, which can quote the instance.
const MAX_ERROR_LENGTH: usize = 300;

/// A compiled schema.
pub(crate) struct JsonSchema {
    validator: Validator<Counted>,
    effort: Effort,
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
    /// Compiles a schema: draft 2020-12, unless the schema names another one. Each of its regular expressions may have
    /// this size.
    pub(crate) fn compile(schema: &RawValue, pattern_size: usize) -> Result<Self, String> {
        let mut schema: Value = serde_json::from_str(schema.get()).map_err(|error| error.to_string())?;
        let effort = effort::instrument(&mut schema)?;
        let patterns = PatternOptions::regex().size_limit(pattern_size).dfa_size_limit(pattern_size);
        let options = jsonschema::options_for::<Counted>()
            .with_pattern_options(patterns)
            .with_keyword(effort::KEYWORD, |_, weight, _| Ok(Box::new(EffortKeyword::new(weight))));
        let validator = options.build(&schema).map_err(|error| shorten(&explain(&error.to_string())))?;
        Ok(Self { validator, effort })
    }

    /// Validates a value.
    pub(crate) fn validate(&self, value: &Value) -> Result<(), SchemaError> {
        let errors = self.effort.limit(|| match self.validator.is_valid(CountedNode(value)) {
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
        for error in self.validator.iter_errors(CountedNode(value)).take(MAX_ERRORS) {
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

/// Explains why a schema was not compiled. The texts of the crate name its features and types.
fn explain(error: &str) -> String {
    if let Some(pattern) = error.strip_suffix(" is not a \"regex\"") {
        return format!(
            "the regular expression {pattern} is invalid or too large, or has look-around or back references"
        );
    }
    match error.split_once(" is not present in a registry") {
        Some((resource, _)) => format!("it refers to another document, which is not supported: {resource}"),
        None => error.to_owned(),
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
        JsonSchema::compile(&serde_json::value::to_raw_value(schema).unwrap(), pattern::size_limit(1))
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
    fn regular_expressions_count() {
        let start = std::time::Instant::now();
        let mut state = 1_u32;
        // An automaton needs ever new states for this text.
        let irregular = (0..500_000).map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if state >> 31 == 0 { 'a' } else { 'b' }
        });
        let text = json!(irregular.collect::<String>());
        for (pattern, expected) in [("^[ab]*$", None), ("(a|b|aa)+$", None), ("[ab]*a[ab]{500}c", Some(()))] {
            let schema = compile(&json!({ "pattern": pattern })).unwrap();
            let is_refused = schema.validate(&text) == Err(SchemaError::TooMuchEffort);
            assert_eq!(is_refused.then_some(()), expected, "{pattern}");
        }
        let names = compile(
            &json!({ "patternProperties": { "[0-9]*1[0-9]{50}c": true, "[0-9]*2[0-9]{50}c": true } }),
        )
        .unwrap();
        let members: serde_json::Map<_, _> = (0..10_000).map(|n| (format!("{n:0>60}"), json!(1))).collect();
        assert_eq!(names.validate(&Value::Object(members)), Err(SchemaError::TooMuchEffort));
        assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
    }

    /// Schemas of 60 levels, each of which is evaluated twice for the level above it.
    #[test]
    fn schemas_that_double_are_bounded_whether_they_hold_or_fail() {
        let start = std::time::Instant::now();
        let leaves = [
            ("allOf", json!({})),
            ("allOf", json!(true)),
            ("allOf", json!({ "type": "string" })),
            ("anyOf", json!(false)),
            ("anyOf", json!({ "not": true })),
            ("anyOf", json!({ "not": {} })),
            ("anyOf", json!({ "type": "number" })),
            ("anyOf", json!({ "const": 1 })),
            ("anyOf", json!({ "enum": ["b", "c"] })),
            ("anyOf", json!({ "minLength": 2 })),
            ("anyOf", json!({ "pattern": "b" })),
            ("anyOf", json!({ "if": true, "then": false })),
            ("anyOf", json!({ "oneOf": [true, true] })),
            (
                "anyOf",
                json!({ "x": true, "oneOf": [{ "$ref": "#/$defs/a60/x" }, { "$ref": "#/$defs/a60/x" }] }),
            ),
        ];
        for (keyword, leaf) in leaves {
            let link = |n: usize| json!({ "$ref": format!("#/$defs/a{n}") });
            let defs: serde_json::Map<_, _> =
                (0..60).map(|n| (format!("a{n}"), json!({ keyword: [link(n + 1), link(n + 1)] }))).collect();
            let mut schema = json!({ "$ref": "#/$defs/a0", "$defs": defs });
            schema["$defs"]["a60"] = leaf.clone();
            let validated = compile(&schema).unwrap().validate(&json!("a"));
            // The crate may find out when it compiles that the same is evaluated twice.
            let is_quick = matches!(validated, Ok(()) | Err(SchemaError::Mismatch(_)));
            assert!(
                is_quick || validated == Err(SchemaError::TooMuchEffort),
                "{keyword} {leaf}: {validated:?}"
            );
        }
        assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
    }

    #[test]
    fn nothing_refers_to_what_is_not_counted() {
        for target in [
            "#/additionalProperties",
            "#/uniqueItems",
            "#/x/const",
            "#/%78",
            "http://a/#/additionalProperties",
        ] {
            let schema =
                json!({ "$id": "http://a/", "$ref": target, "x": false, "additionalProperties": false });
            assert!(compile(&schema).is_err(), "{target}");
        }
        let own = json!({ "$ref": "#/$defs/const", "$defs": { "const": { "type": "string" } }, "uniqueItems": false });
        assert!(compile(&own).unwrap().validate(&json!(1)).is_err());
        let strict = compile(&json!({ "properties": { "a": false }, "items": false, "not": false })).unwrap();
        assert!(strict.validate(&json!({ "a": 1 })).is_err() && strict.validate(&json!([1])).is_err());
        assert_eq!(strict.validate(&json!({ "b": 1 })), Ok(()));
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
