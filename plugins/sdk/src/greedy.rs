//! Templates whose last variable takes slashes, which RFC 6570 never lets `{path}` do.

use crate::TemplateMatch;

/// The URI prefix that such a template claims: what stands before its first variable.
pub(crate) fn claim(template: &str) -> &str {
    template.split('{').next().unwrap_or_default()
}

impl TemplateMatch {
    /// What a template makes of a URI if its last variable takes the rest of the path, slashes included. For an own
    /// [`match_uri`](crate::Provider::match_uri); where there is none,
    /// [`Provider::greedy`](crate::Provider::greedy) is enough. Its expressions are plain ones: `{name}`.
    ///
    /// ```
    /// # use larder_provider::TemplateMatch;
    /// let found = TemplateMatch::greedy("file:///{path}", "file:///a/b%20c").unwrap();
    /// assert_eq!(found.variables, [("path".to_owned(), "a/b c".to_owned())]);
    /// assert_eq!(TemplateMatch::greedy("file:///{path}", "note:a"), None);
    /// ```
    pub fn greedy(template: &str, uri: &str) -> Option<Self> {
        let mut pieces = template.split('{');
        let rest = uri.strip_prefix(pieces.next()?)?;
        let slots: Vec<(&str, &str)> = pieces.map(|piece| piece.split_once('}')).collect::<Option<_>>()?;
        let mut variables = fill(&slots, rest)?;
        variables.reverse();
        Some(Self { uri_template: template.to_owned(), variables })
    }
}

/// The values of these variables, each with the text behind it, the last one first. An earlier one takes as much
/// as it can, up to a slash.
fn fill(slots: &[(&str, &str)], rest: &str) -> Option<Vec<(String, String)>> {
    let ((name, behind), others) = slots.split_first()?;
    let plain = name.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    let named = |value: &str| {
        let fits = plain && !value.is_empty() && !name.contains([',', '*', ':']);
        fits.then(|| Some((name.to_string(), decoded(value)?)))?
    };
    if others.is_empty() {
        return Some(vec![named(rest.strip_suffix(behind)?)?]);
    }
    let most = rest.find('/').unwrap_or(rest.len());
    let ends = (1..=most).rev().filter(|end| rest.is_char_boundary(*end));
    ends.filter_map(|end| Some((&rest[..end], rest[end..].strip_prefix(behind)?))).find_map(
        |(value, rest)| {
            let mut variables = fill(others, rest)?;
            variables.push(named(value)?);
            Some(variables)
        },
    )
}

/// Percent-decoded, once.
fn decoded(value: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        let digits = behind.get(..2).filter(|_| first == b'%').and_then(|two| str::from_utf8(two).ok());
        match digits.and_then(|two| u8::from_str_radix(two, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &behind[2..];
            }
            None => {
                bytes.push(first);
                rest = behind;
            }
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(template: &str, uri: &str, expected: Option<&[(&str, &str)]>) {
        let found = TemplateMatch::greedy(template, uri);
        let values = found.as_ref().map(|found| {
            found.variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect::<Vec<_>>()
        });
        assert_eq!(values.as_deref(), expected, "{template} {uri}");
    }

    #[test]
    fn the_last_variable_takes_the_rest() {
        check("file:///{path}", "file:///a/b/c", Some(&[("path", "a/b/c")]));
        check("git://{repo}/{path}", "git://r/a/b", Some(&[("repo", "r"), ("path", "a/b")]));
        check("x:{a}-{b}.md", "x:1-2-3/4.md", Some(&[("a", "1-2"), ("b", "3/4")]));
        check("file:///{path}", "file:///", None);
        check("file:///{path}", "file:///%ff", None);
        check("git://{repo}/{path}", "git://r", None);
        check("x:{a}/{+b}", "x:1/2", None);
        check("x:{a,b}", "x:1/2", None);
        check("x:y", "x:y", None);
    }

    #[test]
    fn it_claims_what_is_written_out() {
        assert_eq!(claim("file:///docs/{path}"), "file:///docs/");
    }
}
