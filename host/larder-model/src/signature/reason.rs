//! Why a signature is not trusted.

use std::fmt;

/// The maximum number of characters of the reason why a signature is not trusted.
const MAX_REASON: usize = 500;

/// Why a signature is not trusted. A reason is permanent unless it was created as temporary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    text: String,
    is_temporary: bool,
}

impl Reason {
    /// Creates a reason that may not apply later to the same signature. The text must be the same for each
    /// verification, because each new text is logged.
    pub fn temporary(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            is_temporary: true,
        }
    }

    /// Whether a later verification of the same signature may succeed.
    pub fn is_temporary(&self) -> bool {
        self.is_temporary
    }

    /// Returns the reason with the place where the signature was found.
    #[must_use]
    pub fn at(self, origin: &str) -> Self {
        Self {
            text: one_line(&format!("{origin}: {}", self.text)),
            ..self
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<String> for Reason {
    fn from(text: String) -> Self {
        Self {
            text,
            is_temporary: false,
        }
    }
}

impl From<&str> for Reason {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

/// Returns the text on one line and shortened, because the author of the signature wrote parts of the text.
fn one_line(text: &str) -> String {
    text.chars()
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .take(MAX_REASON)
        .collect()
}
