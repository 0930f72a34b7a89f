//! Failures of a connection, and the errors that a caller sees.

use std::io;

use fallible_iterator::FallibleIterator as _;
use larder_provider::Error;
use postgres_protocol::message::backend::ErrorFields;

/// The largest amount that the server may send as the answer to one statement, in bytes.
pub(crate) const MAX_BYTES: usize = 8 << 20;
/// Maximum number of characters that are shown of the server's error.
const MAX_MESSAGE: usize = 500;

/// Why a statement has no result.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Failure {
    /// The server refused the statement. The connection can be used again.
    Refused(Refusal),
    /// The answer is larger than [`MAX_BYTES`].
    TooLarge,
    /// The connection cannot be used again.
    Broken(String),
    /// The connection or the user was refused, or the server cannot be used.
    Login(Error),
}

/// An error of the server.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Refusal {
    /// Five characters, from an appendix of the PostgreSQL manual.
    pub(crate) code: String,
    message: String,
    /// Whether the server closes the connection.
    pub(crate) is_fatal: bool,
}

impl Refusal {
    pub(crate) fn read(mut fields: ErrorFields<'_>) -> io::Result<Self> {
        let mut refusal = Self::default();
        while let Some(field) = fields.next()? {
            let value = String::from_utf8_lossy(field.value_bytes());
            match field.type_() {
                b'V' | b'S' => refusal.is_fatal |= matches!(&*value, "FATAL" | "PANIC"),
                b'C' => refusal.code = value.chars().take(5).collect(),
                b'M' => {
                    refusal.message = value
                        .chars()
                        .take(MAX_MESSAGE)
                        .map(without_control)
                        .collect()
                }
                _ => {}
            }
        }
        Ok(refusal)
    }

    /// Whether the time limit of the statement was over.
    pub(crate) fn is_timeout(&self) -> bool {
        self.code == "57014"
    }

    /// Whether a value cannot be converted to the type of a column or parameter.
    pub(crate) fn is_about_value(&self) -> bool {
        self.code.starts_with("22")
    }
}

fn without_control(c: char) -> char {
    if c.is_control() { ' ' } else { c }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        let Refusal { code, message, .. } = &refusal;
        match code.as_str() {
            "57014" => Self::Unavailable(
                "the database took longer than the setting `statement_timeout`".into(),
            ),
            "28000" | "28P01" => {
                Self::Denied(format!("the database refuses the connection: {message}"))
            }
            "42501" => Self::Denied(format!(
                "the user of the database may not do this: {message}"
            )),
            "25006" => Self::failed("the query would change the database"),
            _ if refusal.is_about_value() => Self::Invalid(message.clone()),
            // Too many connections, a restart, a failed connection, a conflict with another transaction.
            _ if ["53", "57P", "08", "40"]
                .iter()
                .any(|class| code.starts_with(class)) =>
            {
                Self::Unavailable(format!("the database: {message}"))
            }
            _ => Self::Failed(format!("PostgreSQL: {message} ({code})")),
        }
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused(refusal) => refusal.into(),
            Failure::TooLarge => {
                Self::too_large("the result", MAX_BYTES as u64, "use a smaller `limit`")
            }
            Failure::Broken(why) => {
                Self::Unavailable(format!("the connection to the database failed: {why}"))
            }
            Failure::Login(error) => error,
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Broken(error.to_string())
    }
}
