//! Converts values of the engine to JSON. The text is written at once, without a tree of JSON values.

use std::io::Write as _;

use wasmtime::component::Val;

use larder_functions::{Case, Integer, Type, TypeId, TypeTable};
use larder_provider::CallError;

/// Returns the JSON of a value. Fails if JSON cannot represent the value.
pub(super) fn json(types: &TypeTable, ty: TypeId, value: &Val) -> Result<String, CallError> {
    let mut writer = JsonWriter {
        types,
        text: Vec::new(),
    };
    writer.value(ty, value)?;
    // All parts are UTF-8.
    String::from_utf8(writer.text).map_err(|_| wrong_type())
}

struct JsonWriter<'a> {
    types: &'a TypeTable,
    text: Vec<u8>,
}

/// The engine returns only values of the function's type, so this is an error of the program.
fn wrong_type() -> CallError {
    CallError::Failed("its result does not have its type".into())
}

impl JsonWriter<'_> {
    fn value(&mut self, id: TypeId, value: &Val) -> Result<(), CallError> {
        let types = self.types;
        let ty = types.get(id);
        match (ty, value) {
            (Type::Bool, Val::Bool(true)) => self.push("true"),
            (Type::Bool, Val::Bool(false)) => self.push("false"),
            (Type::Integer(_), value) => self.integer(value)?,
            (Type::Float32, Val::Float32(number)) => self.float(number.is_finite(), number)?,
            (Type::Float64, Val::Float64(number)) => self.float(number.is_finite(), number)?,
            (Type::Char, Val::Char(character)) => {
                self.string(character.encode_utf8(&mut [0; 4]))?;
            }
            (Type::String, Val::String(text)) => self.string(text)?,
            (Type::List(_), Val::List(items)) if types.is_bytes(ty) => self.bytes(items),
            (Type::List(element), Val::List(items)) => {
                self.items(items.iter().map(|item| (*element, item)))?;
            }
            (Type::Tuple(parts), Val::Tuple(items)) => {
                self.items(parts.iter().copied().zip(items))?;
            }
            (Type::Record(fields), Val::Record(values)) => {
                self.push("{");
                for (position, (field, (_, value))) in fields.iter().zip(values).enumerate() {
                    self.separate(position);
                    self.string(&field.name)?;
                    self.push(":");
                    self.value(field.ty, value)?;
                }
                self.push("}");
            }
            (Type::Variant(cases), Val::Variant(name, value)) => {
                self.variant(cases, name, value.as_deref())?;
            }
            (Type::Enum(_), Val::Enum(name)) => self.string(name)?,
            (Type::Flags(_), Val::Flags(names)) => self.names(names)?,
            (Type::Option(some), Val::Option(value)) => self.option(*some, value.as_deref())?,
            (Type::Result { ok, err }, Val::Result(result)) => match result {
                Ok(value) => self.case("ok", *ok, value.as_deref())?,
                Err(value) => self.case("err", *err, value.as_deref())?,
            },
            _ => return Err(wrong_type()),
        }
        Ok(())
    }

    fn separate(&mut self, position: usize) {
        if position > 0 {
            self.push(",");
        }
    }

    fn push(&mut self, text: &str) {
        self.text.extend_from_slice(text.as_bytes());
    }

    fn string(&mut self, text: &str) -> Result<(), CallError> {
        serde_json::to_writer(&mut self.text, text).map_err(|_| wrong_type())
    }

    fn number(&mut self, number: impl std::fmt::Display) {
        // Writing to memory does not fail.
        _ = write!(self.text, "{number}");
    }

    fn bytes(&mut self, items: &[Val]) {
        let encoded = base64_simd::STANDARD.encode_to_string(bytes(items));
        self.push("\"");
        self.push(&encoded);
        self.push("\"");
    }

    fn integer(&mut self, value: &Val) -> Result<(), CallError> {
        match value {
            Val::S8(number) => self.number(number),
            Val::U8(number) => self.number(number),
            Val::S16(number) => self.number(number),
            Val::U16(number) => self.number(number),
            Val::S32(number) => self.number(number),
            Val::U32(number) => self.number(number),
            Val::S64(number) => self.wide((*number).into()),
            Val::U64(number) => self.wide((*number).into()),
            _ => return Err(wrong_type()),
        }
        Ok(())
    }

    /// Writes an integer of 64 bits: as a string if not all clients can represent it as a number.
    fn wide(&mut self, number: i128) {
        if number.abs() <= Integer::MAX_EXACT {
            self.number(number);
        } else {
            self.number(format_args!("\"{number}\""));
        }
    }

    fn float(
        &mut self,
        is_finite: bool,
        number: &(impl serde::Serialize + std::fmt::Display),
    ) -> Result<(), CallError> {
        if !is_finite {
            return Err(CallError::Failed(format!(
                "its result contains the number {number}, which JSON cannot represent"
            )));
        }
        serde_json::to_writer(&mut self.text, number).map_err(|_| wrong_type())
    }

    fn items<'v>(
        &mut self,
        items: impl Iterator<Item = (TypeId, &'v Val)>,
    ) -> Result<(), CallError> {
        self.push("[");
        for (position, (ty, item)) in items.enumerate() {
            self.separate(position);
            self.value(ty, item)?;
        }
        self.push("]");
        Ok(())
    }

    fn names(&mut self, names: &[String]) -> Result<(), CallError> {
        self.push("[");
        for (position, name) in names.iter().enumerate() {
            self.separate(position);
            self.string(name)?;
        }
        self.push("]");
        Ok(())
    }

    fn option(&mut self, some: TypeId, value: Option<&Val>) -> Result<(), CallError> {
        match value {
            Some(value) if self.types.is_nullable(some) => {
                self.case("some", Some(some), Some(value))
            }
            None if self.types.is_nullable(some) => self.case("none", None, None),
            Some(value) => self.value(some, value),
            None => {
                self.push("null");
                Ok(())
            }
        }
    }

    fn variant(
        &mut self,
        cases: &[Case],
        name: &str,
        value: Option<&Val>,
    ) -> Result<(), CallError> {
        let case = cases.iter().find(|case| case.name == name);
        self.case(name, case.ok_or_else(wrong_type)?.ty, value)
    }

    fn case(
        &mut self,
        name: &str,
        ty: Option<TypeId>,
        value: Option<&Val>,
    ) -> Result<(), CallError> {
        self.push(r#"{"tag":"#);
        self.string(name)?;
        if let (Some(ty), Some(value)) = (ty, value) {
            self.push(r#","val":"#);
            self.value(ty, value)?;
        }
        self.push("}");
        Ok(())
    }
}

/// The bytes of a `list<u8>`.
pub(super) fn bytes(items: &[Val]) -> Vec<u8> {
    let byte = |item: &Val| match item {
        Val::U8(byte) => *byte,
        // The engine returns only values of the type.
        _ => 0,
    };
    items.iter().map(byte).collect()
}
