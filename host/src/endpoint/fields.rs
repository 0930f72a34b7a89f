//! Members of a JSON object, borrowed from the text. serde's structs take the last of two equal keys in silence and
//! cannot tell null from nothing; a reader that others may see differently is a hole, so this one reads by hand.

use std::borrow::Cow;

use super::scan::{Json, NotJson, Scanner};

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
    #[error("a key has half of a character")]
    NotUnicode,
    #[error("`{key}` must be {expected}")]
    Wrong { key: &'static str, expected: &'static str },
    #[error("`{0}` is missing")]
    Missing(&'static str),
}

/// The members of an object, in their order.
#[derive(Debug, Default)]
pub(super) struct Fields<'a> {
    items: Vec<(Cow<'a, str>, Json<'a>)>,
    fault: Option<BadFields>,
}

impl<'a> Fields<'a> {
    /// Reads an object; `name` is what the error calls it.
    pub(super) fn of(json: Json<'a>, name: &'static str) -> Result<Self, BadFields> {
        let mut fields = Self::parse(json.get()).map_err(|_| BadFields::NotObject(name))?;
        fields.fault.take().map_or(Ok(fields), Err)
    }

    /// Reads an object, and leaves what is wrong with its keys to the caller.
    pub(super) fn parse(text: &'a str) -> Result<Self, NotJson> {
        let mut scanner = Scanner::new(text);
        let fields = Self::scan(&mut scanner, &[], &mut [])?;
        scanner.end()?;
        Ok(fields)
    }

    /// Reads an object, that in its member `inner`, and that in the member `innermost` of it, all in one go. None where
    /// there is anything wrong with one of them: to say what, they are read one by one.
    pub(super) fn nested(text: &'a str, inner: &str, innermost: &str) -> Option<[Self; 3]> {
        let mut found = [None, None];
        let mut scanner = Scanner::new(text);
        let outer = Self::scan(&mut scanner, &[inner, innermost], &mut found).ok()?;
        scanner.end().ok()?;
        let all = [outer].into_iter().chain(found.map(Option::unwrap_or_default));
        let mut all = all.filter(|fields| fields.fault.is_none());
        Some([all.next()?, all.next()?, all.next()?])
    }

    /// Reads an object, and on the way the objects that are in it along a path of keys: they are not among its members.
    fn scan(scanner: &mut Scanner<'a>, path: &[&str], inner: &mut [Option<Self>]) -> Result<Self, NotJson> {
        let mut fields = Self { items: Vec::with_capacity(4), fault: None };
        let mut members = 0;
        scanner.object(|scanner, key| {
            members += 1;
            if members > MOST {
                fields.fault.get_or_insert(BadFields::TooMany);
                return scanner.skip();
            }
            let Some(key) = key.string() else {
                fields.fault.get_or_insert(BadFields::NotUnicode);
                return scanner.skip();
            };
            let is_repeated = match (path, &mut *inner) {
                ([first, rest @ ..], [place, places @ ..]) if key == *first => {
                    place.replace(Self::scan(scanner, rest, places)?).is_some()
                }
                _ => {
                    let is_repeated = fields.raw(&key).is_some();
                    fields.items.push((key.clone(), scanner.value()?));
                    is_repeated
                }
            };
            if is_repeated {
                fields.fault.get_or_insert_with(|| BadFields::Repeated(key.chars().take(80).collect()));
            }
            Ok(())
        })?;
        Ok(fields)
    }

    pub(super) fn fault(&self) -> Option<&BadFields> {
        self.fault.as_ref()
    }

    /// The value of a member, null included.
    pub(super) fn raw(&self, key: &str) -> Option<Json<'a>> {
        self.items.iter().find(|(k, _)| k == key).map(|(_, value)| *value)
    }

    /// The value of a member. Null is as good as nothing: some clients write it for what they leave out.
    pub(super) fn get(&self, key: &str) -> Option<Json<'a>> {
        self.raw(key).filter(|value| value.get() != "null")
    }

    pub(super) fn text(&self, key: &'static str) -> Result<Option<Cow<'a, str>>, BadFields> {
        let wrong = BadFields::Wrong { key, expected: "a string" };
        self.get(key).map(|json| json.string().ok_or(wrong)).transpose()
    }

    pub(super) fn needed_text(&self, key: &'static str) -> Result<Cow<'a, str>, BadFields> {
        self.text(key)?.ok_or(BadFields::Missing(key))
    }

    pub(super) fn object(&self, key: &'static str) -> Result<Option<Fields<'a>>, BadFields> {
        self.get(key).map(|json| Fields::of(json, key)).transpose()
    }

    pub(super) fn needed_object(&self, key: &'static str) -> Result<Fields<'a>, BadFields> {
        self.object(key)?.ok_or(BadFields::Missing(key))
    }

    pub(super) fn flag(&self, key: &'static str) -> Result<bool, BadFields> {
        match self.get(key).map(Json::get) {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(_) => Err(BadFields::Wrong { key, expected: "true or false" }),
        }
    }

    /// The texts of an array: so many, and perhaps one more, of which the caller sees that there are too many.
    pub(super) fn texts(&self, key: &'static str, most: usize) -> Result<Vec<String>, BadFields> {
        let wrong = BadFields::Wrong { key, expected: "an array of strings" };
        let Some(json) = self.get(key) else { return Ok(vec![]) };
        let items = Json::items(json.get(), most).map_err(|_| wrong.clone())?;
        let texts = items.into_iter().map(|item| item.string().map(Cow::into_owned));
        texts.collect::<Option<_>>().ok_or(wrong)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, Json<'a>)> + Clone {
        self.items.iter().map(|(key, value)| (key.as_ref(), *value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Json<'_> {
        Json::read(text).unwrap()
    }

    #[test]
    fn an_object_is_read_once_and_exactly() {
        let fields =
            Fields::of(raw(r#"{"uri":"x:1","n":null,"\u0061":true,"o":{"p":["q"]}}"#), "params").unwrap();
        assert_eq!(fields.text("uri").unwrap().as_deref(), Some("x:1"));
        assert!(matches!(fields.text("uri"), Ok(Some(Cow::Borrowed(_)))));
        assert!(fields.get("n").is_none() && fields.raw("n").is_some());
        assert_eq!(fields.flag("a"), Ok(true));
        assert_eq!(fields.object("o").unwrap().unwrap().texts("p", 1), Ok(vec!["q".into()]));
        assert_eq!(fields.needed_text("none"), Err(BadFields::Missing("none")));
        assert_eq!(fields.text("o"), Err(BadFields::Wrong { key: "o", expected: "a string" }));
    }

    #[test]
    fn what_could_mean_two_things_is_refused() {
        let many: String = (0..=MOST).map(|n| format!("\"k{n}\":0,")).collect();
        let half = r#"{"a":1,"\ud800":2}"#.to_owned();
        for (bad, why) in [
            ("[1]".to_owned(), BadFields::NotObject("params")),
            (r#"{"a":1,"\u0061":2}"#.to_owned(), BadFields::Repeated("a".into())),
            (format!("{{{}}}", many.trim_end_matches(',')), BadFields::TooMany),
            (half, BadFields::NotUnicode),
        ] {
            assert_eq!(Fields::of(raw(&bad), "params").unwrap_err(), why);
        }
        assert_eq!(raw(r#""\ud800""#).string(), None);
    }

    #[test]
    fn no_more_texts_are_taken_than_are_wanted() {
        let fields = Fields::parse(r#"{"a":["b","\u0063","d","e"],"f":["g",1],"h":null,"i":"j"}"#).unwrap();
        assert_eq!(fields.texts("a", 4).unwrap(), ["b", "c", "d", "e"]);
        assert_eq!(fields.texts("a", 2).unwrap(), ["b", "c", "d"], "one more, so that it is seen");
        assert_eq!(fields.texts("h", 4).unwrap(), [""; 0]);
        for key in ["f", "i"] {
            assert_eq!(fields.texts(key, 4), Err(BadFields::Wrong { key, expected: "an array of strings" }));
        }
    }
}
