//! The members of a schema object, with the types that keywords must have.

use serde_json::{Map, Number, Value};

use super::Place;
use crate::InvalidSchema;
use crate::draft::Draft;

/// Keywords without an effect on the validation, the type of their values, and the first draft that has the keyword.
const ANNOTATIONS: [(&str, Annotation, Draft); 9] = [
    ("title", Annotation::Text, Draft::Draft4),
    ("description", Annotation::Text, Draft::Draft4),
    ("format", Annotation::Text, Draft::Draft4),
    ("$comment", Annotation::Text, Draft::Draft7),
    ("contentEncoding", Annotation::Text, Draft::Draft7),
    ("contentMediaType", Annotation::Text, Draft::Draft7),
    ("readOnly", Annotation::Flag, Draft::Draft7),
    ("writeOnly", Annotation::Flag, Draft::Draft7),
    ("deprecated", Annotation::Flag, Draft::Draft2019),
];

enum Annotation {
    Text,
    Flag,
}

/// A schema object.
#[derive(Clone, Copy)]
pub(super) struct SchemaObject<'d> {
    pub(super) members: &'d Map<String, Value>,
    pub(super) place: Place,
}

impl<'d> SchemaObject<'d> {
    /// The value of a keyword.
    pub(super) fn get(self, keyword: &str) -> Option<&'d Value> {
        self.members.get(keyword)
    }

    /// The value of a keyword that exists from this draft on.
    pub(super) fn get_since(self, draft: Draft, keyword: &str) -> Option<&'d Value> {
        self.get(keyword).filter(|_| self.place.draft >= draft)
    }

    pub(super) fn text(self, keyword: &str) -> Result<Option<&'d str>, InvalidSchema> {
        self.typed(keyword, "a string", Value::as_str)
    }

    pub(super) fn flag(self, keyword: &str) -> Result<bool, InvalidSchema> {
        let flag = self.typed(keyword, "`true` or `false`", Value::as_bool)?;
        Ok(flag.unwrap_or(false))
    }

    pub(super) fn number(self, keyword: &str) -> Result<Option<&'d Number>, InvalidSchema> {
        self.typed(keyword, "a number", Value::as_number)
    }

    /// A number of characters, items or members.
    pub(super) fn count(self, keyword: &str) -> Result<Option<u64>, InvalidSchema> {
        self.typed(keyword, "an integer that is not negative", as_count)
    }

    pub(super) fn object(
        self,
        keyword: &str,
    ) -> Result<Option<&'d Map<String, Value>>, InvalidSchema> {
        self.typed(keyword, "an object", Value::as_object)
    }

    pub(super) fn array(self, keyword: &str) -> Result<Option<&'d Vec<Value>>, InvalidSchema> {
        self.typed(keyword, "an array", Value::as_array)
    }

    /// The value of a keyword, which must have a type.
    fn typed<T>(
        self,
        keyword: &str,
        expected: &'static str,
        convert: impl Fn(&'d Value) -> Option<T>,
    ) -> Result<Option<T>, InvalidSchema> {
        let Some(value) = self.get(keyword) else {
            return Ok(None);
        };
        let converted = convert(value).ok_or_else(|| InvalidSchema::expected(keyword, expected))?;
        Ok(Some(converted))
    }

    /// Checks the types of keywords without an effect on the validation.
    pub(super) fn check_annotations(self) -> Result<(), InvalidSchema> {
        for (keyword, annotation, draft) in ANNOTATIONS {
            if self.place.draft < draft {
                continue;
            }
            match annotation {
                Annotation::Text => _ = self.text(keyword)?,
                Annotation::Flag => _ = self.flag(keyword)?,
            }
        }
        self.array("examples").map(|_| ())
    }
}

fn as_count(value: &Value) -> Option<u64> {
    let is_whole = |float: &f64| float.fract() == 0.0 && *float >= 0.0;
    value
        .as_u64()
        .or_else(|| Some(value.as_f64().filter(is_whole)? as u64))
}

/// A list of different names.
pub(super) fn names(keyword: &str, value: &Value) -> Result<Vec<String>, InvalidSchema> {
    let invalid = || InvalidSchema::expected(keyword, "an array of different strings");
    let mut names = Vec::new();
    for name in value.as_array().ok_or_else(invalid)? {
        names.push(name.as_str().ok_or_else(invalid)?.to_owned());
    }
    if has_duplicates(&names) {
        return Err(invalid());
    }
    Ok(names)
}

fn has_duplicates(names: &[String]) -> bool {
    let mut sorted: Vec<_> = names.iter().collect();
    sorted.sort_unstable();
    sorted.windows(2).any(|pair| pair[0] == pair[1])
}
