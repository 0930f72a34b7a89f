//! Tests of the error texts.

use serde_json::json;

use super::{compile, valid, validate};
use crate::SchemaError;

#[test]
fn say_where_a_value_does_not_match() {
    let schema = valid(&json!({
        "type": "object",
        "properties": { "count": { "type": "integer", "minimum": 1 }, "unit": { "enum": ["day", "week"] } },
        "required": ["unit"],
        "additionalProperties": false,
    }));
    assert_eq!(
        validate(&schema, &json!({ "unit": "day", "count": 2 })),
        Ok(())
    );
    let wrong = validate(&schema, &json!({ "count": 0, "x": 1 }))
        .unwrap_err()
        .to_string();
    assert_eq!(
        wrong,
        "\"unit\" is a required property; `/count`: 0 is less than the minimum of 1; \
         Additional properties are not allowed ('x' was unexpected)"
    );
}

#[test]
fn name_the_keyword_that_fails() {
    for (schema, value, expected) in [
        (
            json!({ "type": "string" }),
            json!(1),
            "1 is not of type \"string\"",
        ),
        (
            json!({ "type": ["integer", "string"] }),
            json!(null),
            "null is not of types \"integer\", \"string\"",
        ),
        (json!({ "const": 2 }), json!(5), "2 was expected"),
        (
            json!({ "enum": [1, 2, 3, "x"] }),
            json!(4),
            "4 is not one of 1, 2, 3, \"x\"",
        ),
        (
            json!({ "exclusiveMaximum": 3 }),
            json!(3.0),
            "3.0 is greater than or equal to the maximum of 3",
        ),
        (
            json!({ "exclusiveMinimum": 1 }),
            json!(1),
            "1 is less than or equal to the minimum of 1",
        ),
        (
            json!({ "maximum": 3 }),
            json!(3.5),
            "3.5 is greater than the maximum of 3",
        ),
        (
            json!({ "multipleOf": 0.1 }),
            json!(0.35),
            "0.35 is not a multiple of 0.1",
        ),
        (
            json!({ "maxItems": 2 }),
            json!([1, 2, 3]),
            "[1,2,3] has more than 2 items",
        ),
        (
            json!({ "minItems": 1 }),
            json!([]),
            "[] has less than 1 item",
        ),
        (
            json!({ "maxLength": 2 }),
            json!("foo"),
            "\"foo\" has more than 2 characters",
        ),
        (
            json!({ "minProperties": 2 }),
            json!({}),
            "{} has less than 2 properties",
        ),
        (
            json!({ "pattern": "^a*$" }),
            json!("abc"),
            "\"abc\" does not match \"^a*$\"",
        ),
        (
            json!({ "uniqueItems": true }),
            json!([1, 1.0]),
            "[1,1.0] has equal items",
        ),
        (
            json!({ "contains": { "const": 5 } }),
            json!([2]),
            "[2] has less than 1 items that match `contains`",
        ),
        (
            json!({ "not": { "type": "null" } }),
            json!(null),
            "null is valid under the schema in `not`",
        ),
        (
            json!({ "anyOf": [false] }),
            json!(1),
            "1 is not valid under any of the schemas in `anyOf`",
        ),
        (
            json!({ "oneOf": [true, {}] }),
            json!(1),
            "1 is valid under more than one of the schemas in `oneOf`",
        ),
        (
            json!({ "dependentRequired": { "a": ["b"] } }),
            json!({ "a": 1 }),
            "\"b\" is a required property",
        ),
        (
            json!({ "items": { "$ref": "#/$defs/a" }, "$defs": { "a": false } }),
            json!([0]),
            "`/0`: no value is allowed here",
        ),
        (
            json!({ "propertyNames": { "maxLength": 1 } }),
            json!({ "ab": 1 }),
            "`/ab`: \"ab\" has more than 1 character",
        ),
        (
            json!({ "properties": { "a": true }, "unevaluatedProperties": false }),
            json!({ "b": 1, "c": 2 }),
            "Unevaluated properties are not allowed ('b', 'c' were unexpected)",
        ),
    ] {
        assert_eq!(
            validate(&valid(&schema), &value),
            Err(SchemaError::Mismatch(expected.into())),
            "{schema}"
        );
    }
}

#[test]
fn are_few_and_short() {
    let schema = valid(&json!({ "items": { "type": "string", "minLength": 1 } }));
    let long = json!({ "x".repeat(1_000): "y".repeat(1_000_000) });
    let error = validate(&schema, &json!(vec![long; 100]))
        .unwrap_err()
        .to_string();
    assert_eq!(error.matches("is not of type \"string\"").count(), 5);
    assert!(error.chars().count() < 5 * 300, "{error}");
}

#[test]
fn of_schemas_say_what_to_change() {
    for (schema, expected) in [
        (
            json!({ "type": "strange" }),
            "`type` must be the name of a type, or an array of different names",
        ),
        (
            json!({ "properties": [] }),
            "`properties` must be an object",
        ),
        (
            json!({ "properties": { "a": 1 } }),
            "a schema must be an object or a boolean",
        ),
        (
            json!({ "required": "a" }),
            "`required` must be an array of different strings",
        ),
        (
            json!({ "minLength": -1 }),
            "`minLength` must be an integer that is not negative",
        ),
        (
            json!({ "multipleOf": 0 }),
            "`multipleOf` must be a number above zero",
        ),
        (json!({ "items": [{}] }), "`items` must be a schema"),
        (
            json!({ "anyOf": [] }),
            "`anyOf` must be an array of at least one schema",
        ),
        (
            json!({ "description": 1 }),
            "`description` must be a string",
        ),
        (
            json!({ "exclusiveMinimum": true }),
            "`exclusiveMinimum` must be a number",
        ),
        (
            json!({ "$defs": { "a": { "type": 1 } } }),
            "`type` must be the name of a type, or an array of different names",
        ),
        (
            json!({ "$ref": "#/$defs/a" }),
            "the reference `#/$defs/a` leads to nothing in the schema",
        ),
        (
            json!({ "$ref": "#a" }),
            "the reference `#a` leads to nothing in the schema",
        ),
        (json!(1), "a schema must be an object or a boolean"),
        (
            json!({ "pattern": "(?=a)" }),
            "the regular expression \"(?=a)\" is invalid or too large, or has look-around or back references",
        ),
        (
            json!({ "$schema": "http://example.com/own" }),
            "the `$schema` \"http://example.com/own\" is not supported; use draft 2020-12, 2019-09, 7, 6 or 4",
        ),
    ] {
        assert_eq!(
            compile(&schema).unwrap_err().to_string(),
            expected,
            "{schema}"
        );
    }
}

#[test]
fn nothing_refers_to_another_document() {
    for reference in [
        "https://example.com/schema.json",
        "file:///etc/passwd",
        "other.json",
        "#x/y z",
        "%",
    ] {
        let schema = json!({ "type": "object", "properties": { "a": { "$ref": reference } } });
        assert!(compile(&schema).is_err(), "{reference}");
    }
    // A schema without a reference to it may be incomplete.
    let unused = json!({ "$defs": { "a": { "items": { "$ref": "#/$defs/missing" } } }, "not": { "$ref": "#/$defs/a" } });
    assert!(compile(&unused).is_err());
    assert!(compile(&json!({ "$defs": unused["$defs"] })).is_ok());
    let own = valid(&json!({
        "$id": "https://example.com/a/b.json",
        "$defs": { "c": { "$id": "c.json", "type": "string" } },
        "properties": { "x": { "$ref": "https://example.com/a/c.json" }, "y": { "$ref": "#/additionalProperties" } },
        "additionalProperties": false,
    }));
    assert!(validate(&own, &json!({ "x": "" })).is_ok());
    assert!(validate(&own, &json!({ "x": 1 })).is_err());
    assert!(validate(&own, &json!({ "y": 1 })).is_err());
}
