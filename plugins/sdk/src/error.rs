//! Answers other than success. Any other way to fail is a trap, and a fault of the provider.

use std::fmt;
use std::io;

use crate::bindings::provider_types;

/// What a provider gives back.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why there is no answer. The text reaches the caller: say what can be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// The URI names nothing here. Another provider may still know it.
    NotFound,
    /// The version that the caller holds is still the current one.
    NotModified,
    /// The question makes no sense: a bad value, a bad cursor.
    Invalid(String),
    /// This caller may not, or this provider was not granted what it would need.
    Denied(String),
    /// Worth another try later.
    Unavailable(String),
    /// Everything else.
    Failed(String),
}

impl Error {
    /// A failure, from anything that can be shown: `value.parse().map_err(Error::failed)?`.
    pub fn failed(reason: impl fmt::Display) -> Self {
        Self::Failed(reason.to_string())
    }

    /// A question that makes no sense, from anything that can be shown.
    pub fn invalid(reason: impl fmt::Display) -> Self {
        Self::Invalid(reason.to_string())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound => f.write_str("not found"),
            Self::NotModified => f.write_str("not modified"),
            Self::Invalid(reason) => write!(f, "invalid: {reason}"),
            Self::Denied(reason) => write!(f, "denied: {reason}"),
            Self::Unavailable(reason) => write!(f, "unavailable: {reason}"),
            Self::Failed(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for Error {}

impl From<String> for Error {
    fn from(reason: String) -> Self {
        Self::Failed(reason)
    }
}

impl From<&str> for Error {
    fn from(reason: &str) -> Self {
        Self::Failed(reason.to_owned())
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        use io::ErrorKind as Kind;
        match error.kind() {
            Kind::NotFound | Kind::NotADirectory => Self::NotFound,
            Kind::PermissionDenied | Kind::ReadOnlyFilesystem => Self::Denied(error.to_string()),
            Kind::InvalidInput | Kind::InvalidFilename => Self::Invalid(error.to_string()),
            Kind::TimedOut | Kind::Interrupted | Kind::WouldBlock | Kind::ResourceBusy => {
                Self::Unavailable(error.to_string())
            }
            _ => Self::Failed(error.to_string()),
        }
    }
}

impl From<Error> for provider_types::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::NotFound => Self::NotFound,
            Error::NotModified => Self::NotModified,
            Error::Invalid(reason) => Self::Invalid(reason),
            Error::Denied(reason) => Self::Denied(reason),
            Error::Unavailable(reason) => Self::Unavailable(reason),
            Error::Failed(reason) => Self::Failed(reason),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_file_system_keep_their_meaning() {
        let check = |kind: io::ErrorKind, expected: &str| {
            let shown = Error::from(io::Error::new(kind, "x")).to_string();
            assert_eq!(shown, expected, "{kind:?}");
        };
        check(io::ErrorKind::NotFound, "not found");
        check(io::ErrorKind::NotADirectory, "not found");
        check(io::ErrorKind::PermissionDenied, "denied: x");
        check(io::ErrorKind::TimedOut, "unavailable: x");
        check(io::ErrorKind::InvalidInput, "invalid: x");
        check(io::ErrorKind::BrokenPipe, "x");
    }

    #[test]
    fn a_question_mark_turns_texts_into_failures() {
        fn fails(owned: bool) -> Result<()> {
            if owned { Err(String::from("a"))? } else { Err("b")? }
        }
        assert_eq!(fails(true), Err(Error::Failed("a".into())));
        assert_eq!(fails(false), Err(Error::Failed("b".into())));
    }
}
