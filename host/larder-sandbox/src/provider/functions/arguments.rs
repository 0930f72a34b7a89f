//! Converts the JSON of arguments to values of the engine.

use std::fmt;

use serde_json::{Map, Value};
use wasmtime::component::Val;

use larder_functions::{Case, Field, Integer, Parameter, Type, TypeId, TypeTable};

/// Maximum number of values in the arguments of a call. Each of them takes some tens of bytes.
const MAX_VALUES: usize = 1 << 18;

/// An argument does not have the type of its parameter.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ArgumentError {
    /// The names and positions that lead to the value, innermost first.
    path: Vec<String>,
    problem: String,
}

impl ArgumentError {
    fn new(problem: impl Into<String>) -> Self {
        Self {
            path: Vec::new(),
            problem: problem.into(),
        }
    }

    fn within(mut self, step: impl ToString) -> Self {
        self.path.push(step.to_string());
        self
    }
}

impl fmt::Display for ArgumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in self.path.iter().rev() {
            write!(f, "/{step}")?;
        }
        let separator = if self.path.is_empty() { "" } else { ": " };
        write!(f, "{separator}{}", self.problem)
    }
}

/// Converts the arguments of a call.
pub(super) fn values(
    types: &TypeTable,
    parameters: &[Parameter],
    arguments: &Value,
) -> Result<Vec<Val>, ArgumentError> {
    let mut reader = ValueReader {
        types,
        left: MAX_VALUES,
    };
    let members = object(arguments)?;
    reject_unknown(members, |name| parameters.iter().any(|it| it.name == *name))?;
    parameters
        .iter()
        .map(|parameter| reader.member(members, &parameter.name, parameter.ty))
        .collect()
}

/// Converts JSON to values of types.
struct ValueReader<'a> {
    types: &'a TypeTable,
    /// How many more values are allowed.
    left: usize,
}

impl ValueReader<'_> {
    fn value(&mut self, id: TypeId, json: &Value) -> Result<Val, ArgumentError> {
        self.count(1)?;
        let types = self.types;
        let ty = types.get(id);
        match ty {
            Type::Bool => boolean(json),
            Type::Integer(integer) => integer_value(*integer, json),
            Type::Float32 => float(json).and_then(float32),
            Type::Float64 => float(json).map(Val::Float64),
            Type::Char => character(text(json)?),
            Type::String => Ok(Val::String(text(json)?.to_owned())),
            Type::List(_) if types.is_bytes(ty) => self.bytes(text(json)?),
            Type::List(element) => Ok(Val::List(self.list(json, |_| Some(*element))?)),
            Type::Tuple(parts) => {
                let values = self.list(json, |position| parts.get(position).copied())?;
                if values.len() < parts.len() {
                    return Err(expected(&format!("{} items", parts.len())));
                }
                Ok(Val::Tuple(values))
            }
            Type::Record(fields) => self.record(fields, json),
            Type::Variant(cases) => self.variant(cases, json),
            Type::Enum(names) => Ok(Val::Enum(name(names, json)?)),
            Type::Flags(names) => flags(names, json),
            Type::Option(some) => self.option(*some, json),
            Type::Result { ok, err } => {
                let (case, value) = self.case(&[("ok", *ok), ("err", *err)], json)?;
                let value = value.map(Box::new);
                Ok(Val::Result(if case == "ok" {
                    Ok(value)
                } else {
                    Err(value)
                }))
            }
        }
    }

    fn count(&mut self, values: usize) -> Result<(), ArgumentError> {
        let left = self.left.checked_sub(values);
        self.left = left.ok_or_else(|| {
            ArgumentError::new(format!("the arguments have more than {MAX_VALUES} values"))
        })?;
        Ok(())
    }

    fn bytes(&mut self, text: &str) -> Result<Val, ArgumentError> {
        self.count(text.len() / 4 * 3)?;
        let bytes = base64_simd::STANDARD
            .decode_to_vec(text)
            .map_err(|_| expected("bytes in base64, with padding"))?;
        Ok(Val::List(bytes.into_iter().map(Val::U8).collect()))
    }

    fn list(
        &mut self,
        json: &Value,
        ty: impl Fn(usize) -> Option<TypeId>,
    ) -> Result<Vec<Val>, ArgumentError> {
        let items = array(json)?;
        let mut values = Vec::with_capacity(items.len().min(self.left));
        for (position, item) in items.iter().enumerate() {
            let ty = ty(position).ok_or_else(|| expected(&format!("{position} items")))?;
            let value = self.value(ty, item);
            values.push(value.map_err(|error| error.within(position))?);
        }
        Ok(values)
    }

    fn record(&mut self, fields: &[Field], json: &Value) -> Result<Val, ArgumentError> {
        let members = object(json)?;
        reject_unknown(members, |name| fields.iter().any(|it| it.name == *name))?;
        let fields = fields.iter().map(|field| {
            let value = self.member(members, &field.name, field.ty)?;
            Ok((field.name.clone(), value))
        });
        Ok(Val::Record(fields.collect::<Result<_, _>>()?))
    }

    /// Converts a member of an object. An option may be missing.
    fn member(
        &mut self,
        members: &Map<String, Value>,
        name: &str,
        ty: TypeId,
    ) -> Result<Val, ArgumentError> {
        match members.get(name) {
            Some(value) => self.value(ty, value).map_err(|error| error.within(name)),
            None if self.types.is_nullable(ty) => self.value(ty, &Value::Null),
            None => Err(ArgumentError::new("is missing").within(name)),
        }
    }

    fn option(&mut self, some: TypeId, json: &Value) -> Result<Val, ArgumentError> {
        if !self.types.is_nullable(some) {
            let value = match json {
                Value::Null => None,
                json => Some(Box::new(self.value(some, json)?)),
            };
            return Ok(Val::Option(value));
        }
        // With `null` alone, an option of an option would be ambiguous.
        if json.is_null() {
            return Ok(Val::Option(None));
        }
        let (_, value) = self.case(&[("none", None), ("some", Some(some))], json)?;
        Ok(Val::Option(value.map(Box::new)))
    }

    fn variant(&mut self, cases: &[Case], json: &Value) -> Result<Val, ArgumentError> {
        let cases = cases.iter();
        let cases: Vec<_> = cases.map(|case| (case.name.as_str(), case.ty)).collect();
        let (case, value) = self.case(&cases, json)?;
        Ok(Val::Variant(case.to_owned(), value.map(Box::new)))
    }

    /// Converts an object with a `tag`, and with a `val` if the case has a value.
    fn case<'n>(
        &mut self,
        cases: &[(&'n str, Option<TypeId>)],
        json: &Value,
    ) -> Result<(&'n str, Option<Val>), ArgumentError> {
        let members = object(json)?;
        let tag = members.get("tag").and_then(Value::as_str);
        let case = cases.iter().find(|(name, _)| Some(*name) == tag);
        let names = || join(cases.iter().map(|(name, _)| *name));
        let (name, ty) = *case.ok_or_else(|| expected(&names()).within("tag"))?;
        reject_unknown(members, |member| {
            member == "tag" || (member == "val" && ty.is_some())
        })?;
        let value = ty.map(|ty| self.member(members, "val", ty)).transpose()?;
        Ok((name, value))
    }
}

fn expected(what: &str) -> ArgumentError {
    ArgumentError::new(format!("expected {what}"))
}

fn join<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<_> = names.map(|name| format!("\"{name}\"")).collect();
    format!("one of {}", names.join(", "))
}

fn object(json: &Value) -> Result<&Map<String, Value>, ArgumentError> {
    json.as_object().ok_or_else(|| expected("an object"))
}

fn array(json: &Value) -> Result<&Vec<Value>, ArgumentError> {
    json.as_array().ok_or_else(|| expected("an array"))
}

fn boolean(json: &Value) -> Result<Val, ArgumentError> {
    let boolean = json.as_bool().map(Val::Bool);
    boolean.ok_or_else(|| expected("true or false"))
}

fn text(json: &Value) -> Result<&str, ArgumentError> {
    json.as_str().ok_or_else(|| expected("a string"))
}

fn reject_unknown(
    members: &Map<String, Value>,
    is_known: impl Fn(&String) -> bool,
) -> Result<(), ArgumentError> {
    match members.keys().find(|name| !is_known(name)) {
        Some(unknown) => Err(ArgumentError::new("is unknown").within(unknown)),
        None => Ok(()),
    }
}

fn name(names: &[String], json: &Value) -> Result<String, ArgumentError> {
    let found = json.as_str();
    let found = found.filter(|found| names.iter().any(|name| name == found));
    found
        .map(ToOwned::to_owned)
        .ok_or_else(|| expected(&join(names.iter().map(String::as_str))))
}

fn flags(names: &[String], json: &Value) -> Result<Val, ArgumentError> {
    let items = array(json)?;
    let mut set = Vec::new();
    for (position, item) in items.iter().enumerate() {
        let flag = name(names, item).map_err(|error| error.within(position))?;
        if set.contains(&flag) {
            return Err(ArgumentError::new("is the same flag as another item").within(position));
        }
        set.push(flag);
    }
    Ok(Val::Flags(set))
}

pub(super) fn character(text: &str) -> Result<Val, ArgumentError> {
    let mut characters = text.chars();
    match (characters.next(), characters.next()) {
        (Some(character), None) => Ok(Val::Char(character)),
        _ => Err(expected("a string of one character")),
    }
}

fn float(json: &Value) -> Result<f64, ArgumentError> {
    json.as_f64().ok_or_else(|| expected("a number"))
}

/// Converts a number, unless it is outside of the range of `f32`.
pub(super) fn float32(number: f64) -> Result<Val, ArgumentError> {
    #[allow(
        clippy::cast_possible_truncation,
        reason = "the nearest value is meant"
    )]
    let single = number as f32;
    if single.is_finite() {
        Ok(Val::Float32(single))
    } else {
        Err(expected("a number in the range of f32"))
    }
}

fn integer_value(integer: Integer, json: &Value) -> Result<Val, ArgumentError> {
    let number = match json {
        Value::Number(number) => {
            let signed = number.as_i64().map(i128::from);
            signed.or_else(|| number.as_u64().map(i128::from))
        }
        // A number such as 1e20 or 1.5 would have lost digits.
        Value::String(digits) if integer.is_wide() => return integer_text(integer, digits),
        _ => None,
    };
    let number = number.or_else(|| whole(json.as_f64()?));
    integer_number(integer, number)
}

/// A number such as `2.0`, which JSON Schema counts as an integer.
fn whole(number: f64) -> Option<i128> {
    #[allow(
        clippy::cast_possible_truncation,
        reason = "larger numbers are refused"
    )]
    let whole = number as i128;
    let is_exact = number.fract() == 0.0 && whole.abs() <= Integer::MAX_EXACT;
    is_exact.then_some(whole)
}

/// Converts decimal digits.
pub(super) fn integer_text(integer: Integer, digits: &str) -> Result<Val, ArgumentError> {
    let is_plain = digits.strip_prefix('-').unwrap_or(digits);
    let is_plain = is_plain.bytes().all(|byte| byte.is_ascii_digit());
    integer_number(integer, digits.parse().ok().filter(|_| is_plain))
}

fn integer_number(integer: Integer, number: Option<i128>) -> Result<Val, ArgumentError> {
    let converted = number.and_then(|number| {
        Some(match integer {
            Integer::S8 => Val::S8(number.try_into().ok()?),
            Integer::U8 => Val::U8(number.try_into().ok()?),
            Integer::S16 => Val::S16(number.try_into().ok()?),
            Integer::U16 => Val::U16(number.try_into().ok()?),
            Integer::S32 => Val::S32(number.try_into().ok()?),
            Integer::U32 => Val::U32(number.try_into().ok()?),
            Integer::S64 => Val::S64(number.try_into().ok()?),
            Integer::U64 => Val::U64(number.try_into().ok()?),
        })
    });
    let (min, max) = integer.range();
    converted.ok_or_else(|| expected(&format!("an integer from {min} to {max}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_values_is_limited() {
        let mut types = TypeTable::default();
        let byte = types.add(Type::Integer(Integer::U8));
        let small = types.add(Type::Integer(Integer::S8));
        let bytes = types.add(Type::List(byte));
        let numbers = types.add(Type::List(small));
        let check = |ty, value: Value| {
            let name = "value".to_owned();
            let arguments = Value::Object(Map::from_iter([(name.clone(), value)]));
            values(&types, &[Parameter { name, ty }], &arguments).map_err(|error| error.to_string())
        };
        // The list is a value too.
        let items = |count| Value::Array(vec![Value::from(1); count]);
        assert!(check(numbers, items(MAX_VALUES - 1)).is_ok());
        let error = "/value/262143: the arguments have more than 262144 values";
        assert_eq!(check(numbers, items(MAX_VALUES)), Err(error.to_owned()));
        let base64 = |count: usize| Value::from("AAAA".repeat(count / 3));
        assert!(check(bytes, base64(MAX_VALUES - 1)).is_ok());
        let error = "/value: the arguments have more than 262144 values";
        assert_eq!(check(bytes, base64(MAX_VALUES + 2)), Err(error.to_owned()));
    }
}
