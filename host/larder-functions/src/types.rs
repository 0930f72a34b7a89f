//! The types of parameters and results. A table contains each type once, because types refer to each other, and a tree of
//! them could be exponentially large.

use serde::{Deserialize, Serialize};

/// A type in a [`TypeTable`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TypeId(u32);

/// The types of all functions of a component. A type only refers to types before it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypeTable(Vec<Type>);

/// A type of WIT that JSON can represent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Type {
    /// `bool`.
    Bool,
    /// An integer.
    Integer(Integer),
    /// `f32`.
    Float32,
    /// `f64`.
    Float64,
    /// `char`.
    Char,
    /// `string`.
    String,
    /// `list`.
    List(TypeId),
    /// `record`.
    Record(Vec<Field>),
    /// `tuple`.
    Tuple(Vec<TypeId>),
    /// `variant`.
    Variant(Vec<Case>),
    /// `enum`.
    Enum(Vec<String>),
    /// `option`.
    Option(TypeId),
    /// `result`.
    Result {
        /// The type of a success.
        ok: Option<TypeId>,
        /// The type of an error.
        err: Option<TypeId>,
    },
    /// `flags`.
    Flags(Vec<String>),
}

/// A type of integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Integer {
    /// `s8`.
    S8,
    /// `u8`.
    U8,
    /// `s16`.
    S16,
    /// `u16`.
    U16,
    /// `s32`.
    S32,
    /// `u32`.
    U32,
    /// `s64`.
    S64,
    /// `u64`.
    U64,
}

/// A field of a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Field {
    /// The name of the field.
    pub name: String,
    /// The type of the field.
    pub ty: TypeId,
}

/// A case of a variant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Case {
    /// The name of the case.
    pub name: String,
    /// The type of its value, if the case has one.
    pub ty: Option<TypeId>,
}

impl TypeTable {
    /// Adds a type, whose parts are in the table already.
    pub fn add(&mut self, ty: Type) -> TypeId {
        let id = TypeId(u32::try_from(self.0.len()).unwrap_or(u32::MAX));
        self.0.push(ty);
        id
    }

    /// Returns a type of this table.
    pub fn get(&self, id: TypeId) -> &Type {
        // An id of another table would be an error of the program.
        self.0.get(id.0 as usize).unwrap_or(&Type::Bool)
    }

    /// Whether each type refers only to types before it, so that no type contains itself.
    pub(crate) fn is_ordered(&self) -> bool {
        let mut all = self.0.iter().enumerate();
        all.all(|(position, ty)| ty.parts().iter().all(|part| (part.0 as usize) < position))
    }

    pub(crate) fn has(&self, id: TypeId) -> bool {
        (id.0 as usize) < self.0.len()
    }

    /// Whether `null` stands for a value of this type.
    pub fn is_nullable(&self, id: TypeId) -> bool {
        matches!(self.get(id), Type::Option(_))
    }

    /// Whether the type is `list<u8>`.
    pub fn is_bytes(&self, ty: &Type) -> bool {
        match ty {
            Type::List(element) => *self.get(*element) == Type::Integer(Integer::U8),
            _ => false,
        }
    }
}

impl Type {
    /// The types that this type contains.
    pub(crate) fn parts(&self) -> Vec<TypeId> {
        match self {
            Self::List(ty) | Self::Option(ty) => vec![*ty],
            Self::Record(fields) => fields.iter().map(|field| field.ty).collect(),
            Self::Tuple(types) => types.clone(),
            Self::Variant(cases) => cases.iter().filter_map(|case| case.ty).collect(),
            Self::Result { ok, err } => ok.iter().chain(err).copied().collect(),
            Self::Bool
            | Self::Integer(_)
            | Self::Float32
            | Self::Float64
            | Self::Char
            | Self::String
            | Self::Enum(_)
            | Self::Flags(_) => Vec::new(),
        }
    }
}

impl Integer {
    /// The name of the type in WIT.
    pub fn name(self) -> &'static str {
        match self {
            Self::S8 => "s8",
            Self::U8 => "u8",
            Self::S16 => "s16",
            Self::U16 => "u16",
            Self::S32 => "s32",
            Self::U32 => "u32",
            Self::S64 => "s64",
            Self::U64 => "u64",
        }
    }

    /// The smallest and the largest value.
    pub fn range(self) -> (i128, i128) {
        match self {
            Self::S8 => (i8::MIN.into(), i8::MAX.into()),
            Self::U8 => (0, u8::MAX.into()),
            Self::S16 => (i16::MIN.into(), i16::MAX.into()),
            Self::U16 => (0, u16::MAX.into()),
            Self::S32 => (i32::MIN.into(), i32::MAX.into()),
            Self::U32 => (0, u32::MAX.into()),
            Self::S64 => (i64::MIN.into(), i64::MAX.into()),
            Self::U64 => (0, u64::MAX.into()),
        }
    }

    /// Whether the type has values that some clients cannot represent as numbers.
    pub fn is_wide(self) -> bool {
        matches!(self, Self::S64 | Self::U64)
    }

    /// The largest number that every client represents exactly.
    pub const MAX_EXACT: i128 = (1 << 53) - 1;
}
