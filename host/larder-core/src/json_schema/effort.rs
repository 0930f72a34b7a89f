//! Bounds the effort of a validation. Schemas can be written so that it grows exponentially with the depth of the
//! value, or of the schema. Each object of a schema therefore gets a keyword of ours, which counts how often that object
//! is evaluated, and how much there is to compare. It is evaluated last, if the other keywords hold. A keyword that
//! fails has looked at the value, which is counted too. When the limit is reached, the validation unwinds.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use serde_json::{Map, Value, json};

use super::pattern;

/// The keyword that is added.
pub(super) const KEYWORD: &str = "larder-effort";
/// Maximum depth of a schema.
const MAX_DEPTH: usize = 64;
/// How much effort a validation may take. A unit takes some tens of nanoseconds.
const LIMIT: u64 = 2_000_000;
/// Bytes of a schema or of a text that count like one evaluation.
const BYTES_PER_UNIT: usize = 64;
/// States of a regular expression that take the time of one evaluation for each byte, at worst.
const STATES_PER_UNIT: u64 = 8;
/// Keywords whose values are not schemas.
const VALUES: [&str; 4] = ["const", "enum", "default", "examples"];
/// Keywords whose value `false` is the default, so that they can be removed.
const FLAGS: [&str; 6] =
    ["uniqueItems", "readOnly", "writeOnly", "deprecated", "exclusiveMinimum", "exclusiveMaximum"];
/// Keywords whose value `false` stays, because their messages are better than those of its replacement. They look at
/// the value, but nothing else may refer to their `false`.
const STRICT: [&str; 2] = ["additionalProperties", "unevaluatedProperties"];
/// Keywords whose values are objects with a schema for each name.
const MAPS: [&str; 6] =
    ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"];

thread_local! {
    /// What is left for the validation on this thread.
    static REMAINING: Cell<u64> = const { Cell::new(0) };
    /// The states of the largest regular expressions of its schema: for texts, and for names of members.
    static STATES: Cell<[u64; 2]> = const { Cell::new([0; 2]) };
}

/// The effort of one validation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Effort {
    states: [u64; 2],
}

/// The reason to unwind.
struct Exhausted;

impl Effort {
    /// Runs a validation. Returns `None` if it reaches the limit.
    pub(super) fn limit<T>(self, validation: impl FnOnce() -> T) -> Option<T> {
        REMAINING.set(LIMIT);
        STATES.set(self.states);
        catch_unwind(AssertUnwindSafe(validation))
            .map_or_else(|cause| if cause.is::<Exhausted>() { None } else { resume_unwind(cause) }, Some)
    }
}

/// Counts so many units. Does not return if the limit is reached.
pub(super) fn count(units: u64) {
    match REMAINING.get().checked_sub(units) {
        Some(remaining) => REMAINING.set(remaining),
        // Unlike a panic, this calls no hook and logs nothing.
        None => resume_unwind(Box::new(Exhausted)),
    }
}

/// Counts a look at a text, which a regular expression may be about to match.
pub(super) fn count_text(text: &str) {
    let [states, _] = STATES.get();
    count(1 + states.saturating_mul(text.len() as u64) / STATES_PER_UNIT);
}

/// Counts a look at the names of members, which regular expressions may be about to match.
pub(super) fn count_names(members: &Map<String, Value>) {
    let [_, states] = STATES.get();
    if states > 0 {
        let bytes: usize = members.keys().map(String::len).sum();
        count(states.saturating_mul(bytes as u64) / STATES_PER_UNIT);
    }
}

/// Counts an evaluation of a schema object with this weight.
pub(super) fn count_evaluation(weight: u64, instance: &Value) {
    let items = match instance {
        Value::Object(members) => members.len(),
        Value::Array(items) => items.len(),
        Value::String(text) => text.len() / BYTES_PER_UNIT,
        _ => 0,
    };
    count(weight.saturating_mul(items as u64 + 1));
}

/// Adds the keyword to each object of a schema, and replaces `true` and `false`, which are evaluated without looking at
/// the value, by objects. Fails if the schema is nested too deeply, or refers to a place that is not counted.
pub(super) fn instrument(schema: &mut Value) -> Result<Effort, String> {
    let mut effort = Effort { states: [0; 2] };
    instrument_at(schema, 0, &mut effort)?;
    Ok(effort)
}

fn instrument_at(schema: &mut Value, depth: usize, effort: &mut Effort) -> Result<(), String> {
    if depth > MAX_DEPTH {
        return Err(format!("it is nested more than {MAX_DEPTH} levels deep"));
    }
    match schema {
        Value::Bool(false) => *schema = json!({ "not": {} }),
        Value::Bool(true) => *schema = json!({}),
        _ => {}
    }
    match schema {
        Value::Array(schemas) => {
            schemas.iter_mut().try_for_each(|schema| instrument_at(schema, depth + 1, effort))
        }
        Value::Object(members) => {
            effort.add_patterns(members);
            members.retain(|name, value| *value != false || !FLAGS.contains(&name.as_str()));
            let mut own_bytes = 0;
            for (name, value) in members.iter_mut() {
                own_bytes += name.len() + instrument_member(name, value, depth, effort)?;
            }
            members.insert(KEYWORD.to_owned(), Value::from(1 + own_bytes / BYTES_PER_UNIT));
            Ok(())
        }
        _ => Ok(()),
    }
}

impl Effort {
    /// Adds the regular expressions of a schema: the largest one for texts, and all those for names of members.
    fn add_patterns(&mut self, members: &Map<String, Value>) {
        let [for_text, for_names] = &mut self.states;
        let own = members.get("pattern").and_then(Value::as_str).map_or(0, pattern::states);
        *for_text = (*for_text).max(own);
        let names = members.get("patternProperties").and_then(Value::as_object);
        let of_names = names.into_iter().flat_map(Map::keys).map(|name| pattern::states(name));
        *for_names = (*for_names).max(of_names.fold(0, u64::saturating_add));
    }
}

/// Adds the keyword in the value of a keyword. Returns the bytes that are not part of another schema.
fn instrument_member(
    name: &str,
    value: &mut Value,
    depth: usize,
    effort: &mut Effort,
) -> Result<usize, String> {
    match value {
        _ if VALUES.contains(&name) => return Ok(value.to_string().len()),
        Value::Object(schemas) if MAPS.contains(&name) => {
            schemas.values_mut().try_for_each(|schema| instrument_at(schema, depth + 1, effort))?;
            return Ok(schemas.keys().map(String::len).sum());
        }
        Value::Bool(_) if is_flag(name) => {}
        Value::Bool(_) | Value::Object(_) | Value::Array(_) => instrument_at(value, depth + 1, effort)?,
        Value::String(target) if name.ends_with("Ref") || name == "$ref" => check_reference(target)?,
        value => return Ok(value.to_string().len()),
    }
    Ok(0)
}

/// Whether the values `true` and `false` of a keyword stay.
fn is_flag(name: &str) -> bool {
    FLAGS.contains(&name) || STRICT.contains(&name) || name == "$recursiveAnchor"
}

/// Fails if a reference leads to a place that has no keyword of ours.
fn check_reference(target: &str) -> Result<(), String> {
    let mut parts = target.split_once('#').map_or("", |(_, pointer)| pointer).split('/');
    while let Some(part) = parts.next() {
        if VALUES.contains(&part) || is_flag(part) || part.contains('%') {
            return Err(format!("the reference `{target}` leads to a value, not to a schema"));
        }
        if MAPS.contains(&part) {
            // The name of a schema, which may be any text.
            parts.next();
        }
    }
    Ok(())
}
