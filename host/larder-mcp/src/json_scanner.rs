//! A JSON scanner: finds where each value begins and ends and checks that the whole text is valid JSON. It
//! borrows values as they are written and does not decode them, because requests are passed on verbatim.

use std::borrow::Cow;

/// Maximum nesting: deeper than any message of the protocol, and within the limits of the parsers that read
/// the values later.
const MAX_DEPTH: usize = 128;

/// A JSON value, as it is written in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RawJson<'a> {
    text: &'a str,
    /// Whether it is a string without escapes, so that its text can be borrowed.
    is_plain: bool,
}

impl<'a> RawJson<'a> {
    /// Reads a text that has one value and, except for whitespace, nothing else.
    pub(super) fn read(text: &'a str) -> Result<Self, JsonError> {
        let mut scanner = Scanner::new(text);
        let value = scanner.value()?;
        scanner.end()?;
        Ok(value)
    }

    /// Returns the items of an array, at max `max + 1`, so that the caller can see that there are too many.
    /// The other items are only checked to be JSON.
    pub(super) fn items(array: &'a str, max: usize) -> Result<Vec<Self>, JsonError> {
        let mut items = Vec::new();
        let mut scanner = Scanner::new(array);
        scanner.array(|scanner| {
            if items.len() > max {
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

    /// Returns the decoded string, borrowed if it has no escapes; `None` if the value is not a string.
    pub(super) fn string(self) -> Option<Cow<'a, str>> {
        match self.is_plain {
            true => self.text.get(1..self.text.len() - 1).map(Cow::Borrowed),
            false => serde_json::from_str(self.text).ok().map(Cow::Owned),
        }
    }
}

/// Why a text is not JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JsonError {
    /// The text is invalid at this byte offset.
    At(usize),
    TooDeep,
}

impl JsonError {
    /// Returns the error message for the author of the text.
    pub(super) fn describe(self, text: &str) -> String {
        let Self::At(at) = self else { return "it is nested too deeply".into() };
        let before = text.get(..at).unwrap_or(text);
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        let begin = before.rfind('\n').map_or(0, |end| end + 1);
        // For a text that ends too early, this is the position of its last character.
        let column = (at + 1).min(text.len()).saturating_sub(begin);
        format!("line {line}, column {column}")
    }
}

/// A position in a text that is scanned.
pub(super) struct Scanner<'a> {
    text: &'a str,
    at: usize,
    /// The number of open arrays and objects.
    depth: usize,
}

type ScanResult = Result<(), JsonError>;

/// The bytes at which the scan of a string has to stop: quote, backslash and control characters.
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

    /// Reads the next value.
    pub(super) fn value(&mut self) -> Result<RawJson<'a>, JsonError> {
        self.skip_spaces();
        let from = self.at;
        let is_plain = match self.peek() {
            Some(b'"') => self.quoted()?,
            _ => self.skip().map(|()| false)?,
        };
        self.value_from(from, is_plain)
    }

    fn value_from(&self, from: usize, is_plain: bool) -> Result<RawJson<'a>, JsonError> {
        self.text.get(from..self.at).map(|text| RawJson { text, is_plain }).ok_or(JsonError::At(from))
    }

    /// Skips the next value.
    pub(super) fn skip(&mut self) -> ScanResult {
        self.skip_spaces();
        match self.peek() {
            Some(b'"') => self.quoted().map(drop),
            Some(b'{') => self.object(|scanner, _| scanner.skip()),
            Some(b'[') => self.array(Self::skip),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.literal("true"),
            Some(b'f') => self.literal("false"),
            Some(b'n') => self.literal("null"),
            _ => Err(self.error()),
        }
    }

    /// Reads an object. Calls `member` with each key, quotes included; `member` has to read or skip the
    /// value.
    pub(super) fn object(
        &mut self,
        mut member: impl FnMut(&mut Self, RawJson<'a>) -> ScanResult,
    ) -> ScanResult {
        self.items((b'{', b'}'), |scanner| {
            scanner.skip_spaces();
            let from = scanner.at;
            let is_plain = scanner.quoted()?;
            let key = scanner.value_from(from, is_plain)?;
            scanner.skip_spaces();
            scanner.expect(b':')?;
            member(scanner, key)
        })
    }

    /// Reads an array. `item` has to read or skip each value.
    pub(super) fn array(&mut self, item: impl FnMut(&mut Self) -> ScanResult) -> ScanResult {
        self.items((b'[', b']'), item)
    }

    /// Checks that the text ends here.
    pub(super) fn end(&mut self) -> ScanResult {
        self.skip_spaces();
        if self.at == self.text.len() { Ok(()) } else { Err(self.error()) }
    }

    fn items(
        &mut self,
        (open, close): (u8, u8),
        mut item: impl FnMut(&mut Self) -> ScanResult,
    ) -> ScanResult {
        self.skip_spaces();
        self.expect(open)?;
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(JsonError::TooDeep);
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
        self.expect(close)?;
        self.depth -= 1;
        Ok(())
    }

    /// Skips a string and returns whether it has no escapes.
    fn quoted(&mut self) -> Result<bool, JsonError> {
        self.expect(b'"')?;
        let mut is_plain = true;
        loop {
            let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
            self.at += rest.iter().position(|byte| IS_SPECIAL[usize::from(*byte)]).unwrap_or(rest.len());
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => self.escape()?,
                _ => return Err(self.error()),
            }
            is_plain = false;
        }
        self.at += 1;
        Ok(is_plain)
    }

    fn escape(&mut self) -> ScanResult {
        self.at += 1;
        if !self.skip_any_of(b"u") {
            return if self.skip_any_of(b"\"\\/bfnrt") { Ok(()) } else { Err(self.error()) };
        }
        for _ in 0..4 {
            if !self.peek().is_some_and(|byte| byte.is_ascii_hexdigit()) {
                return Err(self.error());
            }
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> ScanResult {
        self.skip_any_of(b"-");
        if !self.skip_any_of(b"0") {
            self.digits()?;
        }
        if self.skip_any_of(b".") {
            self.digits()?;
        }
        if self.skip_any_of(b"eE") {
            self.skip_any_of(b"+-");
            self.digits()?;
        }
        Ok(())
    }

    /// Skips one or more digits.
    fn digits(&mut self) -> ScanResult {
        let from = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at > from { Ok(()) } else { Err(self.error()) }
    }

    fn literal(&mut self, literal: &str) -> ScanResult {
        literal.bytes().try_for_each(|byte| self.expect(byte))
    }

    fn skip_spaces(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    fn skip_any_of(&mut self, of: &[u8]) -> bool {
        let is_there = self.peek().is_some_and(|byte| of.contains(&byte));
        self.at += usize::from(is_there);
        is_there
    }

    fn expect(&mut self, wanted: u8) -> ScanResult {
        if self.peek() == Some(wanted) {
            self.at += 1;
            Ok(())
        } else {
            Err(self.error())
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Returns the error for the current position.
    fn error(&self) -> JsonError {
        JsonError::At(self.at)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::value::RawValue;

    use super::*;

    /// Checks that the scanner accepts exactly what serde_json accepts, except for the nesting limit.
    fn check_against_serde_json(text: &str) {
        let expected = serde_json::from_str::<&RawValue>(text).ok().map(RawValue::get);
        match RawJson::read(text) {
            Ok(json) => assert_eq!(Some(json.get()), expected, "{text}"),
            Err(JsonError::TooDeep) => {}
            Err(JsonError::At(_)) => assert_eq!(None, expected, "{text}"),
        }
    }

    #[test]
    fn accepts_the_same_texts_as_serde_json() {
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
            check_against_serde_json(text);
        }
    }

    #[test]
    fn rejects_deep_nesting() {
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(RawJson::read(&nested(MAX_DEPTH)).is_ok());
        assert_eq!(RawJson::read(&nested(MAX_DEPTH + 1)), Err(JsonError::TooDeep));
        let wide = format!("[{}[]]", "[[]],".repeat(MAX_DEPTH));
        assert!(RawJson::read(&wide).is_ok());
    }

    const VALID: &str =
        r#" {"a\u00e9":[1,-2.5e+3,{"b":null,"":"\"\\x"},[ ]],"c":true,"d":{"e":{}}, "f":"gh" } "#;

    proptest! {
        #[test]
        fn accepts_the_same_random_texts_as_serde_json(text in r#"[\[\]{}",:0-9a-zE+\-. \\\n]{0,40}"#) {
            check_against_serde_json(&text);
        }

        #[test]
        fn accepts_the_same_mutated_texts_as_serde_json(at in 0..VALID.len(), cut in 0..6usize, new in r#"[\[\]{}",:0-9un.e\-\\ ]{0,4}"#) {
            let end = (at + cut).min(VALID.len());
            check_against_serde_json(&format!("{}{new}{}", &VALID[..at], &VALID[end..]));
        }
    }
}
