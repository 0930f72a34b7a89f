//! Keywords that check a value itself, without schemas for its parts.

use std::cmp::Ordering;

use serde_json::{Number, Value};

use super::report::{Location, Quote, QuoteList};
use super::{Outcome, Validation};
use crate::equality::{ValueSet, are_equal, are_unique};
use crate::node::{Bound, BoundKind, Keyword, Size, SizeOf, TypeSet};
use crate::number::{Decimal, ExactNumber};
use crate::pattern::Pattern;

impl Validation<'_, '_, '_> {
    pub(super) fn assertion(&mut self, keyword: &Keyword, at: &Location<'_>) -> Outcome {
        match (keyword, at.value) {
            (Keyword::Never, _) => self.fail(at, format_args!("no value is allowed here")),
            (Keyword::Type(types), _) => self.value_type(*types, at),
            (Keyword::Const(expected), _) => self.constant(expected, at),
            (Keyword::Enum(values), _) => self.enumeration(values, at),
            (Keyword::Bound(bound), Value::Number(number)) => self.bound(bound, number, at),
            (Keyword::MultipleOf(divisor, decimal), Value::Number(number)) => {
                self.multiple_of(divisor, *decimal, number, at)
            }
            (Keyword::Size(size), value) => self.size(size, value, at),
            (Keyword::Pattern(pattern), Value::String(text)) => self.pattern(pattern, text, at),
            (Keyword::UniqueItems, Value::Array(items)) => self.unique_items(items, at),
            (Keyword::Required(names), Value::Object(_)) => self.required(names, at),
            (Keyword::DependentRequired(dependencies), Value::Object(members)) => {
                let mut is_valid = true;
                for (name, required) in dependencies {
                    self.effort.spend(1)?;
                    is_valid &= !members.contains_key(name) || self.required(required, at)?;
                }
                Ok(is_valid)
            }
            _ => Ok(true),
        }
    }

    fn value_type(&mut self, types: TypeSet, at: &Location<'_>) -> Outcome {
        if types.contains(at.value) {
            return Ok(true);
        }
        let names: Vec<_> = types.names().map(|name| format!("\"{name}\"")).collect();
        let word = if names.len() == 1 { "type" } else { "types" };
        self.fail(
            at,
            format_args!("{} is not of {word} {}", Quote(at.value), names.join(", ")),
        )
    }

    fn constant(&mut self, expected: &Value, at: &Location<'_>) -> Outcome {
        let is_valid = are_equal(expected, at.value, 0, self.effort)?;
        self.check(
            is_valid,
            at,
            format_args!("{} was expected", Quote(expected)),
        )
    }

    fn enumeration(&mut self, values: &ValueSet, at: &Location<'_>) -> Outcome {
        let is_valid = values.contains(at.value, self.effort)?;
        let value = Quote(at.value);
        let list = QuoteList(&values.values);
        self.check(is_valid, at, format_args!("{value} is not one of {list}"))
    }

    fn bound(&mut self, bound: &Bound, number: &Number, at: &Location<'_>) -> Outcome {
        let order = ExactNumber::new(number).compare(bound.exact);
        let (is_valid, text) = match bound.kind {
            BoundKind::Minimum => (order != Ordering::Less, "less than the minimum"),
            BoundKind::ExclusiveMinimum => (
                order == Ordering::Greater,
                "less than or equal to the minimum",
            ),
            BoundKind::Maximum => (order != Ordering::Greater, "greater than the maximum"),
            BoundKind::ExclusiveMaximum => (
                order == Ordering::Less,
                "greater than or equal to the maximum",
            ),
        };
        let limit = &bound.limit;
        self.check(is_valid, at, format_args!("{number} is {text} of {limit}"))
    }

    fn multiple_of(
        &mut self,
        divisor: &Number,
        decimal: Decimal,
        number: &Number,
        at: &Location<'_>,
    ) -> Outcome {
        let is_valid = Decimal::new(number).is_none_or(|number| number.is_multiple_of(decimal));
        let message = format_args!("{number} is not a multiple of {divisor}");
        self.check(is_valid, at, message)
    }

    fn size(&mut self, size: &Size, value: &Value, at: &Location<'_>) -> Outcome {
        let (count, one, many) = match (size.of, value) {
            // A character has at least one byte.
            (SizeOf::Text, Value::String(text))
                if !size.is_minimum && text.len() as u64 <= size.limit =>
            {
                return Ok(true);
            }
            (SizeOf::Text, Value::String(text)) => {
                self.effort.spend_bytes(text.len())?;
                (text.chars().count(), "character", "characters")
            }
            (SizeOf::Items, Value::Array(items)) => (items.len(), "item", "items"),
            (SizeOf::Properties, Value::Object(members)) => {
                (members.len(), "property", "properties")
            }
            _ => return Ok(true),
        };
        let limit = size.limit;
        let is_valid = size.permits(count as u64);
        let word = if size.is_minimum { "less" } else { "more" };
        let unit = if limit == 1 { one } else { many };
        let value = Quote(value);
        self.check(
            is_valid,
            at,
            format_args!("{value} has {word} than {limit} {unit}"),
        )
    }

    fn pattern(&mut self, pattern: &Pattern, text: &str, at: &Location<'_>) -> Outcome {
        let is_valid = pattern.is_match(text, self.effort)?;
        let value = Quote(at.value);
        let pattern = &pattern.text;
        self.check(
            is_valid,
            at,
            format_args!("{value} does not match \"{pattern}\""),
        )
    }

    fn unique_items(&mut self, items: &[Value], at: &Location<'_>) -> Outcome {
        let is_valid = are_unique(items, self.effort)?;
        self.check(
            is_valid,
            at,
            format_args!("{} has equal items", Quote(at.value)),
        )
    }

    fn required(&mut self, names: &[String], at: &Location<'_>) -> Outcome {
        let Value::Object(members) = at.value else {
            return Ok(true);
        };
        self.effort.spend(names.len() as u64)?;
        let mut is_valid = true;
        for name in names {
            if !members.contains_key(name) {
                is_valid = self.fail(at, format_args!("{name:?} is a required property"))?;
            }
        }
        Ok(is_valid)
    }
}
