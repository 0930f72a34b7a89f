//! Checks whether the values of a match are safe to use as parts of a path.

use std::ops::Range;

use percent_encoding::percent_decode_str;

use super::capture_span::CaptureSpan;
use super::program::CaptureGroup;

/// A value that must not be passed to a guest, unless the guest accepts raw values.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the value of `{variable}` {reason}")]
pub struct UnsafeValue {
    /// The name of the variable.
    pub variable: String,
    /// Why the value is unsafe.
    pub reason: UnsafeReason,
}

/// Why a value is unsafe: it could lead a guest out of the folder from which the guest reads.
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

/// Checks the values and the keys of maps. The items of a list are checked one by one.
pub(super) fn check_values(
    groups: &[CaptureGroup],
    spans: &[CaptureSpan],
    uri: &str,
) -> Result<(), UnsafeValue> {
    let nothing_is_encoded = !uri.as_bytes().contains(&b'%');
    let mut segments = Segments {
        uri,
        last: 0..0,
        is_parent: false,
    };
    for span in spans {
        let group = &groups[span.group];
        if nothing_is_encoded && is_harmless(&uri[span.start..span.end]) {
            continue;
        }
        for (start, end) in span.items(group, uri) {
            if let Some(reason) = unsafe_reason(group, &mut segments, start..end) {
                return Err(UnsafeValue {
                    variable: group.name.to_string(),
                    reason,
                });
            }
        }
    }
    Ok(())
}

/// Fast path for the usual case: the value has none of the characters that the checks below search for.
fn is_harmless(raw: &str) -> bool {
    !raw.is_empty()
        && !raw
            .bytes()
            .any(|byte| matches!(byte, b'\0' | b'\\' | b'/' | b'.' | b':'))
}

fn unsafe_reason(
    group: &CaptureGroup,
    segments: &mut Segments,
    item: Range<usize>,
) -> Option<UnsafeReason> {
    let raw = &segments.uri[item.clone()];
    let value = percent_decode_str(raw).decode_utf8_lossy();
    if value.contains('\0') {
        return Some(UnsafeReason::Nul);
    }
    if !group.may_be_path {
        return None;
    }
    unsafe_path_reason(raw, &value)
        .or_else(|| segments.has_parent(item).then_some(UnsafeReason::Parent))
}

/// Finds `..` segments that consist of several values, or of literal text and values.
struct Segments<'a> {
    uri: &'a str,
    /// The text that was checked last, and whether it contains a `..` segment.
    last: Range<usize>,
    is_parent: bool,
}

impl Segments<'_> {
    /// Whether the item is part of a `..` segment. The delimiters of lists and maps also end segments.
    fn has_parent(&mut self, item: Range<usize>) -> bool {
        let Range { start, end } = item;
        // A text with many values must not be read for each value.
        if start < self.last.start || end > self.last.end || self.last.is_empty() {
            let start = self.uri[..start]
                .rfind(['/', ':', ',', ';', '='])
                .map_or(0, |i| i + 1);
            let end = self.uri[end..]
                .find(['/', '?', '#', ',', ';', '='])
                .map_or(self.uri.len(), |i| end + i);
            let text = percent_decode_str(&self.uri[start..end]).decode_utf8_lossy();
            self.is_parent = has_parent_segment(&text);
            self.last = start..end;
        }
        self.is_parent
    }
}

fn unsafe_path_reason(raw: &str, value: &str) -> Option<UnsafeReason> {
    if raw.as_bytes().windows(3).any(is_encoded_separator) {
        Some(UnsafeReason::EncodedSeparator)
    } else if value.contains('\\') {
        Some(UnsafeReason::Backslash)
    } else if has_parent_segment(value) {
        Some(UnsafeReason::Parent)
    } else if value.starts_with('/') {
        Some(UnsafeReason::Absolute)
    } else if begins_with_drive(value.as_bytes()) {
        Some(UnsafeReason::Drive)
    } else {
        None
    }
}

fn is_encoded_separator(triplet: &[u8]) -> bool {
    triplet.eq_ignore_ascii_case(b"%2f") || triplet.eq_ignore_ascii_case(b"%5c")
}

fn has_parent_segment(path: &str) -> bool {
    path.split('/').any(|segment| segment == "..")
}

fn begins_with_drive(value: &[u8]) -> bool {
    matches!(value, [letter, b':'] | [letter, b':', b'/', ..] if letter.is_ascii_alphabetic())
}
