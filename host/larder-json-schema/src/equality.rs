//! Equality of JSON values, as JSON Schema defines it: `1` and `1.0` are equal.

use std::cmp::Ordering;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde_json::Value;

use crate::Effort;
use crate::effort::EffortError;
use crate::number::ExactNumber;

/// Deeper values are not compared. The parser of JSON accepts only values of a lower depth.
const MAX_DEPTH: usize = 256;

/// The values of an `enum`, by their hashes.
pub(crate) struct ValueSet {
    /// Sorted by hash.
    hashes: Vec<(u64, usize)>,
    pub(crate) values: Vec<Value>,
}

/// Up to this number, values are compared one after another.
const FEW: usize = 8;

impl ValueSet {
    pub(crate) fn new(values: &[Value]) -> Result<Self, EffortError> {
        let mut effort = Effort::new(u64::MAX);
        let mut hashes = Vec::with_capacity(values.len());
        for (index, value) in values.iter().enumerate() {
            hashes.push((hash(value, &mut effort)?, index));
        }
        hashes.sort_unstable();
        Ok(Self {
            hashes,
            values: values.to_vec(),
        })
    }

    pub(crate) fn contains(
        &self,
        value: &Value,
        effort: &mut Effort<'_>,
    ) -> Result<bool, EffortError> {
        if self.values.len() <= FEW {
            return self.has_equal(value, effort);
        }
        let hash = hash(value, effort)?;
        let start = self.hashes.partition_point(|(other, _)| *other < hash);
        for (_, index) in self.hashes[start..]
            .iter()
            .take_while(|(other, _)| *other == hash)
        {
            if are_equal(&self.values[*index], value, 0, effort)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn has_equal(&self, value: &Value, effort: &mut Effort<'_>) -> Result<bool, EffortError> {
        for other in &self.values {
            if are_equal(other, value, 0, effort)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Whether no two values are equal.
pub(crate) fn are_unique(values: &[Value], effort: &mut Effort<'_>) -> Result<bool, EffortError> {
    let mut hashes = Vec::with_capacity(values.len());
    for value in values {
        hashes.push((hash(value, effort)?, value));
    }
    hashes.sort_unstable_by_key(|(hash, _)| *hash);
    for same in hashes.chunk_by(|(a, _), (b, _)| a == b) {
        for (at, (_, value)) in same.iter().enumerate() {
            for (_, other) in &same[..at] {
                if are_equal(value, other, 0, effort)? {
                    return Ok(false);
                }
            }
        }
    }
    Ok(true)
}

/// Whether two values are equal.
pub(crate) fn are_equal(
    a: &Value,
    b: &Value,
    depth: usize,
    effort: &mut Effort<'_>,
) -> Result<bool, EffortError> {
    check_depth(depth)?;
    effort.spend(1)?;
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => {
            Ok(ExactNumber::new(a).compare(ExactNumber::new(b)) == Ordering::Equal)
        }
        (Value::String(a), Value::String(b)) => {
            effort.spend_bytes(a.len().min(b.len()))?;
            Ok(a == b)
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (a, b) in a.iter().zip(b) {
                if !are_equal(a, b, depth + 1, effort)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Value::Object(a), Value::Object(b)) if a.len() == b.len() => {
            for (name, value) in a {
                effort.spend_bytes(name.len())?;
                match b.get(name) {
                    Some(other) if are_equal(value, other, depth + 1, effort)? => {}
                    _ => return Ok(false),
                }
            }
            Ok(true)
        }
        (Value::Bool(a), Value::Bool(b)) => Ok(a == b),
        (Value::Null, Value::Null) => Ok(true),
        _ => Ok(false),
    }
}

fn check_depth(depth: usize) -> Result<(), EffortError> {
    if depth > MAX_DEPTH {
        return Err(EffortError::Depth);
    }
    Ok(())
}

fn hash(value: &Value, effort: &mut Effort<'_>) -> Result<u64, EffortError> {
    let mut hasher = DefaultHasher::new();
    add_to_hash(value, 0, &mut hasher, effort)?;
    Ok(hasher.finish())
}

fn add_to_hash(
    value: &Value,
    depth: usize,
    hasher: &mut DefaultHasher,
    effort: &mut Effort<'_>,
) -> Result<(), EffortError> {
    check_depth(depth)?;
    effort.spend(1)?;
    match value {
        Value::Null => hasher.write_u8(0),
        Value::Bool(bool) => bool.hash(hasher),
        Value::Number(number) => ExactNumber::new(number).key().hash(hasher),
        Value::String(text) => {
            effort.spend_bytes(text.len())?;
            text.hash(hasher);
        }
        Value::Array(items) => {
            items.len().hash(hasher);
            for item in items {
                add_to_hash(item, depth + 1, hasher, effort)?;
            }
        }
        // The order of members may differ.
        Value::Object(members) => {
            let mut sum = members.len() as u64;
            for (name, value) in members {
                effort.spend_bytes(name.len())?;
                let mut member = DefaultHasher::new();
                name.hash(&mut member);
                add_to_hash(value, depth + 1, &mut member, effort)?;
                sum = sum.wrapping_add(member.finish());
            }
            sum.hash(hasher);
        }
    }
    Ok(())
}
