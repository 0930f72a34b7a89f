//! Checks JSON texts of providers, and removes the space between their tokens. A message of the protocol is one
//! line, so line breaks must not remain. The order of keys stays: people see forms and schemas in this order. Two members
//! of an object must not have the same name: a reader of the object may use the first or the last one, so a check of one
//! says nothing about the other.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// Returns the JSON value of a text, on one line. None if the text is not JSON or nested too deeply, or has an object
/// with two members of the same name.
pub(crate) fn value(text: &str) -> Option<Box<RawValue>> {
    let _: JsonKind = serde_json::from_str(text).ok()?;
    RawValue::from_string(without_space(text)).ok()
}

/// Does the same for a JSON object. None if the text is another value.
pub(crate) fn object(text: &str) -> Option<Box<RawValue>> {
    let kind: JsonKind = serde_json::from_str(text).ok()?;
    if kind != JsonKind::Object {
        return None;
    }
    RawValue::from_string(without_space(text)).ok()
}

/// Removes the space outside of strings. The text must be JSON.
fn without_space(text: &str) -> String {
    let mut in_string = false;
    let mut is_escaped = false;
    let is_kept = |c: &char| {
        let is_kept = in_string || !matches!(c, ' ' | '\t' | '\n' | '\r');
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => in_string = !in_string,
            _ => {}
        }
        is_kept
    };
    text.chars().filter(is_kept).collect()
}

/// The kind of a JSON value. Deserializing it checks the whole value without storing the value, because a value in
/// memory can be many times larger than its text. The parser limits the depth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum JsonKind {
    Object,
    Other,
}

impl<'de> Deserialize<'de> for JsonKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonKindVisitor)
    }
}

struct JsonKindVisitor;

impl<'de> Visitor<'de> for JsonKindVisitor {
    type Value = JsonKind;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<JsonKind, E> {
        Ok(JsonKind::Other)
    }

    fn visit_i64<E>(self, _: i64) -> Result<JsonKind, E> {
        Ok(JsonKind::Other)
    }

    fn visit_u64<E>(self, _: u64) -> Result<JsonKind, E> {
        Ok(JsonKind::Other)
    }

    fn visit_f64<E>(self, _: f64) -> Result<JsonKind, E> {
        Ok(JsonKind::Other)
    }

    fn visit_str<E>(self, _: &str) -> Result<JsonKind, E> {
        Ok(JsonKind::Other)
    }

    fn visit_unit<E>(self) -> Result<JsonKind, E> {
        Ok(JsonKind::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<JsonKind, A::Error> {
        while items.next_element::<JsonKind>()?.is_some() {}
        Ok(JsonKind::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<JsonKind, A::Error> {
        let mut names = HashSet::<String>::new();
        while let Some((name, _)) = members.next_entry::<String, JsonKind>()? {
            if !names.insert(name) {
                return Err(A::Error::custom("two members have the same name"));
            }
        }
        Ok(JsonKind::Object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_order_and_removes_space() {
        let text = "{ \"b\" : [1 ,\r\n 2.50],\t\"a\": \" \\\" \\\\\", \"c\": {} }\n";
        let expected = r#"{"b":[1,2.50],"a":" \" \\","c":{}}"#;
        assert_eq!(object(text).as_deref().map(RawValue::get), Some(expected));
        assert_eq!(
            value(" \"a b\" ").as_deref().map(RawValue::get),
            Some("\"a b\"")
        );
        for other in ["[]", "1", "\"x\"", "null", "true", "-1.5"] {
            assert!(object(other).is_none() && value(other).is_some(), "{other}");
        }
    }

    #[test]
    fn finds_names_that_appear_twice() {
        for (text, is_unique) in [
            (r#"{"a":{"a":1},"b":[{"a":1},{"a":2}]}"#, true),
            (r#"{"a":1,"b":2,"a":1}"#, false),
            (r#"{"a":1,"\u0061":2}"#, false),
            (r#"{"b":[{"c":{"a":1,"a":2}}]}"#, false),
            ("[]", false),
        ] {
            assert_eq!(object(text).is_some(), is_unique, "{text}");
        }
    }

    #[test]
    fn rejects_what_is_not_json() {
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        let flat = "[".repeat(100) + &"]".repeat(100);
        assert!(value(&flat).is_some());
        let bad = [
            "",
            "{",
            "{} {}",
            "{\"a\":}",
            "[1,]",
            "nope",
            "\"\n\"",
            "\"\\ud800\"",
            "{\"\\ud800\":1}",
            "1e999",
            "{1:2}",
            &deep,
        ];
        for bad in bad {
            assert!(value(bad).is_none(), "{bad}");
        }
    }
}
