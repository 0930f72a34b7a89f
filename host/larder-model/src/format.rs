//! Formats of texts that clients parse. Each check is as strict as the strictest official client: if a client cannot
//! parse a text, it rejects the whole answer.

use crate::uri::Uri;

/// Maximum length of a media type in bytes.
const MAX_MEDIA_TYPE: usize = 255;
/// Maximum length of a metadata key in bytes.
const MAX_METADATA_KEY: usize = 200;
/// Maximum number of digits of a fraction of a second.
const MAX_FRACTION_DIGITS: usize = 9;
/// Maximum number of digits of the width of an icon, and of its height.
const MAX_ICON_SIZE_DIGITS: usize = 5;

/// Whether a text is a time by RFC 3339, such as `2026-01-31T08:00:00Z`. The letters are upper case, and there are no
/// leap seconds.
pub fn is_date_time(text: &str) -> bool {
    text.split_once('T')
        .is_some_and(|(date, time)| is_date(date) && is_time(time))
}

fn is_date(date: &str) -> bool {
    let Some([year, month, day]) = numbers(date, '-', [4, 2, 2]) else {
        return false;
    };
    year > 0 && (1..=12).contains(&month) && (1..=days_in(month, year)).contains(&day)
}

fn days_in(month: u16, year: u16) -> u16 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap_year(year) => 29,
        2 => 28,
        _ => 31,
    }
}

fn is_leap_year(year: u16) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

/// Checks the time of day and the offset from UTC.
fn is_time(text: &str) -> bool {
    let (time, offset) = match text.strip_suffix('Z') {
        Some(time) => (time, None),
        None => match text.rfind(['+', '-']) {
            Some(at) => (&text[..at], Some(&text[at + 1..])),
            None => return false,
        },
    };
    let (time, fraction) = time
        .split_once('.')
        .map_or((time, None), |(time, rest)| (time, Some(rest)));
    is_time_of_day(time)
        && fraction.is_none_or(|fraction| is_number(fraction, MAX_FRACTION_DIGITS))
        && offset.is_none_or(is_offset)
}

fn is_time_of_day(text: &str) -> bool {
    numbers(text, ':', [2, 2, 2])
        .is_some_and(|[hour, minute, second]| hour < 24 && minute < 60 && second < 60)
}

fn is_offset(text: &str) -> bool {
    numbers(text, ':', [2, 2]).is_some_and(|[hour, minute]| hour < 24 && minute < 60)
}

/// Returns the numbers of a text such as `2026-01-31`, if they have exactly these numbers of digits.
fn numbers<const N: usize>(text: &str, separator: char, digits: [usize; N]) -> Option<[u16; N]> {
    let mut parts = text.split(separator);
    let mut numbers = [0; N];
    for (number, digits) in numbers.iter_mut().zip(digits) {
        let part = parts
            .next()
            .filter(|part| part.len() == digits && is_number(part, digits))?;
        *number = part.parse().ok()?;
    }
    parts.next().is_none().then_some(numbers)
}

fn is_number(text: &str, max_digits: usize) -> bool {
    (1..=max_digits).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a text is a media type, such as `text/plain; charset=utf-8`. Of the parameters, only the characters are
/// checked.
pub fn is_media_type(text: &str) -> bool {
    let (name, parameters) = text.split_once(';').unwrap_or((text, ""));
    text.len() <= MAX_MEDIA_TYPE
        && name
            .trim_end_matches(' ')
            .split_once('/')
            .is_some_and(|(kind, subtype)| is_token(kind) && is_token(subtype))
        && parameters.chars().all(|c| c == ' ' || c.is_ascii_graphic())
}

fn is_token(text: &str) -> bool {
    let is_known = |c: char| c.is_ascii_alphanumeric() || "!#$&-^_.+".contains(c);
    !text.is_empty() && text.chars().all(is_known)
}

/// Whether a text is a URL of an icon that is safe to fetch or to decode: `https://` or `data:image/`.
pub fn is_icon_source(text: &str) -> bool {
    if text.starts_with("data:image/") {
        return text.contains(',') && text.bytes().all(is_uri_byte);
    }
    text.starts_with("https://") && Uri::parse(text).is_ok_and(|uri| uri.is_portable())
}

/// Whether a byte can be part of a URI. This is checked byte by byte, because a `data:` URL can be longer than the
/// longest URI that [`Uri`] accepts.
fn is_uri_byte(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b"\"<>\\^`{|}#".contains(&byte)
}

/// Whether a text is a size of an icon: `any`, or a width and a height such as `48x48`.
pub fn is_icon_size(text: &str) -> bool {
    text == "any"
        || text.split_once('x').is_some_and(|sides| {
            [sides.0, sides.1]
                .iter()
                .all(|side| is_number(side, MAX_ICON_SIZE_DIGITS))
        })
}

/// Whether a text is a metadata key that providers may use: `name` or `reverse.dns/name`. Providers must not use
/// prefixes that Larder or any version of the protocol reserves: otherwise a provider could forge metadata of the host.
pub fn is_metadata_key(key: &str) -> bool {
    let is_word = |text: &str, marks: &str| {
        text.starts_with(|c: char| c.is_ascii_alphanumeric())
            && text.ends_with(|c: char| c.is_ascii_alphanumeric())
            && text
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || marks.contains(c))
    };
    let is_label =
        |text: &str| text.starts_with(|c: char| c.is_ascii_alphabetic()) && is_word(text, "-");
    if key.len() > MAX_METADATA_KEY {
        return false;
    }
    match key.rsplit_once('/') {
        None => {
            is_word(key, "-_.")
                && !["progressToken", "traceparent", "tracestate", "baggage"].contains(&key)
        }
        Some((prefix, name)) => {
            is_word(name, "-_.") && prefix.split('.').all(is_label) && !is_reserved_prefix(prefix)
        }
    }
}

/// Whether a prefix of metadata keys is reserved. The protocol reserves prefixes whose second label is one of its own
/// labels. Its earlier versions also reserve prefixes with such a label at another place, except at the end.
fn is_reserved_prefix(prefix: &str) -> bool {
    let mut labels = prefix.split('.');
    let before_last = prefix.rsplit_once('.').map_or("", |(labels, _)| labels);
    labels.nth(1).is_some_and(is_label_of_protocol)
        || before_last.split('.').any(is_label_of_protocol)
        || prefix.eq_ignore_ascii_case("dev.larder")
}

fn is_label_of_protocol(label: &str) -> bool {
    ["modelcontextprotocol", "mcp"]
        .iter()
        .any(|own| label.eq_ignore_ascii_case(own))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(is_valid: fn(&str) -> bool, good: &[&str], bad: &[&str]) {
        for text in good {
            assert!(is_valid(text), "{text:?} is valid");
        }
        for text in bad {
            assert!(!is_valid(text), "{text:?} is not valid");
        }
    }

    #[test]
    fn checks_times() {
        check(
            is_date_time,
            &[
                "2026-01-02T03:04:05Z",
                "2024-02-29T23:59:59.123456789+05:30",
                "0001-01-01T00:00:00-00:00",
                "2000-02-29T00:00:00Z",
            ],
            &[
                "",
                "yesterday",
                "2026-01-02",
                "2026-01-02T03:04Z",
                "2026-01-02T03:04:05",
                "2026-01-02t03:04:05z",
                "2026-01-02 03:04:05Z",
                "2026-02-29T00:00:00Z",
                "1900-02-29T00:00:00Z",
                "2026-00-01T00:00:00Z",
                "2026-13-01T00:00:00Z",
                "2026-04-31T00:00:00Z",
                "2026-01-00T00:00:00Z",
                "0000-01-01T00:00:00Z",
                "2026-01-01T24:00:00Z",
                "2026-01-01T00:60:00Z",
                "2026-12-31T23:59:60Z",
                "2026-01-01T00:00:00.Z",
                "2026-01-01T00:00:00.1234567890Z",
                "2026-01-01T00:00:00+24:00",
                "2026-01-01T00:00:00+0100",
                "2026-01-01T00:00:00+01:00Z",
                "+2026-01-01T00:00:00Z",
                "2026-01-01T00:00:00Z ",
                "２０２６-01-01T00:00:00Z",
            ],
        );
    }

    #[test]
    fn checks_media_types() {
        check(
            is_media_type,
            &[
                "image/png",
                "image/svg+xml",
                "text/plain; charset=utf-8",
                "application/vnd.x-y.z",
            ],
            &[
                "",
                "png",
                "/png",
                "image/",
                "image/png\r\nX: 1",
                "a b/c",
                "image/ü",
                "a/b/c",
                "a/b;\n",
                "a/b\n",
            ],
        );
        assert!(!is_media_type(&format!(
            "image/{}",
            "x".repeat(MAX_MEDIA_TYPE)
        )));
    }

    #[test]
    fn checks_icons() {
        check(
            is_icon_source,
            &[
                "https://example.com/icon.png?a=b",
                "data:image/png;base64,AAAA",
                "data:image/svg+xml,%3Csvg/%3E",
            ],
            &[
                "",
                "http://example.com/icon.png",
                "javascript:alert(1)",
                "data:text/html,x",
                "data:image/png",
                "data:image/svg+xml,<svg/>",
                "data:image/png,a b",
                "https:example.com",
                "https://",
                "https://h:99999/",
                "https://exa%20mple/",
            ],
        );
        assert!(is_icon_source(&format!(
            "data:image/png;base64,{}",
            "A".repeat(60_000)
        )));
        check(
            is_icon_size,
            &["any", "48x48", "1x65535"],
            &["", "huge", "x", "48", "48x", "48X48", "-1x1", "100000x1"],
        );
    }

    #[test]
    fn checks_metadata_keys() {
        check(
            is_metadata_key,
            &[
                "name",
                "a.b",
                "com.example/x-y",
                "example/name",
                "com.example.mcp/x",
                "1",
            ],
            &[
                "",
                "-x",
                "a b",
                "_meta",
                "__proto__",
                "progressToken",
                "/x",
                "x/",
                "a\nb",
                "com..example/x",
                "1.example/x",
                "com.example-/x",
                "a/b/c",
                "io.modelcontextprotocol/x",
                "dev.mcp/x",
                "dev.MCP/x",
                "mcp.dev/x",
                "modelcontextprotocol.io/x",
                "com.example.mcp.tools/x",
                "dev.larder/version",
                "Dev.Larder/version",
            ],
        );
        assert!(!is_metadata_key(&"x".repeat(MAX_METADATA_KEY + 1)));
    }
}
