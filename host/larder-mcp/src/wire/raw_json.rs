//! A JSON value with exactly the text that it has in a message. The value is borrowed and not decoded, because requests
//! are passed on verbatim.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// Maximum nesting of a value: deeper than any message of the protocol, and within the limits of the parsers that read
/// the values later.
const MAX_DEPTH: usize = 125;

/// A valid JSON value with exactly the text of the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RawJson<'a>(&'a str);

impl<'a> From<&'a RawValue> for RawJson<'a> {
    fn from(raw: &'a RawValue) -> Self {
        Self(raw.get())
    }
}

impl<'a> RawJson<'a> {
    /// Reads a text that has one value and, except for whitespace, nothing else.
    pub(crate) fn read(text: &'a str) -> serde_json::Result<Self> {
        serde_json::from_str::<&RawValue>(text).map(Self::from)
    }

    /// Returns the items of an array, at most `max + 1`, so that the caller can see that there are too many. Of the
    /// other items, it is only checked that they are JSON.
    pub(crate) fn items(array: &'a str, max: usize) -> serde_json::Result<Vec<Self>> {
        let mut deserializer = serde_json::Deserializer::from_str(array);
        let items = deserializer.deserialize_seq(Items { max })?;
        deserializer.end()?;
        Ok(items)
    }

    pub(crate) fn get(self) -> &'a str {
        self.0
    }

    /// Returns the decoded string, borrowed if it has no escapes; `None` if the value is not a string.
    pub(crate) fn string(self) -> Option<Cow<'a, str>> {
        let inner = self.0.strip_prefix('"')?.strip_suffix('"')?;
        if inner.contains('\\') {
            serde_json::from_str(self.0).ok().map(Cow::Owned)
        } else {
            Some(Cow::Borrowed(inner))
        }
    }

    /// Whether arrays and objects are nested too deeply. serde_json limits the depth only for values that it decodes.
    pub(super) fn is_too_deep(self) -> bool {
        // Each level takes at least two bytes.
        self.0.len() > 2 * MAX_DEPTH && self.0.starts_with(['[', '{']) && depth(self.0) > MAX_DEPTH
    }
}

/// The greatest number of open arrays and objects in a valid value.
fn depth(json: &str) -> usize {
    let mut depth = 0_usize;
    let mut deepest = 0;
    let mut bytes = json.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b'"' => skip_string(&mut bytes),
            _ => {}
        }
    }
    deepest
}

fn skip_string(bytes: &mut std::str::Bytes<'_>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => _ = bytes.next(),
            b'"' => return,
            _ => {}
        }
    }
}

struct Items {
    max: usize,
}

impl<'de> Visitor<'de> for Items {
    type Value = Vec<RawJson<'de>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while items.len() <= self.max {
            match array.next_element::<&RawValue>()? {
                Some(item) => items.push(RawJson::from(item)),
                None => return Ok(items),
            }
        }
        while array.next_element::<IgnoredAny>()?.is_some() {}
        Ok(items)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn borrows_strings_without_escapes() {
        let string = |text| RawJson::read(text).unwrap().string();
        assert!(matches!(
            string(r#" "plain ü" "#),
            Some(Cow::Borrowed("plain ü"))
        ));
        assert_eq!(string(r#""\u0061\"""#).as_deref(), Some("a\""));
        assert_eq!(string(r#""\ud800""#), None);
        assert_eq!(string("7"), None);
    }

    #[test]
    fn measures_nesting_outside_of_strings() {
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        let is_too_deep = |text: &str| RawJson::read(text).unwrap().is_too_deep();
        assert!(!is_too_deep(&nested(MAX_DEPTH)));
        assert!(is_too_deep(&nested(MAX_DEPTH + 1)));
        assert!(!is_too_deep(&format!("[{}[]]", "[[]],".repeat(MAX_DEPTH))));
        assert!(!is_too_deep(&format!(r#"["\"{}"]"#, "[".repeat(500))));
        assert!(is_too_deep(&format!(r#"["\\",{}]"#, nested(MAX_DEPTH))));
    }

    #[test]
    fn returns_one_item_too_many_at_most() {
        let items = |text| RawJson::items(text, 2).map(|items| items.len());
        assert_eq!(items("[]").unwrap(), 0);
        assert_eq!(items("[1, [2], {}, \"4\", null]").unwrap(), 3);
        for bad in ["[1,2,3,]", "[1,2,3,4", "[1] 2", "{}", "1"] {
            assert!(items(bad).is_err(), "{bad}");
        }
    }
}
