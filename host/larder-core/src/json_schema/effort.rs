//! Bounds the effort of a validation. Schemas can be written so that it grows exponentially with the depth of the
//! value. Each object of a schema therefore gets a keyword of ours, which counts how often that object is evaluated,
//! and how much there is to compare. When the limit is reached, the validation unwinds.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use jsonschema::{Keyword, ValidationError};
use serde_json::Value;

/// The keyword that is added.
pub(super) const KEYWORD: &str = "larder-effort";
/// Maximum depth of a schema.
const MAX_DEPTH: usize = 64;
/// How much effort a validation may take. A unit takes some tens of nanoseconds.
const LIMIT: u64 = 2_000_000;
/// Bytes of a schema or of a text that count like one evaluation.
const BYTES_PER_UNIT: usize = 64;
/// Keywords whose values are not schemas.
const VALUES: [&str; 4] = ["const", "enum", "default", "examples"];
/// Keywords whose values are objects with a schema for each name.
const MAPS: [&str; 6] =
    ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"];

thread_local! {
    /// What is left for the validation on this thread.
    static REMAINING: Cell<u64> = const { Cell::new(0) };
}

/// The effort of one validation.
pub(super) struct Effort {
    limit: u64,
}

impl Default for Effort {
    fn default() -> Self {
        Self { limit: LIMIT }
    }
}

/// The reason to unwind.
struct Exhausted;

impl Effort {
    /// Runs a validation. Returns `None` if it reaches the limit.
    pub(super) fn limit<T>(self, validation: impl FnOnce() -> T) -> Option<T> {
        REMAINING.set(self.limit);
        catch_unwind(AssertUnwindSafe(validation))
            .map_or_else(|cause| if cause.is::<Exhausted>() { None } else { resume_unwind(cause) }, Some)
    }
}

/// Counts evaluations of the schema object that has it. Never fails.
pub(super) struct EffortKeyword {
    weight: u64,
}

impl EffortKeyword {
    pub(super) fn new(weight: &Value) -> Self {
        Self { weight: weight.as_u64().unwrap_or(1) }
    }

    fn count(&self, instance: &Value) {
        let items = match instance {
            Value::Object(members) => members.len(),
            Value::Array(items) => items.len(),
            Value::String(text) => text.len() / BYTES_PER_UNIT,
            _ => 0,
        };
        let units = self.weight.saturating_mul(items as u64 + 1);
        match REMAINING.get().checked_sub(units) {
            Some(remaining) => REMAINING.set(remaining),
            // Unlike a panic, this calls no hook and logs nothing.
            None => resume_unwind(Box::new(Exhausted)),
        }
    }
}

impl<'i> Keyword<'i> for EffortKeyword {
    fn validate(&self, instance: &'i Value) -> Result<(), ValidationError<'i>> {
        self.count(instance);
        Ok(())
    }

    fn is_valid(&self, instance: &'i Value) -> bool {
        self.count(instance);
        true
    }
}

/// Adds the keyword to each object of a schema. Fails if the schema is nested too deeply, or refers to a place that
/// is not counted.
pub(super) fn instrument(schema: &mut Value) -> Result<(), String> {
    instrument_at(schema, 0)
}

fn instrument_at(schema: &mut Value, depth: usize) -> Result<(), String> {
    if depth > MAX_DEPTH {
        return Err(format!("it is nested more than {MAX_DEPTH} levels deep"));
    }
    match schema {
        Value::Array(schemas) => schemas.iter_mut().try_for_each(|schema| instrument_at(schema, depth + 1)),
        Value::Object(members) => {
            let mut own_bytes = 0;
            for (name, value) in members.iter_mut() {
                own_bytes += name.len() + instrument_member(name, value, depth)?;
            }
            members.insert(KEYWORD.to_owned(), Value::from(1 + own_bytes / BYTES_PER_UNIT));
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Adds the keyword in the value of a keyword. Returns the bytes that are not part of another schema.
fn instrument_member(name: &str, value: &mut Value, depth: usize) -> Result<usize, String> {
    match value {
        _ if VALUES.contains(&name) => return Ok(value.to_string().len()),
        Value::Object(schemas) if MAPS.contains(&name) => {
            schemas.values_mut().try_for_each(|schema| instrument_at(schema, depth + 1))?;
            return Ok(schemas.keys().map(String::len).sum());
        }
        Value::Object(_) | Value::Array(_) => instrument_at(value, depth + 1)?,
        Value::String(target) if name.ends_with("Ref") || name == "$ref" => check_reference(target)?,
        value => return Ok(value.to_string().len()),
    }
    Ok(0)
}

/// Fails if a reference leads into a value, which has no keyword of ours.
fn check_reference(target: &str) -> Result<(), String> {
    let mut parts = target.split('/');
    while let Some(part) = parts.next() {
        if VALUES.contains(&part) {
            return Err(format!("the reference `{target}` leads to a value, not to a schema"));
        }
        if MAPS.contains(&part) {
            // The name of a schema, which may be any text.
            parts.next();
        }
    }
    Ok(())
}
