//! JSON Schemas of arguments and results. The mapping is described in docs/src/functions.md. The order of all members is
//! the order in WIT, so that the same types always have the same schema.

use serde_json::Value;

use crate::function::Parameter;
use crate::types::{Field, Integer, Type, TypeId, TypeTable};

/// Maximum size of a schema in bytes, as for tools of the contract.
pub const MAX_SCHEMA: usize = 64 << 10;

/// The schema has more than [`MAX_SCHEMA`] bytes.
#[derive(Debug, PartialEq, Eq)]
pub struct TooLarge;

/// The name of the member of the structured result that contains a result which is not a record.
pub(crate) const RESULT: &str = "result";

/// Returns the schema of the arguments: an object with a member for each parameter.
pub fn input_schema(parameters: &[Parameter], types: &TypeTable) -> Result<String, TooLarge> {
    let members = parameters.iter();
    let members: Vec<_> = members
        .map(|parameter| (parameter.name.as_str(), parameter.ty))
        .collect();
    let mut writer = SchemaWriter::new(types);
    writer.object(&members)?;
    Ok(writer.text)
}

/// Returns the schema of the structured result: the record itself, or an object whose member `result` is the value. None
/// if the function returns nothing or a text, which needs no structure.
pub fn output_schema(value: Option<TypeId>, types: &TypeTable) -> Result<Option<String>, TooLarge> {
    let Some(value) = value else {
        return Ok(None);
    };
    let mut writer = SchemaWriter::new(types);
    match types.get(value) {
        Type::String => return Ok(None),
        Type::Record(_) => writer.ty(value)?,
        _ => writer.object(&[(RESULT, value)])?,
    }
    Ok(Some(writer.text))
}

struct SchemaWriter<'a> {
    text: String,
    types: &'a TypeTable,
}

impl<'a> SchemaWriter<'a> {
    fn new(types: &'a TypeTable) -> Self {
        Self {
            text: String::new(),
            types,
        }
    }

    /// Writes a part of the schema. Fails at the limit, because a type can contain very many others.
    fn push(&mut self, text: &str) -> Result<(), TooLarge> {
        if self.text.len() + text.len() > MAX_SCHEMA {
            return Err(TooLarge);
        }
        self.text.push_str(text);
        Ok(())
    }

    fn quoted(&mut self, text: &str) -> Result<(), TooLarge> {
        self.push(&Value::from(text).to_string())
    }

    fn separate(&mut self, position: usize) -> Result<(), TooLarge> {
        if position > 0 { self.push(",") } else { Ok(()) }
    }

    fn ty(&mut self, id: TypeId) -> Result<(), TooLarge> {
        let types = self.types;
        let ty = types.get(id);
        match ty {
            Type::Bool => self.push(r#"{"type":"boolean"}"#),
            Type::Integer(integer) => self.integer(*integer),
            Type::Float32 | Type::Float64 => self.push(r#"{"type":"number"}"#),
            Type::Char => self.push(r#"{"type":"string","minLength":1,"maxLength":1}"#),
            Type::String => self.push(r#"{"type":"string"}"#),
            Type::List(_) if types.is_bytes(ty) => self.push(
                r#"{"type":"string","contentEncoding":"base64","description":"bytes in base64"}"#,
            ),
            Type::List(element) => self.list(*element),
            Type::Record(fields) => self.record(fields),
            Type::Tuple(parts) => self.tuple(parts),
            Type::Variant(cases) => {
                let cases = cases.iter();
                let cases: Vec<_> = cases.map(|case| (case.name.as_str(), case.ty)).collect();
                self.variant(&cases)
            }
            Type::Enum(names) => self.names(r#"{"type":"string","enum":["#, names, "]}"),
            Type::Flags(names) => self.names(
                r#"{"type":"array","uniqueItems":true,"items":{"type":"string","enum":["#,
                names,
                "]}}",
            ),
            Type::Option(some) => self.option(*some),
            Type::Result { ok, err } => self.variant(&[("ok", *ok), ("err", *err)]),
        }
    }

    fn list(&mut self, element: TypeId) -> Result<(), TooLarge> {
        self.push(r#"{"type":"array","items":"#)?;
        self.ty(element)?;
        self.push("}")
    }

    fn option(&mut self, some: TypeId) -> Result<(), TooLarge> {
        if self.types.is_nullable(some) {
            return self.variant(&[("none", None), ("some", Some(some))]);
        }
        self.push(r#"{"anyOf":["#)?;
        self.ty(some)?;
        self.push(r#",{"type":"null"}]}"#)
    }

    fn record(&mut self, fields: &[Field]) -> Result<(), TooLarge> {
        let fields = fields.iter();
        let fields = fields.map(|field| (field.name.as_str(), field.ty));
        self.object(&fields.collect::<Vec<_>>())
    }

    fn integer(&mut self, integer: Integer) -> Result<(), TooLarge> {
        let (min, max) = integer.range();
        if !integer.is_wide() {
            return self.push(&format!(
                r#"{{"type":"integer","minimum":{min},"maximum":{max}}}"#
            ));
        }
        let exact = Integer::MAX_EXACT;
        let sign = if min < 0 { "-?" } else { "" };
        self.push(&format!(
            r#"{{"anyOf":[{{"type":"integer","minimum":{},"maximum":{exact}}},{{"type":"string","pattern":"^{sign}[0-9]{{1,20}}$"}}],"description":"a {} integer; beyond {exact} as a string of decimal digits"}}"#,
            min.max(-exact),
            integer.name(),
        ))
    }

    /// Writes the schema of an object. Members whose types are options may be missing.
    fn object(&mut self, members: &[(&str, TypeId)]) -> Result<(), TooLarge> {
        self.push(r#"{"type":"object","properties":{"#)?;
        for (position, (name, ty)) in members.iter().enumerate() {
            self.separate(position)?;
            self.quoted(name)?;
            self.push(":")?;
            self.ty(*ty)?;
        }
        self.push(r#"},"required":["#)?;
        let types = self.types;
        let required = members.iter().filter(|(_, ty)| !types.is_nullable(*ty));
        self.list_of_names(required.map(|(name, _)| *name))?;
        self.push(r#"],"additionalProperties":false}"#)
    }

    fn list_of_names<'n>(&mut self, names: impl Iterator<Item = &'n str>) -> Result<(), TooLarge> {
        for (position, name) in names.enumerate() {
            self.separate(position)?;
            self.quoted(name)?;
        }
        Ok(())
    }

    fn tuple(&mut self, parts: &[TypeId]) -> Result<(), TooLarge> {
        self.push(r#"{"type":"array","prefixItems":["#)?;
        for (position, part) in parts.iter().enumerate() {
            self.separate(position)?;
            self.ty(*part)?;
        }
        let count = parts.len();
        self.push(&format!(r#"],"minItems":{count},"maxItems":{count}}}"#))
    }

    /// Writes the schema of an object whose member `tag` is the name of a case, and whose member `val` is its value.
    fn variant(&mut self, cases: &[(&str, Option<TypeId>)]) -> Result<(), TooLarge> {
        self.push(r#"{"oneOf":["#)?;
        for (position, (name, ty)) in cases.iter().enumerate() {
            self.separate(position)?;
            self.case(name, *ty)?;
        }
        self.push("]}")
    }

    fn case(&mut self, name: &str, ty: Option<TypeId>) -> Result<(), TooLarge> {
        self.push(r#"{"type":"object","properties":{"tag":{"const":"#)?;
        self.quoted(name)?;
        self.push("}")?;
        if let Some(ty) = ty {
            self.push(r#","val":"#)?;
            self.ty(ty)?;
        }
        let is_required = ty.is_some_and(|ty| !self.types.is_nullable(ty));
        let required = if is_required {
            r#""tag","val""#
        } else {
            r#""tag""#
        };
        self.push(&format!(
            r#"}},"required":[{required}],"additionalProperties":false}}"#
        ))
    }

    fn names(&mut self, before: &str, names: &[String], after: &str) -> Result<(), TooLarge> {
        self.push(before)?;
        self.list_of_names(names.iter().map(String::as_str))?;
        self.push(after)
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::types::Case;

    fn check(build: impl FnOnce(&mut TypeTable) -> TypeId, expected: Expect) {
        let mut types = TypeTable::default();
        let ty = build(&mut types);
        let mut writer = SchemaWriter::new(&types);
        writer.ty(ty).unwrap();
        assert!(serde_json::from_str::<Value>(&writer.text).is_ok());
        expected.assert_eq(&writer.text);
    }

    #[test]
    fn describes_each_type() {
        check(
            |types| types.add(Type::Integer(Integer::S8)),
            expect![[r#"{"type":"integer","minimum":-128,"maximum":127}"#]],
        );
        check(
            |types| types.add(Type::Integer(Integer::S64)),
            expect![[
                r#"{"anyOf":[{"type":"integer","minimum":-9007199254740991,"maximum":9007199254740991},{"type":"string","pattern":"^-?[0-9]{1,20}$"}],"description":"a s64 integer; beyond 9007199254740991 as a string of decimal digits"}"#
            ]],
        );
        check(
            |types| {
                let element = types.add(Type::Integer(Integer::U8));
                types.add(Type::List(element))
            },
            expect![[
                r#"{"type":"string","contentEncoding":"base64","description":"bytes in base64"}"#
            ]],
        );
        check(
            |types| {
                let ty = types.add(Type::Char);
                let option = types.add(Type::Option(ty));
                let field = |name: &str, ty| Field {
                    name: name.into(),
                    ty,
                };
                types.add(Type::Record(vec![field("a", ty), field("b", option)]))
            },
            expect![[
                r#"{"type":"object","properties":{"a":{"type":"string","minLength":1,"maxLength":1},"b":{"anyOf":[{"type":"string","minLength":1,"maxLength":1},{"type":"null"}]}},"required":["a"],"additionalProperties":false}"#
            ]],
        );
        check(
            |types| {
                let ty = types.add(Type::Bool);
                let option = types.add(Type::Option(ty));
                types.add(Type::Option(option))
            },
            expect![[
                r#"{"oneOf":[{"type":"object","properties":{"tag":{"const":"none"}},"required":["tag"],"additionalProperties":false},{"type":"object","properties":{"tag":{"const":"some"},"val":{"anyOf":[{"type":"boolean"},{"type":"null"}]}},"required":["tag"],"additionalProperties":false}]}"#
            ]],
        );
        check(
            |types| {
                let ty = types.add(Type::Float64);
                let pair = types.add(Type::Tuple(vec![ty, ty]));
                let case = |name: &str, ty| Case {
                    name: name.into(),
                    ty,
                };
                types.add(Type::Variant(vec![
                    case("at", Some(pair)),
                    case("no", None),
                ]))
            },
            expect![[
                r#"{"oneOf":[{"type":"object","properties":{"tag":{"const":"at"},"val":{"type":"array","prefixItems":[{"type":"number"},{"type":"number"}],"minItems":2,"maxItems":2}},"required":["tag","val"],"additionalProperties":false},{"type":"object","properties":{"tag":{"const":"no"}},"required":["tag"],"additionalProperties":false}]}"#
            ]],
        );
        check(
            |types| types.add(Type::Flags(vec!["a".into(), "b".into()])),
            expect![[
                r#"{"type":"array","uniqueItems":true,"items":{"type":"string","enum":["a","b"]}}"#
            ]],
        );
    }

    #[test]
    fn results_are_objects() {
        let mut types = TypeTable::default();
        let text = types.add(Type::String);
        let texts = types.add(Type::List(text));
        assert_eq!(output_schema(None, &types), Ok(None));
        assert_eq!(output_schema(Some(text), &types), Ok(None));
        assert_eq!(
            output_schema(Some(texts), &types).unwrap().unwrap(),
            r#"{"type":"object","properties":{"result":{"type":"array","items":{"type":"string"}}},"required":["result"],"additionalProperties":false}"#
        );
    }

    #[test]
    fn refuses_schemas_that_are_too_large() {
        let mut types = TypeTable::default();
        let mut ty = types.add(Type::Bool);
        for _ in 0..64 {
            ty = types.add(Type::Tuple(vec![ty; 2]));
        }
        let parameter = Parameter {
            name: "a".into(),
            ty,
        };
        assert_eq!(input_schema(&[parameter], &types), Err(TooLarge));
    }
}
