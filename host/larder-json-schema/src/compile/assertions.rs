//! Keywords that check a value itself, without schemas for its parts.

use serde_json::Value;

use super::object::{SchemaObject, names};
use crate::InvalidSchema;
use crate::draft::Draft;
use crate::equality::ValueSet;
use crate::node::{Bound, BoundKind, Keyword, Size, SizeOf, TypeSet};
use crate::number::{Decimal, ExactNumber};
use crate::pattern::Pattern;

/// The keywords for sizes.
const SIZES: [(&str, SizeOf, bool); 6] = [
    ("minLength", SizeOf::Text, true),
    ("maxLength", SizeOf::Text, false),
    ("minItems", SizeOf::Items, true),
    ("maxItems", SizeOf::Items, false),
    ("minProperties", SizeOf::Properties, true),
    ("maxProperties", SizeOf::Properties, false),
];

/// The keywords for bounds, each with its exclusive form.
const BOUNDS: [(&str, BoundKind, &str, BoundKind); 2] = [
    (
        "minimum",
        BoundKind::Minimum,
        "exclusiveMinimum",
        BoundKind::ExclusiveMinimum,
    ),
    (
        "maximum",
        BoundKind::Maximum,
        "exclusiveMaximum",
        BoundKind::ExclusiveMaximum,
    ),
];

/// Adds the keywords that check a value itself.
pub(super) fn add(
    object: SchemaObject<'_>,
    pattern_size: usize,
    keywords: &mut Vec<Keyword>,
) -> Result<(), InvalidSchema> {
    add_values(object, keywords)?;
    add_bounds(object, keywords)?;
    for (keyword, of, is_minimum) in SIZES {
        if let Some(limit) = object.count(keyword)? {
            keywords.push(Keyword::Size(Size {
                of,
                is_minimum,
                limit,
            }));
        }
    }
    if let Some(pattern) = object.text("pattern")? {
        keywords.push(Keyword::Pattern(Pattern::new(pattern, pattern_size)?));
    }
    if object.flag("uniqueItems")? {
        keywords.push(Keyword::UniqueItems);
    }
    if let Some(required) = object.get("required") {
        keywords.push(Keyword::Required(names("required", required)?));
    }
    Ok(())
}

fn add_values(object: SchemaObject<'_>, keywords: &mut Vec<Keyword>) -> Result<(), InvalidSchema> {
    if let Some(types) = object.get("type") {
        keywords.push(Keyword::Type(type_set(types)?));
    }
    if let Some(value) = object.get_since(Draft::Draft6, "const") {
        keywords.push(Keyword::Const(value.clone()));
    }
    if let Some(values) = object.array("enum")? {
        let values = ValueSet::new(values).map_err(|_| InvalidSchema::TooDeep)?;
        keywords.push(Keyword::Enum(values));
    }
    Ok(())
}

fn type_set(types: &Value) -> Result<TypeSet, InvalidSchema> {
    let invalid =
        || InvalidSchema::expected("type", "the name of a type, or an array of different names");
    let Some(names) = types.as_array() else {
        return type_bit(types).map(TypeSet).ok_or_else(invalid);
    };
    let mut set = TypeSet::default();
    for name in names {
        let bit = type_bit(name).ok_or_else(invalid)?;
        if set.0 & bit != 0 {
            return Err(invalid());
        }
        set.0 |= bit;
    }
    if set == TypeSet::default() {
        return Err(invalid());
    }
    Ok(set)
}

fn type_bit(name: &Value) -> Option<u8> {
    let name = name.as_str()?;
    let mut types = TypeSet::NAMES.into_iter();
    let (_, bit) = types.find(|(known, _)| *known == name)?;
    Some(bit)
}

fn add_bounds(object: SchemaObject<'_>, keywords: &mut Vec<Keyword>) -> Result<(), InvalidSchema> {
    for (inclusive, kind, exclusive, exclusive_kind) in BOUNDS {
        // In draft 4, the exclusive form is a flag.
        let has_flags = object.place.draft == Draft::Draft4;
        let is_exclusive = has_flags && object.flag(exclusive)?;
        let kind = if is_exclusive { exclusive_kind } else { kind };
        add_bound(object, inclusive, kind, keywords)?;
        if !has_flags {
            add_bound(object, exclusive, exclusive_kind, keywords)?;
        }
    }
    let Some(divisor) = object.number("multipleOf")? else {
        return Ok(());
    };
    let decimal =
        Decimal::new(divisor).filter(|decimal| !decimal.is_zero() && !is_negative(divisor));
    let decimal = decimal.ok_or(InvalidSchema::expected("multipleOf", "a number above zero"))?;
    keywords.push(Keyword::MultipleOf(divisor.clone(), decimal));
    Ok(())
}

fn add_bound(
    object: SchemaObject<'_>,
    keyword: &str,
    kind: BoundKind,
    keywords: &mut Vec<Keyword>,
) -> Result<(), InvalidSchema> {
    if let Some(limit) = object.number(keyword)? {
        let exact = ExactNumber::new(limit);
        keywords.push(Keyword::Bound(Bound {
            kind,
            limit: limit.clone(),
            exact,
        }));
    }
    Ok(())
}

fn is_negative(number: &serde_json::Number) -> bool {
    number.as_f64().is_some_and(|float| float < 0.0)
}
