//! The errors of a value, for a model that corrects the value.

use std::fmt::{self, Display, Write};

use serde_json::Value;

/// Maximum number of errors in a message. Models correct a few errors at a time.
const MAX_ERRORS: usize = 5;
/// Maximum number of characters of one error.
const MAX_ERROR: usize = 300;
/// Maximum number of characters that an error quotes of one value.
const MAX_QUOTE: usize = 100;

/// Where a value is.
pub(super) struct Location<'v> {
    pub(super) value: &'v Value,
    step: Option<(&'v Location<'v>, Step<'v>)>,
}

/// One step from a value to a part of the value.
#[derive(Clone, Copy)]
pub(super) enum Step<'v> {
    Name(&'v str),
    Index(usize),
}

/// The errors that were found.
#[derive(Default)]
pub(super) struct Report {
    count: usize,
    pub(super) text: String,
}

/// A value as JSON, shortened.
pub(super) struct Quote<'v>(pub(super) &'v Value);

/// Values, separated by commas.
pub(super) struct QuoteList<'v>(pub(super) &'v [Value]);

/// Unexpected names, in single quotes.
pub(super) struct UnexpectedNames<'v>(pub(super) &'v [String]);

/// Writes up to this number of characters, and then fails.
struct TruncatingWriter<'w> {
    output: &'w mut dyn Write,
    left: usize,
}

impl<'v> Location<'v> {
    pub(super) fn root(value: &'v Value) -> Self {
        Self { value, step: None }
    }

    /// The location of a part of the current value.
    pub(super) fn child(&'v self, step: Step<'v>, value: &'v Value) -> Self {
        Self {
            value,
            step: Some((self, step)),
        }
    }
}

/// A JSON pointer.
impl Display for Location<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut steps = vec![];
        let mut location = self;
        while let Some((parent, step)) = location.step {
            steps.push(step);
            location = parent;
        }
        for step in steps.iter().rev() {
            match step {
                Step::Name(name) => write!(f, "/{}", name.replace('~', "~0").replace('/', "~1"))?,
                Step::Index(index) => write!(f, "/{index}")?,
            }
        }
        Ok(())
    }
}

impl Report {
    pub(super) fn is_full(&self) -> bool {
        self.count == MAX_ERRORS
    }

    pub(super) fn add(&mut self, at: &Location<'_>, message: fmt::Arguments<'_>) {
        if self.is_full() {
            return;
        }
        if self.count > 0 {
            self.text += "; ";
        }
        self.count += 1;
        let place = at.to_string();
        // Writing to a string cannot fail.
        _ = match place.as_str() {
            "" => write_shortened(&mut self.text, MAX_ERROR, message),
            place => write_shortened(
                &mut self.text,
                MAX_ERROR,
                format_args!("`{place}`: {message}"),
            ),
        };
    }
}

/// Writes at most this number of characters.
fn write_shortened(output: &mut dyn Write, max: usize, text: fmt::Arguments<'_>) -> fmt::Result {
    let mut shortening = TruncatingWriter { output, left: max };
    match shortening.write_fmt(text) {
        Err(_) if shortening.left == 0 => output.write_char('…'),
        written => written,
    }
}

impl Write for TruncatingWriter<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = text
            .char_indices()
            .nth(self.left)
            .map_or(text.len(), |(end, _)| end);
        self.output.write_str(&text[..end])?;
        if end < text.len() {
            self.left = 0;
            return Err(fmt::Error);
        }
        self.left -= text.chars().count();
        Ok(())
    }
}

impl Display for Quote<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_shortened(f, MAX_QUOTE, format_args!("{}", self.0))
    }
}

impl Display for QuoteList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, value) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            write!(f, "{separator}{}", Quote(value))?;
        }
        Ok(())
    }
}

impl Display for UnexpectedNames<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, name) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            write!(f, "{separator}'{name}'")?;
        }
        let verb = if self.0.len() == 1 { "was" } else { "were" };
        write!(f, " {verb} unexpected")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn shortens_values_and_errors() {
        assert_eq!(Quote(&json!([1, "a"])).to_string(), r#"[1,"a"]"#);
        let long = json!("ä".repeat(1_000_000));
        assert_eq!(Quote(&long).to_string().chars().count(), MAX_QUOTE + 1);
        let exact = json!("b".repeat(MAX_QUOTE - 2));
        assert_eq!(Quote(&exact).to_string(), exact.to_string());
        let mut report = Report::default();
        for _ in 0..10 {
            report.add(
                &Location::root(&long),
                format_args!("{}", "x".repeat(MAX_ERROR + 1)),
            );
        }
        assert!(report.is_full());
        assert_eq!(
            report.text.chars().count(),
            MAX_ERRORS * (MAX_ERROR + 1) + 2 * (MAX_ERRORS - 1)
        );
    }

    #[test]
    fn names_places_by_their_pointers() {
        let value = json!(1);
        let root = Location::root(&value);
        let member = root.child(Step::Name("a/b~c"), &value);
        assert_eq!(
            member.child(Step::Index(2), &value).to_string(),
            "/a~1b~0c/2"
        );
        assert_eq!(root.to_string(), "");
    }
}
