//! YAML as JSON. Only plain data are accepted: no anchors, aliases and tags, and bounded nesting. So a small text never
//! becomes a large value. Plain scalars have the types of the core schema of YAML 1.2, as in other readers of skills.

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, StrInput};
use serde_json::{Map, Number, Value};

/// Maximum number of lists and mappings inside each other.
const MAX_DEPTH: usize = 16;

/// Why a text is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum YamlError {
    /// The text is not YAML.
    #[error("it is not YAML: {0}")]
    Syntax(String),
    /// The text uses an anchor, an alias or a tag.
    #[error("it has an anchor, an alias or a tag: write the value itself")]
    Reference,
    /// The text is nested too deeply.
    #[error("it is nested more than {MAX_DEPTH} levels deep")]
    Depth,
    /// A key is not a text.
    #[error("a key is not a text: write it in quotes")]
    Key,
    /// A mapping has a key twice.
    #[error("the key `{0}` occurs twice")]
    DuplicateKey(String),
    /// A number that JSON does not have.
    #[error("`{0}` is not a number in JSON: write it in quotes")]
    Number(String),
    /// The text contains more than one document.
    #[error("it has more than one document")]
    SeveralDocuments,
}

impl From<ScanError> for YamlError {
    fn from(error: ScanError) -> Self {
        Self::Syntax(error.to_string())
    }
}

/// Parses a text with one document.
pub(crate) fn parse(text: &str) -> Result<Value, YamlError> {
    let mut document = Document {
        parser: Parser::new_from_str(text),
    };
    let value = match document.next_content()? {
        Event::StreamEnd => return Ok(Value::Null),
        first => document.value(first, 0)?,
    };
    match document.next_content()? {
        Event::StreamEnd => Ok(value),
        _ => Err(YamlError::SeveralDocuments),
    }
}

struct Document<'t> {
    parser: Parser<'t, StrInput<'t>>,
}

impl<'t> Document<'t> {
    fn next(&mut self) -> Result<Event<'t>, YamlError> {
        match self.parser.next_event() {
            Some(event) => Ok(event?.0),
            None => Ok(Event::StreamEnd),
        }
    }

    /// Returns the next event that is not the begin or the end of a document.
    fn next_content(&mut self) -> Result<Event<'t>, YamlError> {
        loop {
            let event = self.next()?;
            let is_frame = matches!(
                event,
                Event::Nothing | Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd
            );
            if !is_frame {
                return Ok(event);
            }
        }
    }

    fn value(&mut self, first: Event<'t>, depth: usize) -> Result<Value, YamlError> {
        match first {
            Event::Scalar(text, ScalarStyle::Plain, 0, None) => plain_scalar(&text),
            Event::Scalar(text, _, 0, None) => Ok(Value::String(text.into_owned())),
            Event::SequenceStart(0, None) => self.sequence(deeper(depth)?),
            Event::MappingStart(0, None) => self.mapping(deeper(depth)?),
            Event::Scalar(..)
            | Event::SequenceStart(..)
            | Event::MappingStart(..)
            | Event::Alias(_) => Err(YamlError::Reference),
            _ => Err(YamlError::Syntax("a value is missing".into())),
        }
    }

    fn sequence(&mut self, depth: usize) -> Result<Value, YamlError> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                Event::SequenceEnd => return Ok(Value::Array(items)),
                item => items.push(self.value(item, depth)?),
            }
        }
    }

    fn mapping(&mut self, depth: usize) -> Result<Value, YamlError> {
        let mut members = Map::new();
        loop {
            let key = match self.next()? {
                Event::MappingEnd => return Ok(Value::Object(members)),
                key => match self.value(key, depth)? {
                    Value::String(key) => key,
                    _ => return Err(YamlError::Key),
                },
            };
            let first = self.next()?;
            let value = self.value(first, depth)?;
            if members.contains_key(&key) {
                return Err(YamlError::DuplicateKey(key));
            }
            members.insert(key, value);
        }
    }
}

fn deeper(depth: usize) -> Result<usize, YamlError> {
    if depth == MAX_DEPTH {
        Err(YamlError::Depth)
    } else {
        Ok(depth + 1)
    }
}

fn plain_scalar(text: &str) -> Result<Value, YamlError> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Ok(Value::Null),
        "true" | "True" | "TRUE" => return Ok(Value::Bool(true)),
        "false" | "False" | "FALSE" => return Ok(Value::Bool(false)),
        _ => {}
    }
    if let Some(integer) = integer(text) {
        return Ok(Value::Number(integer));
    }
    if !is_float(text) {
        return Ok(Value::String(text.to_owned()));
    }
    let number = text.parse().ok().and_then(Number::from_f64);
    number
        .map(Value::Number)
        .ok_or_else(|| YamlError::Number(text.to_owned()))
}

/// Returns the value of an integer that fits. Larger integers become floating-point numbers, as in JavaScript.
fn integer(text: &str) -> Option<Number> {
    if let Some(digits) = text.strip_prefix("0o") {
        return unsigned(digits, 8);
    }
    if let Some(digits) = text.strip_prefix("0x") {
        return unsigned(digits, 16);
    }
    match text.strip_prefix('-') {
        Some(digits) if is_digits(digits) => text.parse::<i64>().ok().map(Number::from),
        Some(_) => None,
        None => unsigned(text.strip_prefix('+').unwrap_or(text), 10),
    }
}

fn unsigned(digits: &str, radix: u32) -> Option<Number> {
    // `from_str_radix` accepts a sign.
    let is_number = digits.chars().all(|c| c.is_digit(radix));
    let number = is_number.then(|| u64::from_str_radix(digits, radix).ok());
    number.flatten().map(Number::from)
}

/// Whether a text is a floating-point number of the core schema, or an infinite one.
fn is_float(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return true;
    }
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let exponent = exponent.map(|text| text.strip_prefix(['-', '+']).unwrap_or(text));
    is_decimal(mantissa) && exponent.is_none_or(is_digits)
}

fn is_decimal(text: &str) -> bool {
    match text.split_once('.') {
        None => is_digits(text),
        Some(("", fraction)) => is_digits(fraction),
        Some((whole, fraction)) => is_digits(whole) && (fraction.is_empty() || is_digits(fraction)),
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(text: &str, expected: Expect) {
        let shown = match parse(text) {
            Ok(value) => value.to_string(),
            Err(error) => format!("error: {error}"),
        };
        expected.assert_eq(&shown);
    }

    #[test]
    fn scalars_have_the_types_of_the_core_schema() {
        check(
            "[a, 'b', \"c\\n\", 12, -3, +4, 0x1F, 0o17, 1.5, 1e3, .5, 1., yes, on, True, ~, 2026-01-02, 1.2.3, 0b1, 1_000]",
            expect![[
                r#"["a","b","c\n",12,-3,4,31,15,1.5,1000.0,0.5,1.0,"yes","on",true,null,"2026-01-02","1.2.3","0b1","1_000"]"#
            ]],
        );
        check(
            "a: |\n  one\n  two\nb: >-\n  one\n  two\nc: 123456789012345678901",
            expect![[r#"{"a":"one\ntwo\n","b":"one two","c":1.2345678901234568e+20}"#]],
        );
        check("", expect!["null"]);
        check("# only a comment", expect!["null"]);
    }

    #[test]
    fn rejects_references_and_what_json_does_not_have() {
        for text in [
            "a: &x 1",
            "a: &x [1]",
            "a: &x {b: 1}",
            "a: !!str 1",
            "a: !x [1]",
            "a: !x {b: 1}",
            "!x a: 1",
            "&x a: 1",
        ] {
            assert_eq!(parse(text), Err(YamlError::Reference), "{text}");
        }
        check(
            "a: .inf",
            expect!["error: `.inf` is not a number in JSON: write it in quotes"],
        );
        check(
            "a: 1e999",
            expect!["error: `1e999` is not a number in JSON: write it in quotes"],
        );
        check(
            "1: a",
            expect!["error: a key is not a text: write it in quotes"],
        );
        check(
            "[a]: b",
            expect!["error: a key is not a text: write it in quotes"],
        );
        check("a: 1\na: 2", expect!["error: the key `a` occurs twice"]);
        check(
            "a: 1\n---\nb: 1",
            expect!["error: it has more than one document"],
        );
        assert!(matches!(parse("a: [1"), Err(YamlError::Syntax(_))));
        assert!(matches!(
            parse("a: *x"),
            Err(YamlError::Syntax(_) | YamlError::Reference)
        ));
    }

    #[test]
    fn a_bomb_is_rejected_before_it_grows() {
        let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..20 {
            let before = level - 1;
            bomb += &format!("a{level}: &a{level} [*a{before}, *a{before}, *a{before}]\n");
        }
        assert_eq!(parse(&bomb), Err(YamlError::Reference));
        for deep in ["[", "{a: ", "- "] {
            // The parser has a limit of its own for how far it reads ahead.
            assert!(parse(&deep.repeat(30_000)).is_err(), "{deep}");
            let text = deep.repeat(MAX_DEPTH + 1);
            assert_eq!(parse(&text), Err(YamlError::Depth), "{deep}");
        }
        let at_limit = format!("{}{}", "[".repeat(MAX_DEPTH), "]".repeat(MAX_DEPTH));
        assert!(parse(&at_limit).is_ok());
    }

    proptest::proptest! {
        #[test]
        fn never_panics(text in r"[-\[\]{}:,&*!|>'#? a1\n]{0,60}") {
            let _ = parse(&text);
        }
    }
}
