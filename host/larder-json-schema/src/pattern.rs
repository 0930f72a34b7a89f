//! Regular expressions. They have no exponential cases. Time and memory are in proportion to the text and, in the worst
//! case, to the states of the expression. A short expression such as `(a?){5000}` can have many states.

mod translate;

use regex::{Regex, RegexBuilder};
use regex_syntax::hir::{Hir, HirKind, Repetition};
use serde_json::Value;

use self::translate::translate;
use crate::effort::EffortError;
use crate::{Effort, InvalidSchema};

/// Maximum size of one compiled expression.
const MAX_SIZE: usize = 1 << 20;
/// Maximum size of all expressions of one provider together.
const MAX_TOTAL_SIZE: usize = 64 << 20;
/// For each byte, this number of states takes the time of one unit of effort in the worst case.
const STATES_PER_UNIT: u64 = 8;
/// The states of a class: one for each byte of a character.
const CLASS: u64 = 4;

/// A regular expression of ECMAScript, without look-around and back references.
pub(crate) struct Pattern {
    /// The text of the expression in the schema.
    pub(crate) text: String,
    regex: Regex,
    states: u64,
}

impl Pattern {
    pub(crate) fn new(text: &str, size: usize) -> Result<Self, InvalidSchema> {
        let invalid = || InvalidSchema::Pattern(Value::from(text).to_string());
        let translated = translate(text);
        let hir = regex_syntax::parse(&translated).map_err(|_| invalid())?;
        Ok(Self {
            text: text.to_owned(),
            regex: build(&translated, size).map_err(|_| invalid())?,
            states: states_of(&hir),
        })
    }

    pub(crate) fn is_match(
        &self,
        text: &str,
        effort: &mut Effort<'_>,
    ) -> Result<bool, EffortError> {
        effort.spend(1 + self.states.saturating_mul(text.len() as u64) / STATES_PER_UNIT)?;
        Ok(self.regex.is_match(text))
    }
}

fn build(expression: &str, size: usize) -> Result<Regex, regex::Error> {
    RegexBuilder::new(expression)
        .size_limit(size)
        .dfa_size_limit(size)
        .build()
}

/// Returns the maximum size of each compiled expression if a provider has this many.
pub fn size_limit(count: usize) -> usize {
    (MAX_TOTAL_SIZE / count.max(1)).min(MAX_SIZE)
}

/// Counts the expressions in a schema. The parser of JSON has accepted the schema.
pub fn count(schema: &Value) -> usize {
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

/// Returns the approximate number of states of an expression. The parser limits the depth of the expression.
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
            ("a{1000}", 1_000),
        ] {
            assert_eq!(
                Pattern::new(pattern, MAX_SIZE).unwrap().states,
                expected,
                "{pattern}"
            );
        }
    }

    #[test]
    fn counts_expressions_everywhere() {
        let schema = json!({
            "properties": { "pattern": { "pattern": "a" }, "b": { "items": [{ "pattern": "b" }, { "pattern": 1 }] } },
            "patternProperties": { "c": true, "d": { "not": { "pattern": "e" } } },
        });
        assert_eq!(count(&schema), 5);
        assert_eq!(
            (size_limit(0), size_limit(5), size_limit(1 << 20)),
            (MAX_SIZE, MAX_SIZE, 64)
        );
    }

    #[test]
    fn rejects_what_does_not_take_linear_time_or_is_too_large() {
        for pattern in [
            "(",
            "(?=a)",
            "(?!a)b",
            "(?<=a)b",
            r"(a)\1",
            "a{1000}{1000}",
            r"\Z",
            r"\a",
        ] {
            let error = Pattern::new(pattern, MAX_SIZE)
                .err()
                .map(|error| error.to_string());
            assert!(
                error.is_some_and(|error| error.contains("regular expression")),
                "{pattern}"
            );
        }
    }
}
