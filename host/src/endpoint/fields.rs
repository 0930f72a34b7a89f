//! Members of a JSON object, borrowed from the text. serde's structs take the last of two equal keys in silence and
//! cannot tell null from nothing; a reader that others may see differently is a hole, so this one reads by hand.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The most members of one object. Ours have a dozen at most.
const MOST: usize = 128;

/// Why members are not what they must be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum BadFields {
    #[error("`{0}` must be an object")]
    NotObject(&'static str),
    #[error("the key `{0}` appears twice")]
    Repeated(String),
    #[error("an object has more than {MOST} members")]
    TooMany,
    #[error("`{key}` must be {expected}")]
    Wrong { key: &'static str, expected: &'static str },
    #[error("`{0}` is missing")]
    Missing(&'static str),
}

/// The members of an object, in their order.
#[derive(Debug, Default)]
pub(super) struct Fields<'a> {
    items: Vec<(Cow<'a, str>, &'a RawValue)>,
    fault: Option<BadFields>,
}

impl<'a> Fields<'a> {
    /// Reads an object; `name` is what the error calls it.
    pub(super) fn of(raw: &'a RawValue, name: &'static str) -> Result<Self, BadFields> {
        let mut fields = Self::parse(raw.get()).map_err(|_| BadFields::NotObject(name))?;
        fields.fault.take().map_or(Ok(fields), Err)
    }

    /// Reads an object, and leaves what is wrong with its keys to the caller.
    pub(super) fn parse(text: &'a str) -> serde_json::Result<Self> {
        serde_json::from_str(text)
    }

    /// Reads an object, that in its member `inner`, and that in the member `innermost` of it, all in one go. None where
    /// there is anything wrong with one of them: to say what, they are read one by one.
    pub(super) fn nested(text: &'a str, inner: &str, innermost: &str) -> Option<[Self; 3]> {
        let mut found = [None, None];
        let mut json = serde_json::Deserializer::from_str(text);
        let outer = Nest { path: &[inner, innermost], inner: &mut found }.deserialize(&mut json).ok()?;
        json.end().ok()?;
        let all = [outer].into_iter().chain(found.map(Option::unwrap_or_default));
        let mut all = all.filter(|fields| fields.fault.is_none());
        Some([all.next()?, all.next()?, all.next()?])
    }

    pub(super) fn fault(&self) -> Option<&BadFields> {
        self.fault.as_ref()
    }

    /// The value of a member, null included.
    pub(super) fn raw(&self, key: &str) -> Option<&'a RawValue> {
        self.items.iter().find(|(k, _)| k == key).map(|(_, value)| *value)
    }

    /// The value of a member. Null is as good as nothing: some clients write it for what they leave out.
    pub(super) fn get(&self, key: &str) -> Option<&'a RawValue> {
        self.raw(key).filter(|value| value.get() != "null")
    }

    pub(super) fn text(&self, key: &'static str) -> Result<Option<Cow<'a, str>>, BadFields> {
        let wrong = BadFields::Wrong { key, expected: "a string" };
        self.get(key).map(|raw| text_of(raw).ok_or(wrong)).transpose()
    }

    pub(super) fn needed_text(&self, key: &'static str) -> Result<Cow<'a, str>, BadFields> {
        self.text(key)?.ok_or(BadFields::Missing(key))
    }

    pub(super) fn object(&self, key: &'static str) -> Result<Option<Fields<'a>>, BadFields> {
        self.get(key).map(|raw| Fields::of(raw, key)).transpose()
    }

    pub(super) fn needed_object(&self, key: &'static str) -> Result<Fields<'a>, BadFields> {
        self.object(key)?.ok_or(BadFields::Missing(key))
    }

    pub(super) fn flag(&self, key: &'static str) -> Result<bool, BadFields> {
        match self.get(key).map(RawValue::get) {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(_) => Err(BadFields::Wrong { key, expected: "true or false" }),
        }
    }

    pub(super) fn texts(&self, key: &'static str) -> Result<Vec<String>, BadFields> {
        let wrong = BadFields::Wrong { key, expected: "an array of strings" };
        self.get(key).map_or(Ok(vec![]), |raw| serde_json::from_str(raw.get()).map_err(|_| wrong))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &'a RawValue)> + Clone {
        self.items.iter().map(|(key, value)| (key.as_ref(), *value))
    }
}

/// The text of a JSON string, borrowed where it has no escapes.
pub(super) fn text_of(raw: &RawValue) -> Option<Cow<'_, str>> {
    // Without an escape it stands there as it is, for the reader of the whole has found it valid.
    let text = raw.get().strip_prefix('"')?.strip_suffix('"')?;
    if !text.as_bytes().contains(&b'\\') {
        return Some(Cow::Borrowed(text));
    }
    serde_json::from_str::<Text<'_>>(raw.get()).ok().map(|text| text.0)
}

/// serde gives an owned string for a `Cow` unless it is asked in this way.
struct Text<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Text<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Read)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Nest { path: &[], inner: &mut [] }.deserialize(deserializer)
    }
}

/// Reads an object, and on the way the objects that are in it along a path of keys: they are not among its members.
struct Nest<'n, 'a> {
    path: &'n [&'n str],
    inner: &'n mut [Option<Fields<'a>>],
}

impl<'de: 'a, 'a> DeserializeSeed<'de> for Nest<'_, 'a> {
    type Value = Fields<'a>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Fields<'a>, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de: 'a, 'a> Visitor<'de> for Nest<'_, 'a> {
    type Value = Fields<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'a>, A::Error> {
        let mut fields = Fields { items: Vec::with_capacity(4), fault: None };
        while let Some(Text(key)) = map.next_key()? {
            if fields.items.len() == MOST {
                map.next_value::<IgnoredAny>()?;
                fields.fault.get_or_insert(BadFields::TooMany);
                continue;
            }
            let is_repeated = match (self.path, &mut *self.inner) {
                ([first, rest @ ..], [place, places @ ..]) if key == *first => {
                    let inner = map.next_value_seed(Nest { path: rest, inner: places })?;
                    place.replace(inner).is_some()
                }
                _ => {
                    let is_repeated = fields.raw(&key).is_some();
                    fields.items.push((key.clone(), map.next_value()?));
                    is_repeated
                }
            };
            if is_repeated {
                fields.fault.get_or_insert_with(|| BadFields::Repeated(key.chars().take(80).collect()));
            }
        }
        Ok(fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> &RawValue {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn an_object_is_read_once_and_exactly() {
        let fields =
            Fields::of(raw(r#"{"uri":"x:1","n":null,"\u0061":true,"o":{"p":["q"]}}"#), "params").unwrap();
        assert_eq!(fields.text("uri").unwrap().as_deref(), Some("x:1"));
        assert!(matches!(fields.text("uri"), Ok(Some(Cow::Borrowed(_)))));
        assert!(fields.get("n").is_none() && fields.raw("n").is_some());
        assert_eq!(fields.flag("a"), Ok(true));
        assert_eq!(fields.object("o").unwrap().unwrap().texts("p"), Ok(vec!["q".to_owned()]));
        assert_eq!(fields.needed_text("none"), Err(BadFields::Missing("none")));
        assert_eq!(fields.text("o"), Err(BadFields::Wrong { key: "o", expected: "a string" }));
    }

    #[test]
    fn what_could_mean_two_things_is_refused() {
        let many: String = (0..=MOST).map(|n| format!("\"k{n}\":0,")).collect();
        for (bad, why) in [
            ("[1]".to_owned(), BadFields::NotObject("params")),
            (r#"{"a":1,"\u0061":2}"#.to_owned(), BadFields::Repeated("a".into())),
            (format!("{{{}}}", many.trim_end_matches(',')), BadFields::TooMany),
        ] {
            assert_eq!(Fields::of(raw(&bad), "params").unwrap_err(), why);
        }
        assert_eq!(text_of(raw(r#""\ud800""#)), None);
    }
}
