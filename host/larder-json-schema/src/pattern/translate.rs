//! Translates regular expressions of ECMAScript into the syntax of the crate `regex`. The differences that expressions
//! in schemas use are the classes `\d`, `\w` and `\s`, the point, `\b`, `\cX`, `\0`, surrogates, and brackets in
//! classes.

use std::iter::Peekable;
use std::str::Chars;

/// `\s`: spaces and line ends.
const SPACES: &str =
    r"\t-\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}";
const DIGITS: &str = "0-9";
const WORD: &str = "A-Za-z0-9_";

/// The text before a position in a class. It decides whether `-` is a range or a character.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ClassState {
    /// The beginning, or a range.
    Complete,
    /// A class such as `\d`, which cannot begin a range.
    Class,
    /// A character, which may begin a range.
    Character,
    /// Something and `-`.
    OpenRange,
}

struct Translator<'p> {
    rest: Peekable<Chars<'p>>,
    output: String,
}

/// Translates an expression. Parts without an equivalent stay unchanged, and are rejected later.
pub(super) fn translate(pattern: &str) -> String {
    let rest = pattern.chars().peekable();
    let mut translator = Translator {
        rest,
        output: String::with_capacity(pattern.len()),
    };
    while let Some(next) = translator.rest.next() {
        match next {
            '\\' => translator.escape(),
            '.' => translator.output += r"[^\n\r\x{2028}\x{2029}]",
            '[' => translator.class(),
            other => translator.output.push(other),
        }
    }
    translator.output
}

impl Translator<'_> {
    fn escape(&mut self) {
        let Some(next) = self.rest.next() else {
            return self.output.push('\\');
        };
        match next {
            'b' => self.output += r"(?-u:\b)",
            'd' | 'D' | 'w' | 'W' | 's' | 'S' => self.character_class(next),
            _ => self.character_escape(next),
        }
    }

    /// Writes `\d` and similar classes, which contain only ASCII characters in ECMAScript.
    fn character_class(&mut self, name: char) {
        self.open_class(name.is_ascii_uppercase());
        self.output += match name {
            'd' | 'D' => DIGITS,
            'w' | 'W' => WORD,
            _ => SPACES,
        };
        self.output.push(']');
    }

    /// Writes the beginning of a class.
    fn open_class(&mut self, is_negated: bool) {
        self.output += if is_negated { "[^" } else { "[" };
    }

    /// Writes a backslash and the character that follows.
    fn character_escape(&mut self, next: char) {
        match next {
            'c' if self.rest.peek().is_some_and(char::is_ascii_alphabetic) => {
                let letter = self.rest.next().map_or(0, u32::from);
                self.code_point(letter % 32);
            }
            '0' if !self.rest.peek().is_some_and(char::is_ascii_digit) => self.output += r"\x{0}",
            'u' => self.unicode_escape(),
            // In the crate, `\a` is the bell. In ECMAScript, it has no meaning.
            'a' => self.output += r"\Z",
            other => {
                self.output.push('\\');
                self.output.push(other);
            }
        }
    }

    /// Writes `\uXXXX`. Two surrogates are one character.
    fn unicode_escape(&mut self) {
        let ahead: String = self.rest.clone().take(10).collect();
        match surrogate_pair(&ahead) {
            Some(character) => {
                self.code_point(character.into());
                self.rest.nth(9);
            }
            None => self.output += r"\u",
        }
    }

    /// Writes a character by its number.
    fn code_point(&mut self, value: u32) {
        self.output += &format!(r"\x{{{value:x}}}");
    }

    /// Writes a class. In a class, only the first bracket, `^`, `-` and the last bracket have a meaning.
    fn class(&mut self) {
        let is_negated = self.rest.next_if_eq(&'^').is_some();
        if self.rest.next_if_eq(&']').is_some() {
            self.output += if is_negated {
                "(?s:.)"
            } else {
                r"[^\x{0}-\x{10ffff}]"
            };
            return;
        }
        self.open_class(is_negated);
        let mut state = ClassState::Complete;
        while let Some(next) = self.rest.next() {
            state = match next {
                ']' => return self.output.push(']'),
                '\\' => self.class_escape(state),
                '-' => self.class_hyphen(state),
                other => self.character_in_class(other, state),
            };
        }
    }

    /// Writes a character that has no meaning in a class.
    fn character_in_class(&mut self, character: char, state: ClassState) -> ClassState {
        if matches!(character, '[' | '&' | '~' | '^') {
            self.output.push('\\');
        }
        self.output.push(character);
        state.after_character()
    }

    fn class_escape(&mut self, state: ClassState) -> ClassState {
        let Some(next) = self.rest.next() else {
            return state;
        };
        match next {
            'd' | 'D' | 'w' | 'W' | 's' | 'S' => {
                self.character_class(next);
                return ClassState::Class;
            }
            // The backspace.
            'b' => self.output += r"\x{8}",
            'p' | 'P' => {
                self.character_escape(next);
                return ClassState::Class;
            }
            _ => self.character_escape(next),
        }
        state.after_character()
    }

    fn class_hyphen(&mut self, state: ClassState) -> ClassState {
        let is_last = self.rest.peek() == Some(&']');
        match state {
            ClassState::Character if !is_last => {
                self.output.push('-');
                ClassState::OpenRange
            }
            ClassState::Class if !is_last => {
                self.output += r"\-";
                ClassState::OpenRange
            }
            _ => {
                self.output += r"\-";
                state.after_character()
            }
        }
    }
}

/// Parses `XXXX\uXXXX`, the numbers of two surrogates.
fn surrogate_pair(text: &str) -> Option<char> {
    let high = code_unit(text, 0)?;
    let low = code_unit(text, 6).filter(|_| text.get(4..6) == Some("\\u"))?;
    let character = char::decode_utf16([high, low]).next()?.ok()?;
    (character.len_utf16() == 2).then_some(character)
}

fn code_unit(text: &str, at: usize) -> Option<u16> {
    u16::from_str_radix(text.get(at..at + 4)?, 16).ok()
}

impl ClassState {
    fn after_character(self) -> Self {
        match self {
            Self::OpenRange => Self::Complete,
            Self::Complete | Self::Class | Self::Character => Self::Character,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Effort;
    use crate::pattern::Pattern;

    #[test]
    fn has_the_meaning_of_ecmascript() {
        for (pattern, matching, other) in [
            (r"^\d+$", "123", "१२३"),
            (r"^\w+$", "a_1", "é"),
            (r"^\W$", "é", "e"),
            (r"^\s\S$", "\u{feff}x", "xx"),
            (r"^a\/b$", "a/b", "a\\/b"),
            (r"^\u0041$", "A", "a"),
            (r"^\uD83D\uDE00$", "😀", "x"),
            (r"^\cA$", "\u{1}", "A"),
            (r"^\p{L}$", "é", "1"),
            (r"^\p{Script=Greek}$", "α", "a"),
            ("^.$", "\u{85}", "\u{2028}"),
            (r"^[\d-x]$", "-", "y"),
            (r"^[\w--z]+$", "a-z", "."),
            ("^[a-z--b]$", "A", "~"),
            ("^[[]$", "[", "]"),
            ("^[a&&b~~]+$", "&~", "c"),
            ("^[^]$", "\n", ""),
            ("[]|x", "x", "y"),
            (r"\bfoo\b", "a foo b", "food"),
            (r"^\0$", "\0", "0"),
            (r"^(?<year>\d{4})$", "2026", "x"),
            (r"^[\]\-^]+$", "]-^", "a"),
            ("^[a-]$", "-", "b"),
            ("^x$", "x", "x\n"),
            (r"^[\b]$", "\u{8}", "b"),
            (r"^[\u0041-\u0043]$", "B", "D"),
        ] {
            let compiled = Pattern::new(pattern, 1 << 20).unwrap_or_else(|error| panic!("{error}"));
            let is_match = |text| compiled.is_match(text, &mut Effort::new(u64::MAX)).unwrap();
            assert!(is_match(matching), "{pattern} {matching}");
            assert!(!is_match(other), "{pattern} {other}");
        }
    }
}
