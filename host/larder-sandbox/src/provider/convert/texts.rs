//! Converts texts. A text for people that is too long is cut; a text for programs that is too long or invalid is
//! omitted.

use super::names::quoted;
use super::too_large;
use crate::provider::omissions::Omissions;
use larder_model::format::{is_date_time, is_media_type};
use larder_model::uri::Uri;

/// Maximum size of a name or a title in bytes.
const MAX_LABEL: usize = 1 << 10;
/// Maximum size of a description or a summary in bytes.
const MAX_DESCRIPTION: usize = 16 << 10;
/// Maximum size of a version in bytes. Clients send the version back, and it is compared with other versions.
const MAX_VERSION: usize = 1 << 10;

/// Converts a name or a title.
pub(super) fn label(text: String, what: &str, omissions: &mut Omissions<'_>) -> String {
    cut(text, MAX_LABEL, what, omissions)
}

/// Converts the name of an entry or a template. Clients show the name, so an empty name is replaced by the URI or the
/// template.
pub(super) fn name(text: String, identifier: &str, omissions: &mut Omissions<'_>) -> String {
    if !text.trim().is_empty() {
        return label(text, "a name", omissions);
    }
    omissions.add(format!(
        "an empty name became {}",
        quoted(identifier, omissions)
    ));
    label(identifier.to_owned(), "a name", omissions)
}

pub(super) fn title(text: Option<String>, omissions: &mut Omissions<'_>) -> Option<String> {
    text.map(|text| label(text, "a title", omissions))
}

pub(super) fn description(text: Option<String>, omissions: &mut Omissions<'_>) -> Option<String> {
    text.map(|text| cut(text, MAX_DESCRIPTION, "a description", omissions))
}

/// Cuts a text for people that is too long.
pub(super) fn cut(
    mut text: String,
    max: usize,
    what: &str,
    omissions: &mut Omissions<'_>,
) -> String {
    if text.len() > max {
        omissions.add(too_large(&format!("the end of {what}"), max));
        text.truncate(text.floor_char_boundary(max));
    }
    text
}

/// Converts a version of an entry, a reading or a provider.
pub(super) fn version(text: Option<String>, omissions: &mut Omissions<'_>) -> Option<String> {
    valid(
        text,
        |text| text.len() <= MAX_VERSION,
        "a version of more than 1 KiB",
        omissions,
    )
}

pub(super) fn media_type(text: Option<String>, omissions: &mut Omissions<'_>) -> Option<String> {
    let text = text?;
    if is_media_type(&text) {
        return Some(text);
    }
    omissions.add(format!(
        "an invalid media type {}: write `type/subtype`",
        quoted(&text, omissions)
    ));
    None
}

pub(super) fn last_modified(text: Option<String>, omissions: &mut Omissions<'_>) -> Option<String> {
    valid(
        text,
        is_date_time,
        "a `last-modified` that is not a time by RFC 3339",
        omissions,
    )
}

/// Omits a text that is not valid.
pub(super) fn valid(
    text: Option<String>,
    is_valid: impl FnOnce(&str) -> bool,
    reason: &'static str,
    omissions: &mut Omissions<'_>,
) -> Option<String> {
    let text = text?;
    if is_valid(&text) {
        return Some(text);
    }
    omissions.add(reason);
    None
}

/// Parses a URI that clients will receive, or returns why some clients would not accept it.
pub(super) fn uri(text: &str, omissions: &Omissions<'_>) -> Result<Uri, String> {
    let uri = omissions.uri(text).map_err(|error| error.to_string())?;
    if uri.is_portable() {
        Ok(uri)
    } else {
        Err(format!(
            "some clients reject the URI {}",
            quoted(text, omissions)
        ))
    }
}

/// Parses the URI of an entry.
pub(super) fn entry_uri(text: &str, omissions: &Omissions<'_>) -> Result<Uri, String> {
    let uri = uri(text, omissions)?;
    if uri.has_fragment() {
        Err(format!(
            "the URI {} has a fragment",
            quoted(text, omissions)
        ))
    } else {
        Ok(uri)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: std::fmt::Debug>(convert: impl FnOnce(&mut Omissions<'_>) -> T, expected: &str) {
        let mut omissions = Omissions::default();
        let converted = convert(&mut omissions);
        assert_eq!(
            format!("{converted:?} {}", omissions.summary().join(", ")),
            expected
        );
    }

    #[test]
    fn cuts_texts_for_people() {
        check(
            |it| label("ü".repeat(513), "a name", it).len(),
            "1024 the end of a name of more than 1 KiB",
        );
        check(|it| label("a".repeat(1_024), "a name", it).len(), "1024 ");
        check(
            |it| title(Some(format!("a{}", "ü".repeat(512))), it).map(|title| title.len()),
            "Some(1023) the end of a title of more than 1 KiB",
        );
        check(
            |it| description(Some("x".repeat(20_000)), it).map(|text| text.len()),
            "Some(16384) the end of a description of more than 16 KiB",
        );
    }

    #[test]
    fn an_empty_name_becomes_the_uri() {
        check(|it| name("a".into(), "x:y", it), "\"a\" ");
        check(
            |it| name(" ".into(), "x:y", it),
            "\"x:y\" an empty name became \"x:y\"",
        );
    }

    #[test]
    fn omits_invalid_texts_for_programs() {
        let some = |text: &str| Some(text.to_owned());
        check(
            |it| media_type(some("text/plain"), it),
            "Some(\"text/plain\") ",
        );
        check(
            |it| media_type(some("text"), it),
            "None an invalid media type \"text\": write `type/subtype`",
        );
        check(
            |it| last_modified(some("yesterday"), it),
            "None a `last-modified` that is not a time by RFC 3339",
        );
        check(
            |it| version(Some("1".repeat(1_025)), it),
            "None a version of more than 1 KiB",
        );
        check(|it| version(some("1"), it), "Some(\"1\") ");
    }

    #[test]
    fn rejects_uris_that_some_clients_reject() {
        check(|it| entry_uri("x://h:1/?a", it).is_ok(), "true ");
        check(
            |it| entry_uri("x://h:99999/", it),
            "Err(\"some clients reject the URI \\\"x://h:99999/\\\"\") ",
        );
        check(
            |it| entry_uri("x:y#z", it),
            "Err(\"the URI \\\"x:y#z\\\" has a fragment\") ",
        );
        check(|it| uri("x:y#z", it).is_ok(), "true ");
    }
}
