//! The values of a match, and the check whether they are safe to use as parts of a path.

use percent_encoding::percent_decode_str;

use super::parse::Modifier;
use super::program::CaptureGroup;

/// The values with which a template expands to a URI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captures {
    /// Names and percent-decoded values, in the order of the template. A list has one pair per value.
    /// Variables that the URI does not contain are omitted.
    pub values: Vec<(String, String)>,
    safety: Result<(), UnsafeValue>,
}

/// A value that must not be passed to a guest, unless the guest accepts raw values.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the value of `{variable}` {reason}")]
pub struct UnsafeValue {
    /// The name of the variable.
    pub variable: String,
    /// Why the value is unsafe.
    pub reason: UnsafeReason,
}

/// Why a value is unsafe: it could lead a guest out of the folder that it reads from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UnsafeReason {
    /// The value contains a NUL character, which ends strings in C.
    #[error("has a NUL character")]
    Nul,
    /// The URI has `%2F` or `%5C` in the value.
    #[error("has an encoded `/` or `\\`")]
    EncodedSeparator,
    /// The value contains a backslash, the path separator on Windows.
    #[error("has a `\\`")]
    Backslash,
    /// The value is part of a `..` segment.
    #[error("has a `..` segment")]
    Parent,
    /// The value is an absolute path.
    #[error("is an absolute path")]
    Absolute,
    /// The value begins with a Windows drive letter.
    #[error("begins with a drive letter")]
    Drive,
}

/// The position in the URI of one value of a capture group.
#[derive(Debug, Clone, Copy)]
pub(super) struct CaptureSpan {
    pub(super) group: usize,
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Captures {
    /// Checks whether the values are safe for a guest that uses them as parts of a path.
    pub fn check_safety(&self) -> Result<(), UnsafeValue> {
        self.safety.clone()
    }

    /// Decodes the values at these positions. `None` if the values of a repeated variable differ.
    pub(super) fn from_spans(groups: &[CaptureGroup], spans: &[CaptureSpan], uri: &str) -> Option<Self> {
        if is_one_value_each(groups, spans) {
            let value = |span: &CaptureSpan| {
                decoded(span, uri).map(|value| (groups[span.group].name.to_string(), value))
            };
            let values = spans.iter().map(value).collect::<Option<_>>()?;
            return Some(Self { values, safety: check_values(groups, spans, uri) });
        }
        let mut read = vec![vec![]; groups.len()];
        for span in spans {
            read[span.group].push(decoded(span, uri)?);
        }
        let agree = |(group, values): (&CaptureGroup, &Vec<String>)| {
            is_consistent(group.modifier, values, &read[group.longest])
        };
        if !groups.iter().zip(&read).all(agree) {
            return None;
        }
        let values = groups.iter().filter(|group| group.is_first).flat_map(|group| {
            read[group.longest].iter().map(|value| (group.name.to_string(), value.clone()))
        });
        Some(Self { values: values.collect(), safety: check_values(groups, spans, uri) })
    }
}

fn decoded(span: &CaptureSpan, uri: &str) -> Option<String> {
    Some(percent_decode_str(&uri[span.start..span.end]).decode_utf8().ok()?.into_owned())
}

/// Whether there is exactly one complete value for each variable, in order. Then no values have to be
/// compared.
fn is_one_value_each(groups: &[CaptureGroup], spans: &[CaptureSpan]) -> bool {
    let mut groups_of_spans = spans.iter().map(|span| span.group).enumerate();
    groups.len() == spans.len()
        && groups_of_spans.all(|(n, group)| n == group)
        && groups.iter().all(|group| group.is_first && group.modifier == Modifier::None)
}

fn is_consistent(modifier: Modifier, values: &[String], whole: &[String]) -> bool {
    match (modifier, values, whole) {
        (Modifier::Explode, _, _) => values == whole,
        (_, [], _) => whole.is_empty(),
        (Modifier::None, [_], _) => values == whole,
        (Modifier::Prefix(most), [value], [whole]) => value.chars().eq(whole.chars().take(most)),
        (Modifier::None | Modifier::Prefix(_), _, _) => false,
    }
}

fn check_values(groups: &[CaptureGroup], spans: &[CaptureSpan], uri: &str) -> Result<(), UnsafeValue> {
    let nothing_is_encoded = !uri.as_bytes().contains(&b'%');
    for span in spans {
        let (group, raw) = (&groups[span.group], &uri[span.start..span.end]);
        if nothing_is_encoded && is_harmless(raw) {
            continue;
        }
        let value = percent_decode_str(raw).decode_utf8_lossy();
        let path = || {
            let parent = || is_in_parent_segment(uri, span).then_some(UnsafeReason::Parent);
            if group.may_be_path { unsafe_path_reason(raw, &value).or_else(parent) } else { None }
        };
        if let Some(reason) = value.contains('\0').then_some(UnsafeReason::Nul).or_else(path) {
            return Err(UnsafeValue { variable: group.name.to_string(), reason });
        }
    }
    Ok(())
}

/// Fast path: the value has none of the characters that the checks below look for. This is the usual case.
fn is_harmless(raw: &str) -> bool {
    !raw.is_empty() && !raw.bytes().any(|byte| matches!(byte, b'\0' | b'\\' | b'/' | b'.' | b':'))
}

/// Whether the value is part of a `..` segment that consists of several values, or of literal text and
/// values.
fn is_in_parent_segment(uri: &str, span: &CaptureSpan) -> bool {
    let start = uri[..span.start].rfind(['/', ':']).map_or(0, |i| i + 1);
    let end = uri[span.end..].find(['/', '?', '#']).map_or(uri.len(), |i| span.end + i);
    let segments = percent_decode_str(&uri[start..end]).decode_utf8_lossy();
    segments.split('/').any(|segment| segment == "..")
}

fn unsafe_path_reason(raw: &str, value: &str) -> Option<UnsafeReason> {
    let encoded =
        |triplet: &[u8]| triplet.eq_ignore_ascii_case(b"%2f") || triplet.eq_ignore_ascii_case(b"%5c");
    let drive = |value: &[u8]| matches!(value, [letter, b':'] | [letter, b':', b'/', ..] if letter.is_ascii_alphabetic());
    if raw.as_bytes().windows(3).any(encoded) {
        Some(UnsafeReason::EncodedSeparator)
    } else if value.contains('\\') {
        Some(UnsafeReason::Backslash)
    } else if value.split('/').any(|segment| segment == "..") {
        Some(UnsafeReason::Parent)
    } else if value.starts_with('/') {
        Some(UnsafeReason::Absolute)
    } else if drive(value.as_bytes()) {
        Some(UnsafeReason::Drive)
    } else {
        None
    }
}
