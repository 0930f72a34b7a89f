//! The level of a log line.

use tracing::Level;

use super::LOG_TARGET;

/// The level of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogLevel {
    Debug,
    Info,
    Warn,
    Error,
}

impl LogLevel {
    /// The name of the level.
    pub(super) fn label(self) -> &'static str {
        ["debug", "info", "warn", "error"][self as usize]
    }

    /// Whether the operator's filter lets lines of this level pass.
    pub(super) fn is_enabled(self) -> bool {
        match self {
            Self::Debug => tracing::enabled!(target: LOG_TARGET, Level::DEBUG),
            Self::Info => tracing::enabled!(target: LOG_TARGET, Level::INFO),
            Self::Warn => tracing::enabled!(target: LOG_TARGET, Level::WARN),
            Self::Error => tracing::enabled!(target: LOG_TARGET, Level::ERROR),
        }
    }
}
