//! Schemas and values that need much time or stack. All of them run on a thread with a small stack.

use serde_json::{Map, Value, json};

use super::{compile, valid, validate};
use crate::SchemaError::{TooDeep, TooMuchEffort};
use crate::fuzzing::with_small_stack;
use crate::{InvalidSchema, SchemaError};

/// Returns a link of a chain, which leads to the given reference.
type Link = fn(Value) -> Value;

fn nested(levels: usize, name: &str) -> Value {
    (0..levels).fold(json!(2), |value, _| json!({ name: value }))
}

fn nested_list(levels: usize) -> Value {
    (0..levels).fold(json!([]), |value, _| json!([value]))
}

/// A chain of schemas, each of which leads to the next schema. The last schema applies the first one to the members of
/// the value.
fn chain(length: usize, link: impl Fn(Value) -> Value, last: Value) -> Value {
    let reference = |n: usize| json!({ "$ref": format!("#/$defs/a{n}") });
    let mut definitions: Map<_, _> = (0..length)
        .map(|n| (format!("a{n}"), link(reference(n + 1))))
        .collect();
    definitions.insert(format!("a{length}"), last);
    json!({ "type": "object", "$ref": "#/$defs/a0", "$defs": definitions })
}

/// Keywords that apply a schema to the same value.
fn links() -> Vec<(&'static str, Link)> {
    vec![
        ("$ref", |next| next),
        ("allOf", |next| json!({ "allOf": [next] })),
        ("anyOf", |next| json!({ "anyOf": [next] })),
        ("oneOf", |next| json!({ "oneOf": [next] })),
        ("not", |next| json!({ "not": next })),
        ("if", |next| json!({ "if": next })),
        ("then", |next| json!({ "if": true, "then": next })),
        (
            "dependentSchemas",
            |next| json!({ "dependentSchemas": { "a": next } }),
        ),
        (
            "unevaluatedProperties",
            |next| json!({ "allOf": [next], "unevaluatedProperties": true }),
        ),
    ]
}

#[test]
fn long_chains_times_deep_values_need_little_stack() {
    with_small_stack(|| {
        for (name, link) in links() {
            for length in [1, 2, 3, 10, 30, 60, 100, 127, 128, 129, 250, 1_000] {
                let last = json!({ "additionalProperties": { "$ref": "#/$defs/a0" } });
                let compiled = compile(&chain(length, link, last));
                if length >= 129 {
                    assert_eq!(
                        compiled.unwrap_err(),
                        InvalidSchema::LongChain,
                        "{name} {length}"
                    );
                    continue;
                }
                let Ok(schema) = compiled else { continue };
                let outcome = validate(&schema, &nested(110, "a"));
                let is_expected =
                    matches!(outcome, Ok(()) | Err(TooDeep | SchemaError::Mismatch(_)));
                assert!(is_expected, "{name} {length}: {outcome:?}");
                if name == "allOf" || name == "unevaluatedProperties" {
                    assert_eq!(
                        outcome == Err(TooDeep),
                        length > 1,
                        "{name} {length}: {outcome:?}"
                    );
                }
            }
        }
    });
}

#[test]
fn keywords_for_parts_of_values_need_little_stack() {
    with_small_stack(|| {
        for schema in [
            json!({ "items": { "$ref": "#" } }),
            json!({ "prefixItems": [{ "$ref": "#" }] }),
            json!({ "contains": { "$ref": "#" } }),
            json!({ "unevaluatedItems": { "$ref": "#" } }),
            json!({ "additionalProperties": { "$ref": "#" } }),
            json!({ "properties": { "a": { "$ref": "#" } } }),
            json!({ "patternProperties": { "a": { "$ref": "#" } } }),
            json!({ "unevaluatedProperties": { "$ref": "#" } }),
            json!({ "$dynamicAnchor": "a", "additionalProperties": { "$dynamicRef": "#a" }, "items": { "$dynamicRef": "#a" } }),
            json!({ "uniqueItems": true, "const": nested(120, "b") }),
            json!({ "enum": [nested(120, "a"), nested_list(120)] }),
        ] {
            for value in [
                nested(120, "a"),
                nested_list(120),
                json!([nested_list(120), nested_list(120)]),
            ] {
                let outcome = validate(&valid(&schema), &value);
                assert!(
                    matches!(outcome, Ok(()) | Err(SchemaError::Mismatch(_))),
                    "{schema} {outcome:?}"
                );
            }
        }
    });
}

#[test]
fn a_schema_that_leads_to_itself_is_rejected() {
    with_small_stack(|| {
        for keyword in [
            "$ref",
            "allOf",
            "anyOf",
            "oneOf",
            "not",
            "if",
            "dependentSchemas",
        ] {
            let itself = json!({ "$ref": "#" });
            let schema = match keyword {
                "$ref" => itself,
                "not" | "if" => json!({ keyword: itself }),
                "dependentSchemas" => json!({ keyword: { "a": itself } }),
                _ => json!({ keyword: [itself] }),
            };
            assert_eq!(
                compile(&schema).unwrap_err(),
                InvalidSchema::Endless,
                "{schema}"
            );
        }
        // The targets of dynamic references are only known during a validation.
        let dynamic = json!({
            "$id": "http://a/", "$dynamicAnchor": "x", "allOf": [{ "$ref": "b" }],
            "$defs": { "b": { "$id": "b", "$dynamicAnchor": "x", "allOf": [{ "$dynamicRef": "#x" }] } },
        });
        assert_eq!(validate(&valid(&dynamic), &json!(1)), Err(TooDeep));
    });
}

#[test]
fn deep_schemas_need_little_stack() {
    with_small_stack(|| {
        for (before, after) in [
            ("{\"not\":", "}"),
            ("{\"allOf\":[", "]}"),
            ("{\"properties\":{\"a\":", "}}"),
            ("{\"$defs\":{\"a\":", "}}"),
            ("{\"dependencies\":{\"a\":", "}}"),
        ] {
            let most = 120 / before.matches(['{', '[']).count();
            for (levels, is_valid) in [(30, true), (most, false)] {
                let schema = format!("{}true{}", before.repeat(levels), after.repeat(levels));
                let outcome = compile(&serde_json::from_str(&schema).unwrap());
                assert!(outcome.is_ok() || !is_valid, "{schema} {outcome:?}");
            }
        }
        // A reference leads into a value that is not a schema.
        let schema = json!({ "$ref": "#/x/a", "x": nested(100, "a") });
        assert!(compile(&schema).is_ok());
    });
}

#[test]
fn the_effort_is_bounded() {
    // Each level of the value is validated twice as often as the level above.
    let branch = json!({ "properties": { "a": { "$ref": "#" } } });
    let schema =
        valid(&json!({ "anyOf": [branch, branch, { "const": 1 }], "not": { "const": 2 } }));
    assert!(matches!(
        validate(&schema, &nested(3, "a")),
        Err(SchemaError::Mismatch(_))
    ));
    assert_eq!(validate(&schema, &nested(60, "a")), Err(TooMuchEffort));
}

/// Schemas of 60 levels. Each level is evaluated twice for the level above.
#[test]
fn schemas_that_double_are_bounded_whether_they_hold_or_fail() {
    let leaves = [
        ("allOf", json!({})),
        ("allOf", json!(true)),
        ("allOf", json!({ "type": "string" })),
        ("anyOf", json!(false)),
        ("anyOf", json!({ "not": true })),
        ("anyOf", json!({ "type": "number" })),
        ("anyOf", json!({ "enum": ["b", "c"] })),
        ("anyOf", json!({ "pattern": "b" })),
        ("anyOf", json!({ "if": true, "then": false })),
        ("anyOf", json!({ "oneOf": [true, true] })),
        ("oneOf", json!(false)),
    ];
    for (keyword, leaf) in leaves {
        let schema = chain(60, |next| json!({ keyword: [next, next] }), leaf.clone());
        let mut schema = schema;
        schema["type"] = json!("string");
        assert_eq!(
            validate(&valid(&schema), &json!("a")),
            Err(TooMuchEffort),
            "{keyword} {leaf}"
        );
    }
}

#[test]
fn regular_expressions_count() {
    let mut state = 1_u32;
    // For this text, an automaton needs new states again and again.
    let irregular = (0..500_000).map(|_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        if state >> 31 == 0 { 'a' } else { 'b' }
    });
    let text = json!(irregular.collect::<String>());
    for (pattern, is_refused) in [
        ("^[ab]*$", false),
        ("(a|b|aa)+$", false),
        ("[ab]*a[ab]{500}c", true),
    ] {
        let outcome = validate(&valid(&json!({ "pattern": pattern })), &text);
        assert_eq!(
            outcome == Err(TooMuchEffort),
            is_refused,
            "{pattern} {outcome:?}"
        );
    }
    let names =
        json!({ "patternProperties": { "[0-9]*1[0-9]{50}c": true, "[0-9]*2[0-9]{50}c": true } });
    let members: Map<_, _> = (0..10_000)
        .map(|n| (format!("{n:0>60}"), json!(1)))
        .collect();
    assert_eq!(
        validate(&valid(&names), &Value::Object(members)),
        Err(TooMuchEffort)
    );
}

#[test]
fn what_unevaluated_keywords_collect_counts() {
    let schema = valid(&json!({
        "$ref": "#/$defs/a",
        "$defs": {
            "a": { "patternProperties": { "^a": { "$ref": "#/$defs/b" } }, "unevaluatedProperties": { "$ref": "#/$defs/b" } },
            "b": { "anyOf": [{ "$ref": "#/$defs/c" }, { "$ref": "#/$defs/c" }], "unevaluatedProperties": { "$ref": "#/$defs/a" } },
            "c": { "patternProperties": { "^a": { "$ref": "#/$defs/a" } } },
        },
    }));
    let wide: Map<_, _> = (0..50).map(|n| (format!("a{n}"), json!(1))).collect();
    let value = (0..30).fold(json!(1), |value, _| {
        let mut members = wide.clone();
        members.insert("a".to_owned(), value);
        Value::Object(members)
    });
    assert_eq!(validate(&schema, &value), Err(TooMuchEffort));
}

#[test]
fn long_lists_of_values_are_found_by_hash() {
    let values: Vec<_> = (0..5_000).map(|n| json!(format!("value {n}"))).collect();
    let schema = valid(&json!({ "items": { "enum": values }, "uniqueItems": true }));
    assert_eq!(validate(&schema, &json!(values)), Ok(()));
    let items: Vec<_> = (0..100_000).map(|n| json!(n)).collect();
    assert!(matches!(
        validate(&schema, &json!(items)),
        Err(SchemaError::Mismatch(_))
    ));
    let unique = valid(&json!({ "uniqueItems": true }));
    assert_eq!(validate(&unique, &json!(items)), Ok(()));
}
