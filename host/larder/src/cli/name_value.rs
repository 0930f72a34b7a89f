//! `NAME=VALUE` on the command line.

/// Parses a name and a value, which may be empty.
pub(super) fn parse(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.into(), value.into())),
        _ => Err("write NAME=VALUE".into()),
    }
}
