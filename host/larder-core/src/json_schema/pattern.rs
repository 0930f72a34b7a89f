//! The cost of the regular expressions of a schema. They have no exponential cases, but time and memory are in
//! proportion to the text and, at worst, to the states of the expression. A short expression such as `(a?){5000}` can
//! have many states.

use regex_syntax::hir::{Hir, HirKind, Repetition};
use serde_json::Value;

/// Maximum size of one compiled expression.
const MAX_SIZE: usize = 1 << 20;
/// What all expressions of one provider share.
const MAX_TOTAL_SIZE: usize = 64 << 20;
/// The states of an expression that this module cannot parse, for example because its syntax is that of ECMAScript.
const UNKNOWN: u64 = 1_000;
/// The states of a class: one for each byte of a character.
const CLASS: u64 = 4;

/// Returns how large each compiled expression may be if a provider has so many.
pub(crate) fn size_limit(count: usize) -> usize {
    (MAX_TOTAL_SIZE / count.max(1)).min(MAX_SIZE)
}

/// Counts the expressions in a schema.
pub(crate) fn count(schema: &Value) -> usize {
    match schema {
        Value::Array(schemas) => schemas.iter().map(count).sum(),
        Value::Object(members) => {
            let own = members.get("pattern").is_some_and(Value::is_string);
            let names = members.get("patternProperties").and_then(Value::as_object);
            usize::from(own)
                + names.map_or(0, serde_json::Map::len)
                + members.values().map(count).sum::<usize>()
        }
        _ => 0,
    }
}

/// Returns about how many states an expression has.
pub(super) fn states(pattern: &str) -> u64 {
    regex_syntax::parse(pattern).map_or(UNKNOWN, |hir| states_of(&hir))
}

fn states_of(hir: &Hir) -> u64 {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => 1,
        HirKind::Literal(literal) => literal.0.len() as u64,
        HirKind::Class(_) => CLASS,
        HirKind::Capture(capture) => states_of(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            parts.iter().map(states_of).fold(0, u64::saturating_add)
        }
        HirKind::Repetition(Repetition { min, max, sub, .. }) => {
            let times = max.unwrap_or(min.saturating_add(1)).max(1);
            states_of(sub).saturating_mul(times.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn repetitions_have_many_states() {
        for (pattern, expected) in [
            ("", 1),
            ("abc", 3),
            (r"\w+", 8),
            ("(a?){5000}", 5_000),
            ("(?:a{1000}){1000}", 1_000_000),
            ("(", 1_000),
        ] {
            assert_eq!(states(pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn counts_expressions_everywhere() {
        let schema = json!({
            "properties": { "pattern": { "pattern": "a" }, "b": { "items": [{ "pattern": "b" }, { "pattern": 1 }] } },
            "patternProperties": { "c": true, "d": { "not": { "pattern": "e" } } },
        });
        assert_eq!(count(&schema), 5);
        assert_eq!((size_limit(0), size_limit(5), size_limit(1 << 20)), (MAX_SIZE, MAX_SIZE, 64));
    }
}
