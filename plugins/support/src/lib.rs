//! Functions that several shipped providers need: the granted folders, media types by name and content, names in URIs,
//! ranked search, and times.

pub mod disk;
pub mod mime;
pub mod ranking;
pub mod uri;

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher as _};
use std::time::{Duration, UNIX_EPOCH};

/// Formats a time since 1970 by RFC 3339. Returns `None` for times after the year 9999, which RFC 3339 cannot express
/// but a file may have, and for zero, which means that the time is unknown.
pub fn rfc3339(since_1970: Duration) -> Option<String> {
    const YEAR_10000: Duration = Duration::from_secs(253_402_300_800);
    let is_valid = !since_1970.is_zero() && since_1970 < YEAR_10000;
    is_valid.then(|| humantime::format_rfc3339_seconds(UNIX_EPOCH + since_1970).to_string())
}

/// A short text that differs if the value differs, as a version. It may change with a new version of the provider.
pub fn digest(value: &impl Hash) -> String {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_times_within_the_range_of_rfc_3339() {
        let check = |seconds: u64, expected: Option<&str>| {
            assert_eq!(
                rfc3339(Duration::from_secs(seconds)).as_deref(),
                expected,
                "{seconds}"
            );
        };
        check(0, None);
        check(1_709_210_096, Some("2024-02-29T12:34:56Z"));
        check(253_402_300_799, Some("9999-12-31T23:59:59Z"));
        check(253_402_300_800, None);
        check(u64::MAX, None);
    }
}
