//! Parses sizes and durations in the form of the host's configuration.

use std::time::Duration;

/// A number of bytes: `64MiB`, `512 KiB`, `1GB`, `100B`, or a plain number.
pub(super) fn parse_size(text: &str) -> Result<u64, String> {
    let size = || {
        let (number, unit) = split_number(text.trim())?;
        let factor: u64 = match unit.trim_start() {
            "" | "B" => 1,
            "kB" | "KB" => 1_000,
            "MB" => 1_000_000,
            "GB" => 1_000_000_000,
            "KiB" => 1 << 10,
            "MiB" => 1 << 20,
            "GiB" => 1 << 30,
            _ => return None,
        };
        number.checked_mul(factor)
    };
    size().ok_or_else(|| format!("`{text}` is not a size such as \"64MiB\", \"512KiB\" or \"1GB\""))
}

/// A duration: `10s`, `250ms`, `1m 30s`, `0`.
pub(super) fn parse_duration(text: &str) -> Result<Duration, String> {
    let duration = || {
        let mut rest = text.trim();
        if rest == "0" {
            return Some(Duration::ZERO);
        }
        let mut total = Duration::ZERO;
        while !rest.is_empty() || total.is_zero() {
            let (number, after) = split_number(rest)?;
            let unit = after
                .trim_start()
                .split(|c: char| !c.is_ascii_alphabetic())
                .next()?;
            let part = Duration::from_nanos(nanoseconds(unit)?)
                .checked_mul(u32::try_from(number).ok()?)?;
            total = total.checked_add(part)?;
            rest = after.trim_start()[unit.len()..].trim_start();
            if rest.is_empty() {
                break;
            }
        }
        Some(total)
    };
    duration().ok_or_else(|| {
        format!("`{text}` is not a duration such as \"10s\", \"250ms\" or \"1m 30s\"")
    })
}

/// Splits a number from the text after it.
fn split_number(text: &str) -> Option<(u64, &str)> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, rest) = text.split_at(digits);
    Some((number.parse().ok()?, rest))
}

fn nanoseconds(unit: &str) -> Option<u64> {
    const SECOND: u64 = 1_000_000_000;
    Some(match unit {
        "ns" | "nsec" | "nanos" => 1,
        "us" | "usec" => 1_000,
        "ms" | "msec" | "millis" => 1_000_000,
        "s" | "sec" | "secs" | "second" | "seconds" => SECOND,
        "m" | "min" | "mins" | "minute" | "minutes" => 60 * SECOND,
        "h" | "hr" | "hrs" | "hour" | "hours" => 3600 * SECOND,
        "d" | "day" | "days" => 86_400 * SECOND,
        "w" | "week" | "weeks" => 7 * 86_400 * SECOND,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_sizes() {
        let check = |text, expected| assert_eq!(parse_size(text).ok(), expected, "{text}");
        check("64MiB", Some(64 << 20));
        check("512 KiB", Some(512 << 10));
        check(" 1GB ", Some(1_000_000_000));
        check("100", Some(100));
        for wrong in ["", "MiB", "1.5MiB", "1 TiB", "-1", "99999999999GiB"] {
            check(wrong, None);
        }
    }

    #[test]
    fn parses_durations() {
        let check = |text, expected: Option<u64>| {
            assert_eq!(
                parse_duration(text).ok(),
                expected.map(Duration::from_millis),
                "{text}"
            );
        };
        check("10s", Some(10_000));
        check("250 ms", Some(250));
        check("1m 30s", Some(90_000));
        check("1h2m", Some(3_720_000));
        check("0", Some(0));
        check("0s", Some(0));
        for wrong in ["", "s", "10", "1.5s", "1 year ago", "-1s", "1m 30"] {
            check(wrong, None);
        }
    }
}
