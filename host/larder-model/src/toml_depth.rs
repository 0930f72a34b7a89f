//! The depth of a text in TOML, which is measured before the text is parsed. The parsers limit the parts of one key to
//! 80, and the brackets around it to 80. But 80 nested inline tables whose keys have 80 parts are 6,400 nested tables.
//! Code that visits them, including `Drop`, needs more stack than a thread has.

use std::mem::take;

use toml_parser::parser::{EventReceiver, parse_document};
use toml_parser::{ErrorSink, Source, Span};

/// The maximum depth of tables and lists below the header of a table.
pub const MAX_DEPTH: usize = 80;

/// The tables and lists of a text are nested too deeply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("its tables and lists are nested more than {MAX_DEPTH} levels deep")]
pub struct TooDeep;

/// Checks the depth of a text, which need not be valid. This must be called before the text is parsed.
pub fn check_depth(text: &str) -> Result<(), TooDeep> {
    let mut levels = Levels::default();
    parse_document(&Source::new(text).lex().into_vec(), &mut levels, &mut ());
    if levels.is_too_deep {
        Err(TooDeep)
    } else {
        Ok(())
    }
}

/// The levels at one position of a text.
#[derive(Default)]
struct Levels {
    /// The dots of the current key, for each bracket around this position.
    around: Vec<usize>,
    /// The dots of the current key.
    dots: usize,
    /// Whether the next part belongs to the current key.
    is_after_dot: bool,
    depth: usize,
    is_too_deep: bool,
}

impl Levels {
    /// Returns whether the parser may enter the bracket.
    fn open(&mut self) -> bool {
        self.around.push(take(&mut self.dots));
        self.deepen();
        !self.is_too_deep
    }

    fn close(&mut self) {
        if let Some(dots) = self.around.pop() {
            self.depth -= self.dots + 1;
            self.dots = dots;
        }
    }

    fn deepen(&mut self) {
        self.depth += 1;
        self.is_too_deep |= self.depth > MAX_DEPTH;
    }
}

impl EventReceiver for Levels {
    fn inline_table_open(&mut self, _: Span, _: &mut dyn ErrorSink) -> bool {
        self.open()
    }

    fn inline_table_close(&mut self, _: Span, _: &mut dyn ErrorSink) {
        self.close();
    }

    fn array_open(&mut self, _: Span, _: &mut dyn ErrorSink) -> bool {
        self.open()
    }

    fn array_close(&mut self, _: Span, _: &mut dyn ErrorSink) {
        self.close();
    }

    fn simple_key(
        &mut self,
        _: Span,
        _: Option<toml_parser::decoder::Encoding>,
        _: &mut dyn ErrorSink,
    ) {
        if !take(&mut self.is_after_dot) {
            self.depth -= take(&mut self.dots);
        }
    }

    fn key_sep(&mut self, _: Span, _: &mut dyn ErrorSink) {
        self.is_after_dot = true;
        self.dots += 1;
        self.deepen();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nested inline tables, whose keys have this many parts.
    fn tables(count: usize, parts: usize) -> String {
        let key = vec!["x"; parts].join(".");
        format!(
            "{}x = 1{}",
            format!("{key} = {{").repeat(count),
            "}".repeat(count)
        )
    }

    #[test]
    fn counts_brackets_and_the_parts_of_keys_together() {
        let lists = |depth| format!("x = {}{}", "[".repeat(depth), "]".repeat(depth));
        for fits in [
            "".to_owned(),
            "a.b.c = 1.5\n".repeat(1_000),
            "[a.b.c]\nd.e = { f.g = 1, h.i = 1 }\n[[j.k]]\n".repeat(1_000),
            lists(MAX_DEPTH),
            tables(20, 4),
            // Brackets in strings and comments do not count.
            format!("x = \"\"\"{0}\"\"\"\ny = '{0}' # {0}", "[{a.b.".repeat(100)),
        ] {
            assert_eq!(check_depth(&fits), Ok(()), "{fits}");
        }
        for deep in [
            lists(MAX_DEPTH + 1),
            lists(100_000),
            tables(21, 4),
            tables(79, 79),
        ] {
            assert_eq!(check_depth(&deep), Err(TooDeep), "{deep}");
        }
    }

    #[test]
    fn invalid_texts_are_measured_too() {
        for (text, expected) in [
            ("]}]} x = ", Ok(())),
            ("x = {]{]", Ok(())),
            (&"x.".repeat(1_000), Err(TooDeep)),
            (&format!("[{}", "a.".repeat(1_000)), Err(TooDeep)),
            (&"x = {]".repeat(100), Err(TooDeep)),
            (&"x.x.x = [}{".repeat(100), Err(TooDeep)),
        ] {
            assert_eq!(check_depth(text), expected, "{text}");
        }
    }
}
