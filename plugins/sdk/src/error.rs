//! Errors that a provider returns. Any other failure is a trap and counts as a fault of the provider.

use std::fmt;
use std::io;
use std::panic::Location;

use crate::bindings::provider_types;
use crate::host::{Level, log};

/// The result type of provider methods.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error response. The caller receives its text, so the text should say how to solve the problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// The resource does not exist in this provider. The host then calls other providers.
    NotFound,
    /// The caller's known version is still current.
    NotModified,
    /// The request is invalid, for example because of a bad value or a bad cursor.
    Invalid(String),
    /// The caller is not authorized, or the provider lacks a grant.
    Denied(String),
    /// A temporary failure; the request may be retried later.
    Unavailable(String),
    /// Any other failure.
    Failed(String),
}

impl Error {
    /// Creates a failure from anything that implements `Display`: `value.parse().map_err(Error::failed)?`.
    pub fn failed(reason: impl fmt::Display) -> Self {
        Self::Failed(reason.to_string())
    }

    /// Creates an [`Invalid`](Self::Invalid) error for a resource that is larger than a limit. Clients do not repeat
    /// such a request. `setting` says how the operator changes the limit: ``"setting `max_bytes`"``.
    pub fn too_large(what: &str, limit: u64, setting: &str) -> Self {
        let units = [
            (1 << 30, "GiB"),
            (1 << 20, "MiB"),
            (1 << 10, "KiB"),
            (1, "bytes"),
        ];
        let unit = units
            .into_iter()
            .find(|(unit, _)| limit >= *unit && limit.is_multiple_of(*unit));
        let (unit, name) = unit.unwrap_or((1, "bytes"));
        Self::Invalid(format!(
            "{what} is larger than the limit of {} {name} ({setting})",
            limit / unit
        ))
    }

    /// Creates an [`Invalid`](Self::Invalid) error from anything that implements `Display`.
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
    #[track_caller]
    fn from(error: io::Error) -> Self {
        use io::ErrorKind as Kind;
        match error.kind() {
            Kind::NotFound | Kind::NotADirectory => {
                // The error itself has no text. The place is that of the question mark.
                let place = Location::caller();
                log(
                    Level::Debug,
                    &format!("not found, because of: {error} ({place})"),
                );
                Self::NotFound
            }
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
    fn maps_io_errors() {
        let check = |kind: io::ErrorKind, expected: &str| {
            let text = Error::from(io::Error::new(kind, "x")).to_string();
            assert_eq!(text, expected, "{kind:?}");
        };
        check(io::ErrorKind::NotFound, "not found");
        check(io::ErrorKind::NotADirectory, "not found");
        check(io::ErrorKind::PermissionDenied, "denied: x");
        check(io::ErrorKind::TimedOut, "unavailable: x");
        check(io::ErrorKind::InvalidInput, "invalid: x");
        check(io::ErrorKind::BrokenPipe, "x");
    }

    #[test]
    fn the_log_says_which_file_was_not_found() {
        fn reads() -> Result<String> {
            Ok(std::fs::read_to_string("/gone/file")?)
        }
        assert_eq!(reads(), Err(Error::NotFound));
        let logged = crate::host::last_message();
        assert!(logged.starts_with("not found, because of: "), "{logged}");
        assert!(logged.contains("error.rs:"), "{logged}");
    }

    #[test]
    fn an_error_about_a_size_names_the_limit() {
        let check = |limit, expected: &str| {
            let error = Error::too_large("the file", limit, "setting `max_bytes`");
            let message = format!(
                "invalid: the file is larger than the limit of {expected} (setting `max_bytes`)"
            );
            assert_eq!(error.to_string(), message);
        };
        check(8 << 20, "8 MiB");
        check(1_500_000, "1500000 bytes");
        check(0, "0 bytes");
    }

    #[test]
    fn the_question_mark_operator_turns_text_into_failures() {
        fn fails(owned: bool) -> Result<()> {
            if owned {
                Err(String::from("a"))?
            } else {
                Err("b")?
            }
        }
        assert_eq!(fails(true), Err(Error::Failed("a".into())));
        assert_eq!(fails(false), Err(Error::Failed("b".into())));
    }
}
