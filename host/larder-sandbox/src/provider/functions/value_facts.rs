//! What is known of a value without its JSON: its size in memory, and the media type of its type.

use wasmtime::component::Val;

use larder_functions::{Type, TypeTable};

/// The media type of values of a type.
pub(super) fn media_type(types: &TypeTable, ty: &Type) -> &'static str {
    match ty {
        Type::String => "text/plain",
        ty if types.is_bytes(ty) => "application/octet-stream",
        _ => "application/json",
    }
}

/// Bytes of a value in memory.
pub(super) fn value_size(value: &Val) -> usize {
    let parts = match value {
        Val::String(text) | Val::Enum(text) => text.len(),
        // Their items have no parts.
        Val::List(items) if matches!(items.first(), Some(Val::U8(_))) => {
            size_of_val(items.as_slice())
        }
        Val::List(items) | Val::Tuple(items) => items.iter().map(value_size).sum(),
        Val::Record(fields) => fields
            .iter()
            .map(|(name, value)| size_of::<String>() + name.len() + value_size(value))
            .sum(),
        Val::Variant(name, value) => name.len() + value.as_deref().map_or(0, value_size),
        Val::Flags(names) => names
            .iter()
            .map(|name| size_of::<String>() + name.len())
            .sum(),
        Val::Option(value) | Val::Result(Ok(value) | Err(value)) => {
            value.as_deref().map_or(0, value_size)
        }
        _ => 0,
    };
    size_of::<Val>() + parts
}
