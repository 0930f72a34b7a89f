//! Converts the types of the validator to types of the table.

use std::collections::HashMap;

use wasmparser::PrimitiveValType;
use wasmparser::component_types::{
    ComponentDefinedType, ComponentDefinedTypeId, ComponentValType, RecordType, TupleType,
    VariantType,
};
use wasmparser::types::Types;

use crate::types::{Case, Field, Integer, Type, TypeId, TypeTable};

/// How deep types may be nested. The JSON of values and schemas is several times deeper, and parsers of JSON accept about
/// 128 levels.
const MAX_DEPTH: u32 = 20;

/// A type cannot be converted. Completes a sentence such as "its result …".
type Refusal = String;

/// Converts types, each of them once.
pub(super) struct Conversion<'a> {
    types: &'a Types,
    table: TypeTable,
    primitive: HashMap<&'static str, TypeId>,
    /// The converted types with their depths.
    defined: HashMap<ComponentDefinedTypeId, Result<(TypeId, u32), Refusal>>,
}

impl<'a> Conversion<'a> {
    pub(super) fn new(types: &'a Types) -> Self {
        Self {
            types,
            table: TypeTable::default(),
            primitive: HashMap::new(),
            defined: HashMap::new(),
        }
    }

    pub(super) fn table(&self) -> &TypeTable {
        &self.table
    }

    pub(super) fn into_table(self) -> TypeTable {
        self.table
    }

    /// Converts a type.
    pub(super) fn convert(&mut self, ty: ComponentValType) -> Result<TypeId, Refusal> {
        Ok(self.with_depth(ty)?.0)
    }

    /// Converts a type, and returns it with its depth.
    fn with_depth(&mut self, ty: ComponentValType) -> Result<(TypeId, u32), Refusal> {
        match ty {
            ComponentValType::Primitive(primitive) => Ok((self.primitive(primitive)?, 1)),
            ComponentValType::Type(id) => {
                if let Some(converted) = self.defined.get(&id) {
                    return converted.clone();
                }
                // The validator limits how deep types are nested, so the recursion ends.
                let converted = self.defined(id);
                self.defined.insert(id, converted.clone());
                converted
            }
        }
    }

    fn primitive(&mut self, primitive: PrimitiveValType) -> Result<TypeId, Refusal> {
        let (name, ty) = match primitive {
            PrimitiveValType::Bool => ("bool", Type::Bool),
            PrimitiveValType::S8 => ("s8", Type::Integer(Integer::S8)),
            PrimitiveValType::U8 => ("u8", Type::Integer(Integer::U8)),
            PrimitiveValType::S16 => ("s16", Type::Integer(Integer::S16)),
            PrimitiveValType::U16 => ("u16", Type::Integer(Integer::U16)),
            PrimitiveValType::S32 => ("s32", Type::Integer(Integer::S32)),
            PrimitiveValType::U32 => ("u32", Type::Integer(Integer::U32)),
            PrimitiveValType::S64 => ("s64", Type::Integer(Integer::S64)),
            PrimitiveValType::U64 => ("u64", Type::Integer(Integer::U64)),
            PrimitiveValType::F32 => ("f32", Type::Float32),
            PrimitiveValType::F64 => ("f64", Type::Float64),
            PrimitiveValType::Char => ("char", Type::Char),
            PrimitiveValType::String => ("string", Type::String),
            PrimitiveValType::ErrorContext => return Err(unsupported("an `error-context`")),
        };
        if let Some(id) = self.primitive.get(name) {
            return Ok(*id);
        }
        let id = self.table.add(ty);
        self.primitive.insert(name, id);
        Ok(id)
    }

    fn defined(&mut self, id: ComponentDefinedTypeId) -> Result<(TypeId, u32), Refusal> {
        let types = self.types;
        let mut parts = Parts {
            conversion: self,
            depth: 0,
        };
        let ty = match &types[id] {
            ComponentDefinedType::Primitive(primitive) => {
                return Ok((self.primitive(*primitive)?, 1));
            }
            ComponentDefinedType::Record(record) => parts.record(record)?,
            ComponentDefinedType::Variant(variant) => parts.variant(variant)?,
            ComponentDefinedType::List { element, .. } => Type::List(parts.part(*element)?),
            ComponentDefinedType::Tuple(tuple) => parts.tuple(tuple)?,
            ComponentDefinedType::Flags(names) => Type::Flags(texts(names.iter())),
            ComponentDefinedType::Enum(names) => Type::Enum(texts(names.iter())),
            ComponentDefinedType::Option { ty, .. } => Type::Option(parts.part(*ty)?),
            ComponentDefinedType::Result { ok, err, .. } => Type::Result {
                ok: parts.optional(*ok)?,
                err: parts.optional(*err)?,
            },
            ComponentDefinedType::Own(_) | ComponentDefinedType::Borrow(_) => {
                return Err(
                    "contains a resource, which ends with the call: use a record or a text".into(),
                );
            }
            ComponentDefinedType::FixedLengthList { .. } => {
                return Err(unsupported("a list of fixed length"));
            }
            ComponentDefinedType::Map { .. } => return Err(unsupported("a map")),
            ComponentDefinedType::Future { .. } | ComponentDefinedType::Stream { .. } => {
                return Err(unsupported("a future or a stream"));
            }
        };
        let depth = parts.depth + 1;
        check_depth(depth)?;
        Ok((self.table.add(ty), depth))
    }
}

fn check_depth(depth: u32) -> Result<(), Refusal> {
    if depth <= MAX_DEPTH {
        return Ok(());
    }
    Err(format!(
        "is nested more than {MAX_DEPTH} levels deep: use simpler types"
    ))
}

/// Converts the parts of a type.
struct Parts<'c, 'a> {
    conversion: &'c mut Conversion<'a>,
    /// The depth of the deepest part.
    depth: u32,
}

impl Parts<'_, '_> {
    fn record(&mut self, record: &RecordType) -> Result<Type, Refusal> {
        let fields = record.fields.iter().map(|(name, ty)| {
            let name = name.to_string();
            self.part(*ty).map(|ty| Field { name, ty })
        });
        fields.collect::<Result<_, _>>().map(Type::Record)
    }

    fn variant(&mut self, variant: &VariantType) -> Result<Type, Refusal> {
        let cases = variant.cases.iter().map(|(name, case)| {
            let name = name.to_string();
            self.optional(case.ty).map(|ty| Case { name, ty })
        });
        cases.collect::<Result<_, _>>().map(Type::Variant)
    }

    fn tuple(&mut self, tuple: &TupleType) -> Result<Type, Refusal> {
        let types = tuple.types.iter().map(|ty| self.part(*ty));
        types.collect::<Result<_, _>>().map(Type::Tuple)
    }

    fn part(&mut self, ty: ComponentValType) -> Result<TypeId, Refusal> {
        let (id, depth) = self.conversion.with_depth(ty)?;
        self.depth = self.depth.max(depth);
        Ok(id)
    }

    fn optional(&mut self, ty: Option<ComponentValType>) -> Result<Option<TypeId>, Refusal> {
        ty.map(|ty| self.part(ty)).transpose()
    }
}

fn texts(names: impl Iterator<Item = impl ToString>) -> Vec<String> {
    names.map(|name| name.to_string()).collect()
}

fn unsupported(what: &str) -> Refusal {
    format!("contains {what}, which is not supported: use another type")
}
