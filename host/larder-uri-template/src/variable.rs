//! The values of variables.

/// A value of a template variable. A list is several variables with the same name, and a map is several
/// variables with the same name and different keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// The name of the variable.
    pub name: String,
    /// The key within a map; none for a single value and in a list.
    pub key: Option<String>,
    /// The decoded value.
    pub value: String,
}

impl Variable {
    /// Creates a variable without a key.
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            key: None,
            value: value.into(),
        }
    }
}
