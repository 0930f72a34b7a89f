//! RFC 6570 URI templates, matched backwards.

/// A template, parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    text: Box<str>,
}

/// Why a text is not a template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a URI template: {why}")]
pub struct BadPattern {
    text: String,
    why: &'static str,
}

impl Pattern {
    /// Reads a template.
    pub fn parse(text: &str) -> Result<Self, BadPattern> {
        Ok(Self { text: text.into() })
    }

    /// The template as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}
