//! Members of a JSON object, borrowed from the text. Structs deserialized with serde cannot distinguish null from a
//! missing member, and maps silently take the last of two equal keys. If two parsers read the same text differently,
//! that is a security hole, so this visitor rejects ambiguous objects.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::raw_json::RawJson;

/// Maximum number of members of an object. Objects of the protocol have at most a dozen members.
const MAX_MEMBERS: usize = 128;

/// An error in the members of an object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadFields {
    #[error("`{0}` must be an object")]
    NotObject(&'static str),
    #[error("the key `{0}` appears twice")]
    Duplicate(String),
    #[error("an object has more than {MAX_MEMBERS} members")]
    TooMany,
    #[error("a key contains an unpaired surrogate")]
    NotUnicode,
    #[error("a value is nested too deeply")]
    TooDeep,
    #[error("`{key}` must be {expected}")]
    WrongType {
        key: &'static str,
        expected: &'static str,
    },
    #[error("`{0}` is missing")]
    Missing(&'static str),
}

/// The members of an object, in order.
#[derive(Debug, Default)]
pub(crate) struct Fields<'a> {
    items: Vec<(Cow<'a, str>, RawJson<'a>)>,
    error: Option<BadFields>,
}

impl<'a> Fields<'a> {
    /// Reads an object. `name` is its name in errors.
    pub(crate) fn of(json: RawJson<'a>, name: &'static str) -> Result<Self, BadFields> {
        let mut fields = Self::parse(json.get()).map_err(|_| BadFields::NotObject(name))?;
        fields.error.take().map_or(Ok(fields), Err)
    }

    /// Reads an object. Errors in its keys do not fail the parser; they are in `error`.
    pub(crate) fn parse(text: &'a str) -> serde_json::Result<Self> {
        Self::read(text, &[], &mut [])
    }

    /// Reads three nested objects in one pass: an object, the object in its member `inner`, and the object in the
    /// member `innermost` of that object. Returns `None` on any error: the caller then reads the objects one by one to
    /// find the error.
    pub(crate) fn nested(text: &'a str, inner: &str, innermost: &str) -> Option<[Self; 3]> {
        let mut found = [None, None];
        let outer = Self::read(text, &[inner, innermost], &mut found).ok()?;
        let all = [outer]
            .into_iter()
            .chain(found.map(Option::unwrap_or_default));
        let mut all = all.filter(|fields| fields.error.is_none());
        Some([all.next()?, all.next()?, all.next()?])
    }

    fn read(text: &'a str, path: &[&str], inner: &mut [Option<Self>]) -> serde_json::Result<Self> {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let fields = ObjectSeed { path, inner }.deserialize(&mut deserializer)?;
        deserializer.end()?;
        Ok(fields)
    }

    /// Adds a member, unless its key already exists.
    fn push(&mut self, key: Cow<'a, str>, value: RawJson<'a>) {
        if value.is_too_deep() {
            self.error.get_or_insert(BadFields::TooDeep);
        }
        if self.raw(&key).is_some() {
            return self.set_duplicate(&key);
        }
        self.items.push((key, value));
    }

    fn set_duplicate(&mut self, key: &str) {
        self.error
            .get_or_insert_with(|| BadFields::Duplicate(key.chars().take(80).collect()));
    }

    pub(crate) fn error(&self) -> Option<&BadFields> {
        self.error.as_ref()
    }

    /// The value of a member, null included.
    pub(crate) fn raw(&self, key: &str) -> Option<RawJson<'a>> {
        self.items
            .iter()
            .find(|(k, _)| k == key)
            .map(|(_, value)| *value)
    }

    /// The value of a member. Null counts as missing: some clients write null for omitted members.
    pub(crate) fn get(&self, key: &str) -> Option<RawJson<'a>> {
        self.raw(key).filter(|value| value.get() != "null")
    }

    pub(crate) fn text(&self, key: &'static str) -> Result<Option<Cow<'a, str>>, BadFields> {
        let error = BadFields::WrongType {
            key,
            expected: "a string",
        };
        self.get(key)
            .map(|json| json.string().ok_or(error))
            .transpose()
    }

    pub(crate) fn required_text(&self, key: &'static str) -> Result<Cow<'a, str>, BadFields> {
        self.text(key)?.ok_or(BadFields::Missing(key))
    }

    pub(crate) fn object(&self, key: &'static str) -> Result<Option<Fields<'a>>, BadFields> {
        self.get(key).map(|json| Fields::of(json, key)).transpose()
    }

    pub(crate) fn required_object(&self, key: &'static str) -> Result<Fields<'a>, BadFields> {
        self.object(key)?.ok_or(BadFields::Missing(key))
    }

    pub(crate) fn flag(&self, key: &'static str) -> Result<bool, BadFields> {
        match self.get(key).map(RawJson::get) {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(_) => Err(BadFields::WrongType {
                key,
                expected: "true or false",
            }),
        }
    }

    /// Returns the texts of an array, at most `max + 1`: the additional text shows the caller that there are too many.
    pub(crate) fn texts(&self, key: &'static str, max: usize) -> Result<Vec<String>, BadFields> {
        let error = BadFields::WrongType {
            key,
            expected: "an array of strings",
        };
        let Some(json) = self.get(key) else {
            return Ok(vec![]);
        };
        let items = RawJson::items(json.get(), max).map_err(|_| error.clone())?;
        let texts = items
            .into_iter()
            .map(|item| item.string().map(Cow::into_owned));
        texts.collect::<Option<_>>().ok_or(error)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, RawJson<'a>)> + Clone {
        self.items.iter().map(|(key, value)| (key.as_ref(), *value))
    }
}

/// Reads an object and the nested objects along a path of keys. The nested objects go to `inner`, and are not among the
/// members of the outer object.
struct ObjectSeed<'p, 'a> {
    path: &'p [&'p str],
    inner: &'p mut [Option<Fields<'a>>],
}

impl<'de> DeserializeSeed<'de> for ObjectSeed<'_, 'de> {
    type Value = Fields<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Fields<'de>, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for ObjectSeed<'_, 'de> {
    type Value = Fields<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Fields<'de>, M::Error> {
        let mut fields = Fields {
            items: Vec::with_capacity(4),
            error: None,
        };
        let mut members = 0;
        while let Some(key) = map.next_key::<&RawValue>()? {
            members += 1;
            if members > MAX_MEMBERS {
                fields.error.get_or_insert(BadFields::TooMany);
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            let Some(key) = RawJson::from(key).string() else {
                fields.error.get_or_insert(BadFields::NotUnicode);
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            match (self.path, &mut *self.inner) {
                ([first, path @ ..], [slot, inner @ ..]) if key == *first => {
                    if slot
                        .replace(map.next_value_seed(ObjectSeed { path, inner })?)
                        .is_some()
                    {
                        fields.set_duplicate(&key);
                    }
                }
                _ => fields.push(key, map.next_value::<&RawValue>()?.into()),
            }
        }
        Ok(fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> RawJson<'_> {
        RawJson::read(text).unwrap()
    }

    #[test]
    fn reads_members_of_an_object() {
        let fields = Fields::of(
            raw(r#"{"uri":"x:1","n":null,"\u0061":true,"o":{"p":["q"]}}"#),
            "params",
        )
        .unwrap();
        assert_eq!(fields.text("uri").unwrap().as_deref(), Some("x:1"));
        assert!(matches!(fields.text("uri"), Ok(Some(Cow::Borrowed(_)))));
        assert!(fields.get("n").is_none() && fields.raw("n").is_some());
        assert_eq!(fields.flag("a"), Ok(true));
        assert_eq!(
            fields.object("o").unwrap().unwrap().texts("p", 1),
            Ok(vec!["q".into()])
        );
        assert_eq!(
            fields.required_text("none"),
            Err(BadFields::Missing("none"))
        );
        assert_eq!(
            fields.text("o"),
            Err(BadFields::WrongType {
                key: "o",
                expected: "a string"
            })
        );
    }

    #[test]
    fn rejects_ambiguous_objects() {
        let many: String = (0..=MAX_MEMBERS).map(|n| format!("\"k{n}\":0,")).collect();
        let half = r#"{"a":1,"\ud800":2}"#.to_owned();
        for (bad, expected) in [
            ("[1]".to_owned(), BadFields::NotObject("params")),
            (
                r#"{"a":1,"\u0061":2}"#.to_owned(),
                BadFields::Duplicate("a".into()),
            ),
            (
                format!("{{{}}}", many.trim_end_matches(',')),
                BadFields::TooMany,
            ),
            (half, BadFields::NotUnicode),
        ] {
            assert_eq!(Fields::of(raw(&bad), "params").unwrap_err(), expected);
        }
        assert_eq!(raw(r#""\ud800""#).string(), None);
    }

    #[test]
    fn limits_the_number_of_texts() {
        let fields =
            Fields::parse(r#"{"a":["b","\u0063","d","e"],"f":["g",1],"h":null,"i":"j"}"#).unwrap();
        assert_eq!(fields.texts("a", 4).unwrap(), ["b", "c", "d", "e"]);
        assert_eq!(
            fields.texts("a", 2).unwrap(),
            ["b", "c", "d"],
            "one more than the limit"
        );
        assert_eq!(fields.texts("h", 4).unwrap(), [""; 0]);
        for key in ["f", "i"] {
            assert_eq!(
                fields.texts(key, 4),
                Err(BadFields::WrongType {
                    key,
                    expected: "an array of strings"
                })
            );
        }
    }
}
