//! Times in responses.

use std::time::SystemTime;

/// Formats a time as in all responses: RFC 3339 in UTC, with milliseconds.
pub(super) fn timestamp(at: SystemTime) -> String {
    humantime::format_rfc3339_millis(at).to_string()
}
