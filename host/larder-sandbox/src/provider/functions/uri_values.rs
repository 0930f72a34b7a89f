//! Converts the values of URI variables, which are texts, to values of parameters.

use wasmtime::component::Val;

use super::arguments::{character, float32, integer_text};
use larder_functions::{Type, TypeId, TypeTable};

/// Whether a part of a URI can have this type.
pub(super) fn is_supported(types: &TypeTable, id: TypeId) -> bool {
    match types.get(id) {
        Type::Option(part) | Type::List(part) => is_single(types, *part),
        _ => is_single(types, id),
    }
}

fn is_single(types: &TypeTable, id: TypeId) -> bool {
    matches!(
        types.get(id),
        Type::Bool
            | Type::Integer(_)
            | Type::Float32
            | Type::Float64
            | Type::Char
            | Type::String
            | Type::Enum(_)
    )
}

/// Converts the values of a variable. A list has several values, and an option may have none.
pub(super) fn value(types: &TypeTable, id: TypeId, values: &[&str]) -> Result<Val, String> {
    match types.get(id) {
        Type::Option(some) => {
            let value = match values {
                [] => None,
                values => Some(Box::new(one(types, *some, values)?)),
            };
            Ok(Val::Option(value))
        }
        Type::List(element) => {
            let items = values.iter().map(|value| single(types, *element, value));
            Ok(Val::List(items.collect::<Result<_, _>>()?))
        }
        _ => one(types, id, values),
    }
}

fn one(types: &TypeTable, id: TypeId, values: &[&str]) -> Result<Val, String> {
    match values {
        [value] => single(types, id, value),
        [] => Err("it has no value".into()),
        _ => Err("it has several values; expected one".into()),
    }
}

fn single(types: &TypeTable, id: TypeId, text: &str) -> Result<Val, String> {
    match types.get(id) {
        Type::String => Ok(Val::String(text.to_owned())),
        Type::Bool => boolean(text),
        Type::Integer(integer) => {
            integer_text(*integer, text).map_err(|error| format!("{error}, found {text:?}"))
        }
        Type::Float32 => float32(number(text)?).map_err(|error| error.to_string()),
        Type::Float64 => number(text).map(Val::Float64),
        Type::Char => character(text).map_err(|error| error.to_string()),
        Type::Enum(names) if names.iter().any(|name| name == text) => {
            Ok(Val::Enum(text.to_owned()))
        }
        Type::Enum(names) => Err(format!(
            "expected one of {}, found {text:?}",
            names.join(", ")
        )),
        _ => Err("its type cannot be a part of a URI".into()),
    }
}

fn boolean(text: &str) -> Result<Val, String> {
    match text {
        "true" => Ok(Val::Bool(true)),
        "false" => Ok(Val::Bool(false)),
        _ => Err(format!("expected `true` or `false`, found {text:?}")),
    }
}

fn number(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
    number.ok_or_else(|| format!("expected a number, found {text:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use larder_functions::Integer;

    #[test]
    fn converts_values_to_the_types_of_parameters() {
        let mut types = TypeTable::default();
        let small = types.add(Type::Integer(Integer::U8));
        let wide = types.add(Type::Integer(Integer::S64));
        let unit = types.add(Type::Enum(vec!["metric".into(), "imperial".into()]));
        let maybe = types.add(Type::Option(unit));
        let numbers = types.add(Type::List(wide));
        let yes = types.add(Type::Bool);
        let check = |ty, values: &[&str], expected: Result<Val, &str>| {
            let found = value(&types, ty, values);
            assert_eq!(found, expected.map_err(ToOwned::to_owned), "{values:?}");
        };
        check(small, &["7"], Ok(Val::U8(7)));
        check(
            small,
            &["300"],
            Err("expected an integer from 0 to 255, found \"300\""),
        );
        check(
            small,
            &["+1"],
            Err("expected an integer from 0 to 255, found \"+1\""),
        );
        check(small, &[], Err("it has no value"));
        check(wide, &["-9223372036854775808"], Ok(Val::S64(i64::MIN)));
        check(maybe, &[], Ok(Val::Option(None)));
        check(
            maybe,
            &["kelvin"],
            Err("expected one of metric, imperial, found \"kelvin\""),
        );
        check(
            numbers,
            &["1", "2"],
            Ok(Val::List(vec![Val::S64(1), Val::S64(2)])),
        );
        check(yes, &["1"], Err("expected `true` or `false`, found \"1\""));
    }
}
