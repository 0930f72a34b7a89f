//! JSON as it stands in a text: where each value begins and ends, and that all of it is JSON. What a request hands on
//! is handed on as it was written, so nothing here takes a value apart or copies it.

use std::borrow::Cow;

/// Deeper than anything that the protocol says, and shallow enough for every parser that comes after.
const DEEPEST: usize = 128;

/// A value, as somebody wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Json<'a> {
    text: &'a str,
    /// Whether it is a string without escapes: what it says stands there as it is.
    is_plain: bool,
}

impl<'a> Json<'a> {
    /// A text with one value in it, and nothing else but spaces.
    pub(super) fn read(text: &'a str) -> Result<Self, NotJson> {
        let mut scanner = Scanner::new(text);
        let value = scanner.value()?;
        scanner.end()?;
        Ok(value)
    }

    /// The items of an array, up to so many and one more: of the others it is only seen that they are JSON.
    pub(super) fn items(array: &'a str, most: usize) -> Result<Vec<Self>, NotJson> {
        let mut items = Vec::new();
        let mut scanner = Scanner::new(array);
        scanner.array(|scanner| {
            if items.len() > most {
                return scanner.skip();
            }
            items.push(scanner.value()?);
            Ok(())
        })?;
        scanner.end()?;
        Ok(items)
    }

    pub(super) fn get(self) -> &'a str {
        self.text
    }

    /// What a string says, borrowed where it has no escapes; none for what is no string.
    pub(super) fn string(self) -> Option<Cow<'a, str>> {
        match self.is_plain {
            true => self.text.get(1..self.text.len() - 1).map(Cow::Borrowed),
            false => serde_json::from_str(self.text).ok().map(Cow::Owned),
        }
    }
}

/// Where a text stops to be JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotJson {
    /// Behind so many bytes.
    At(usize),
    TooDeep,
}

impl NotJson {
    /// What to say of it to whoever wrote the text.
    pub(super) fn of(self, text: &str) -> String {
        let Self::At(at) = self else { return "it is nested too deeply".into() };
        let before = text.get(..at).unwrap_or(text);
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        let begin = before.rfind('\n').map_or(0, |end| end + 1);
        // An end that comes too early is told by the last of what is there.
        let column = (at + 1).min(text.len()).saturating_sub(begin);
        format!("line {line}, column {column}")
    }
}

/// A walk over a text.
pub(super) struct Scanner<'a> {
    text: &'a str,
    at: usize,
    /// Arrays and objects that are open.
    depth: usize,
}

type Scanned = Result<(), NotJson>;

/// The bytes that do not stand for themselves in a string.
const IS_SPECIAL: [bool; 256] = {
    let mut all = [false; 256];
    let mut byte = 0;
    while byte < 0x20 {
        all[byte] = true;
        byte += 1;
    }
    all[b'"' as usize] = true;
    all[b'\\' as usize] = true;
    all
};

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0, depth: 0 }
    }

    /// The next value.
    pub(super) fn value(&mut self) -> Result<Json<'a>, NotJson> {
        self.skip_spaces();
        let from = self.at;
        let is_plain = match self.peek() {
            Some(b'"') => self.quoted()?,
            _ => self.skip().map(|()| false)?,
        };
        self.since(from, is_plain)
    }

    fn since(&self, from: usize, is_plain: bool) -> Result<Json<'a>, NotJson> {
        self.text.get(from..self.at).map(|text| Json { text, is_plain }).ok_or(NotJson::At(from))
    }

    /// Goes over the next value.
    pub(super) fn skip(&mut self) -> Scanned {
        self.skip_spaces();
        match self.peek() {
            Some(b'"') => self.quoted().map(drop),
            Some(b'{') => self.object(|scanner, _| scanner.skip()),
            Some(b'[') => self.array(Self::skip),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true"),
            Some(b'f') => self.word("false"),
            Some(b'n') => self.word("null"),
            _ => Err(self.wrong()),
        }
    }

    /// Goes over an object. `member` is given each key, quotes and all, and goes over the value itself.
    pub(super) fn object(&mut self, mut member: impl FnMut(&mut Self, Json<'a>) -> Scanned) -> Scanned {
        self.items((b'{', b'}'), |scanner| {
            scanner.skip_spaces();
            let from = scanner.at;
            let is_plain = scanner.quoted()?;
            let key = scanner.since(from, is_plain)?;
            scanner.skip_spaces();
            scanner.take(b':')?;
            member(scanner, key)
        })
    }

    /// Goes over an array. `item` goes over each value.
    pub(super) fn array(&mut self, item: impl FnMut(&mut Self) -> Scanned) -> Scanned {
        self.items((b'[', b']'), item)
    }

    /// Nothing comes any more.
    pub(super) fn end(&mut self) -> Scanned {
        self.skip_spaces();
        if self.at == self.text.len() { Ok(()) } else { Err(self.wrong()) }
    }

    fn items(&mut self, (open, close): (u8, u8), mut item: impl FnMut(&mut Self) -> Scanned) -> Scanned {
        self.skip_spaces();
        self.take(open)?;
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(NotJson::TooDeep);
        }
        self.skip_spaces();
        if self.peek() != Some(close) {
            loop {
                item(self)?;
                self.skip_spaces();
                if self.peek() != Some(b',') {
                    break;
                }
                self.at += 1;
            }
        }
        self.take(close)?;
        self.depth -= 1;
        Ok(())
    }

    /// Goes over a string, and says whether there is no escape in it.
    fn quoted(&mut self) -> Result<bool, NotJson> {
        self.take(b'"')?;
        let mut is_plain = true;
        loop {
            let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
            self.at += rest.iter().position(|byte| IS_SPECIAL[usize::from(*byte)]).unwrap_or(rest.len());
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => self.escape()?,
                _ => return Err(self.wrong()),
            }
            is_plain = false;
        }
        self.at += 1;
        Ok(is_plain)
    }

    fn escape(&mut self) -> Scanned {
        self.at += 1;
        if !self.skip_one(b"u") {
            return if self.skip_one(b"\"\\/bfnrt") { Ok(()) } else { Err(self.wrong()) };
        }
        for _ in 0..4 {
            if !self.peek().is_some_and(|byte| byte.is_ascii_hexdigit()) {
                return Err(self.wrong());
            }
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Scanned {
        self.skip_one(b"-");
        if !self.skip_one(b"0") {
            self.digits()?;
        }
        if self.skip_one(b".") {
            self.digits()?;
        }
        if self.skip_one(b"eE") {
            self.skip_one(b"+-");
            self.digits()?;
        }
        Ok(())
    }

    /// One digit at least.
    fn digits(&mut self) -> Scanned {
        let from = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at > from { Ok(()) } else { Err(self.wrong()) }
    }

    fn word(&mut self, word: &str) -> Scanned {
        word.bytes().try_for_each(|byte| self.take(byte))
    }

    fn skip_spaces(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    fn skip_one(&mut self, of: &[u8]) -> bool {
        let is_there = self.peek().is_some_and(|byte| of.contains(&byte));
        self.at += usize::from(is_there);
        is_there
    }

    fn take(&mut self, wanted: u8) -> Scanned {
        if self.peek() == Some(wanted) {
            self.at += 1;
            Ok(())
        } else {
            Err(self.wrong())
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Here it is not.
    fn wrong(&self) -> NotJson {
        NotJson::At(self.at)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::value::RawValue;

    use super::*;

    /// What serde_json takes for JSON is JSON here, with the same bounds; nothing else is.
    fn is_as_others_read_it(text: &str) {
        let others = serde_json::from_str::<&RawValue>(text).ok().map(RawValue::get);
        match Json::read(text) {
            Ok(json) => assert_eq!(Some(json.get()), others, "{text}"),
            Err(NotJson::TooDeep) => {}
            Err(NotJson::At(_)) => assert_eq!(None, others, "{text}"),
        }
    }

    #[test]
    fn what_is_json_and_what_is_not() {
        for text in [
            "0",
            "-0",
            "00",
            "-",
            "1.",
            "1.0",
            ".5",
            "1e",
            "1e+",
            "1E-7",
            "01",
            "+1",
            "0x1",
            "1.e1",
            "NaN",
            "true",
            "tru",
            "truee",
            "null ",
            "nul",
            "",
            " ",
            "\"",
            "\"\\\"",
            "\"\\u12\"",
            "\"\\u12aF\"",
            "\"\\x\"",
            "\"\t\"",
            "\"\u{7f}ü\u{10ffff}\"",
            "\"\\ud800\"",
            "[]",
            "[ ]",
            "[,]",
            "[1,]",
            "[1 2]",
            "[1",
            "]",
            "{}",
            "{ }",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{,}",
            "{1:2}",
            "{\"a\" : [ {} , null ] }",
            "{\"a\":1 \"b\":2}",
            "{}{}",
            "[}",
            "\u{feff}1",
            "\u{a0}1",
        ] {
            is_as_others_read_it(text);
        }
    }

    #[test]
    fn what_is_nested_too_deeply_is_said_to_be() {
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(Json::read(&nested(DEEPEST)).is_ok());
        assert_eq!(Json::read(&nested(DEEPEST + 1)), Err(NotJson::TooDeep));
        let wide = format!("[{}[]]", "[[]],".repeat(DEEPEST));
        assert!(Json::read(&wide).is_ok());
    }

    const VALID: &str =
        r#" {"a\u00e9":[1,-2.5e+3,{"b":null,"":"\"\\x"},[ ]],"c":true,"d":{"e":{}}, "f":"gh" } "#;

    proptest! {
        #[test]
        fn no_text_is_read_otherwise_than_others_read_it(text in r#"[\[\]{}",:0-9a-zE+\-. \\\n]{0,40}"#) {
            is_as_others_read_it(&text);
        }

        #[test]
        fn nor_one_that_is_nearly_json(at in 0..VALID.len(), cut in 0..6usize, new in r#"[\[\]{}",:0-9un.e\-\\ ]{0,4}"#) {
            let end = (at + cut).min(VALID.len());
            is_as_others_read_it(&format!("{}{new}{}", &VALID[..at], &VALID[end..]));
        }
    }
}
