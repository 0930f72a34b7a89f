//! Greedy templates: their last variable also matches slashes. In RFC 6570, `{path}` never matches slashes.

use crate::{TemplateMatch, Variable};

/// The URI prefix that a greedy template claims: the text before its first variable.
pub(crate) fn claim(template: &str) -> &str {
    template.split('{').next().unwrap_or_default()
}

impl TemplateMatch {
    /// Matches a URI with a template whose last variable matches the rest of the path, including slashes. It
    /// is meant for implementations of [`match_uri`](crate::Provider::match_uri); otherwise
    /// [`Provider::greedy`](crate::Provider::greedy) is sufficient. Only simple expressions such as `{name}`
    /// are supported.
    ///
    /// ```
    /// # use larder_provider::{TemplateMatch, Variable};
    /// let found = TemplateMatch::greedy("file:///{path}", "file:///a/b%20c").unwrap();
    /// assert_eq!(found.variables, [Variable::new("path", "a/b c")]);
    /// assert_eq!(TemplateMatch::greedy("file:///{path}", "note:a"), None);
    /// ```
    pub fn greedy(template: &str, uri: &str) -> Option<Self> {
        let mut parts = template.split('{');
        let rest = uri.strip_prefix(parts.next()?)?;
        let variables: Vec<(&str, &str)> = parts
            .map(|part| part.split_once('}'))
            .collect::<Option<_>>()?;
        let mut variables = match_variables(&variables, rest)?;
        variables.reverse();
        Some(Self {
            uri_template: template.to_owned(),
            variables,
        })
    }
}

/// Matches variables, each given with the literal text that follows it. Returns the names and values in reverse order.
/// Every variable except the last one matches as much as possible, but no slash.
fn match_variables(variables: &[(&str, &str)], rest: &str) -> Option<Vec<Variable>> {
    let ((name, literal), others) = variables.split_first()?;
    let is_simple = name.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        && !name.contains([',', '*', ':']);
    let variable = |value: &str| {
        let is_valid = is_simple && !value.is_empty();
        is_valid.then(|| Some(Variable::new(*name, percent_decode(value)?)))?
    };
    if others.is_empty() {
        return Some(vec![variable(rest.strip_suffix(literal)?)?]);
    }
    let longest = rest.find('/').unwrap_or(rest.len());
    let ends = (1..=longest)
        .rev()
        .filter(|end| rest.is_char_boundary(*end));
    ends.filter_map(|end| Some((&rest[..end], rest[end..].strip_prefix(literal)?)))
        .find_map(|(value, rest)| {
            let mut found = match_variables(others, rest)?;
            found.push(variable(value)?);
            Some(found)
        })
}

/// Decodes percent-encoding once. Returns `None` if the result is not UTF-8.
fn percent_decode(value: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let Some((&first, remaining)) = rest.split_first() {
        let digits = remaining
            .get(..2)
            .filter(|_| first == b'%')
            .and_then(|two| str::from_utf8(two).ok());
        match digits.and_then(|two| u8::from_str_radix(two, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &remaining[2..];
            }
            None => {
                bytes.push(first);
                rest = remaining;
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
            let pair = |variable: &Variable| (variable.name.clone(), variable.value.clone());
            found.variables.iter().map(pair).collect::<Vec<_>>()
        });
        let values = values.as_ref().map(|values| {
            values
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str()))
                .collect::<Vec<_>>()
        });
        assert_eq!(values.as_deref(), expected, "{template} {uri}");
    }

    #[test]
    fn the_last_variable_matches_slashes() {
        check(
            "file:///{path}",
            "file:///a/b/c",
            Some(&[("path", "a/b/c")]),
        );
        check(
            "git://{repo}/{path}",
            "git://r/a/b",
            Some(&[("repo", "r"), ("path", "a/b")]),
        );
        check(
            "x:{a}-{b}.md",
            "x:1-2-3/4.md",
            Some(&[("a", "1-2"), ("b", "3/4")]),
        );
        check("file:///{path}", "file:///", None);
        check("file:///{path}", "file:///%ff", None);
        check("git://{repo}/{path}", "git://r", None);
        check("x:{a}/{+b}", "x:1/2", None);
        check("x:{a,b}", "x:1/2", None);
        check("x:y", "x:y", None);
    }

    #[test]
    fn claims_the_literal_prefix() {
        assert_eq!(claim("file:///docs/{path}"), "file:///docs/");
    }
}
