//! The fuzz target of this crate. It exists only in tests and with the feature `fuzzing`.

use fluent_uri::Uri;

use super::{Captures, UriTemplate};

/// Parses a template, matches a URI with the template, and expands the template with the values of the match. The input
/// is a template and a URI, each on a line of its own.
pub fn uri_template(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let (template, uri) = text.split_once('\n').unwrap_or((text, "x:"));
    let Ok(template) = UriTemplate::parse(template) else {
        return;
    };
    assert_eq!(
        UriTemplate::parse(template.as_str()).as_ref(),
        Ok(&template)
    );
    let _ = template.expand(&[]);
    if let Some(captures) = template.matches(uri).filter(|_| Uri::parse(uri).is_ok()) {
        check_captures(&template, uri, &captures);
    }
}

/// The values of a match expand to a URI that matches again. The operators `+` and `#` do not encode decoded values, so
/// their expansion can be another URI, or no URI.
fn check_captures(template: &UriTemplate, uri: &str, captures: &Captures) {
    let _ = captures.check_safety();
    assert!(uri.starts_with(template.literal_prefix()));
    for variable in &captures.variables {
        let is_known = template.variables().any(|name| name == variable.name);
        assert!(
            is_known,
            "{uri}: {} has no variable {}",
            template.as_str(),
            variable.name
        );
    }
    let expanded = template.expand(&captures.variables);
    if ["{+", "{#"]
        .iter()
        .any(|operator| template.as_str().contains(operator))
    {
        return;
    }
    assert!(
        Uri::parse(&*expanded).is_ok(),
        "{uri}: {} expands to {expanded}",
        template.as_str()
    );
    assert!(
        template.matches(&expanded).is_some(),
        "{uri}: {} expands to {expanded}",
        template.as_str()
    );
}

#[cfg(test)]
#[path = "../../../fuzz/replay.rs"]
mod replay;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replays_the_corpus_of_uri_template() {
        replay::replay("uri_template", uri_template);
    }
}
