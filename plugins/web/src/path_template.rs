//! Paths with variables: `orders/{id}/files/{+path}`.

use std::borrow::Cow;

use larder_provider::{Error, Result};

use crate::encoding::{encode_value, is_safe, segment};

/// A path below a base URL. `{name}` is one segment or a part of one, and `{+name}` is several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathTemplate(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Literal(String),
    Segment(String),
    Path(String),
}

impl PathTemplate {
    /// Parses a template. A slash at its beginning is ignored.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut pieces = text.trim_start_matches('/').split('{');
        parts.push(Part::literal(pieces.next().unwrap_or_default())?);
        for piece in pieces {
            let (name, literal) = piece.split_once('}').ok_or("a `{` has no `}`")?;
            parts.push(Part::variable(name)?);
            parts.push(Part::literal(literal)?);
        }
        parts.retain(|part| *part != Part::Literal(String::new()));
        let template = Self(parts);
        match template.expand(|_| Ok("x".into())) {
            Ok(_) => Ok(template),
            Err(_) => Err(format!("`{text}` leads out of the path")),
        }
    }

    /// The names of the variables.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|part| match part {
            Part::Literal(_) => None,
            Part::Segment(name) | Part::Path(name) => Some(name.as_str()),
        })
    }

    /// The encoded path with these values. No value can add a segment to the path, except the value of a variable
    /// `{+name}`. No value can lead out of the path.
    pub fn expand<'a>(&self, value: impl Fn(&str) -> Result<Cow<'a, str>>) -> Result<String> {
        let mut path = String::new();
        for part in &self.0 {
            match part {
                Part::Literal(text) => path.push_str(text),
                Part::Segment(name) => path.push_str(&segment(name, &value(name)?)?),
                Part::Path(name) => {
                    let value = value(name)?;
                    let segments = value.split('/').map(|one| segment(name, one));
                    path.push_str(&segments.collect::<Result<Vec<_>>>()?.join("/"));
                }
            }
        }
        // Two values can be a segment `..` only together.
        match is_safe(&path) {
            true => Ok(path),
            false => Err(Error::invalid("the values lead out of the path")),
        }
    }
}

impl Part {
    /// Keeps characters that may be in a path, and percent-encoded characters. Encodes all other characters.
    fn literal(text: &str) -> Result<Self, String> {
        if text.contains(['?', '#', '}', '\\']) || text.contains("//") {
            return Err(format!("`{text}` is not a part of a path"));
        }
        let keep = |c: char| c.is_ascii_alphanumeric() || "-._~!$&'()*+,;=:@/%".contains(c);
        let encoded = text.chars().map(|c| match keep(c) {
            true => c.to_string(),
            false => encode_value(c.encode_utf8(&mut [0; 4])),
        });
        Ok(Self::Literal(encoded.collect()))
    }

    fn variable(name: &str) -> Result<Self, String> {
        let (name, make): (&str, fn(String) -> Self) = match name.strip_prefix('+') {
            Some(name) => (name, Self::Path),
            None => (name, Self::Segment),
        };
        if name.is_empty() || name.contains(['{', '/', '?', ',', '*', '#']) {
            return Err(format!(
                "`{{{name}}}` is not a variable: write `{{name}}` or `{{+name}}`"
            ));
        }
        Ok(make(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expand(template: &str, values: &[(&str, &str)]) -> Result<String, String> {
        let value = |name: &str| {
            let found = values.iter().find(|(key, _)| *key == name);
            found
                .map(|(_, value)| Cow::Owned((*value).to_owned()))
                .ok_or(Error::NotFound)
        };
        PathTemplate::parse(template)?
            .expand(value)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn values_stay_in_their_place() {
        let check = |template: &str, values: &[(&str, &str)], expected: &str| {
            assert_eq!(
                expand(template, values).as_deref(),
                Ok(expected),
                "{template} {values:?}"
            );
        };
        check("/orders/{id}", &[("id", "a/b?c")], "orders/a%2Fb%3Fc");
        check(
            "files/{+path}/raw",
            &[("path", "a b/c")],
            "files/a%20b/c/raw",
        );
        check(
            "x/{a}-{b}.json",
            &[("a", "1"), ("b", "é")],
            "x/1-%C3%A9.json",
        );
        check("a b/", &[], "a%20b/");
        check("", &[], "");
        for (template, values) in [
            ("orders/{id}", [("id", "..")].as_slice()),
            ("orders/{id}", &[("id", "")]),
            ("orders/{id}", &[("id", "../admin")]),
            ("orders/{id}", &[("id", "a\r\nHost: evil")]),
            ("files/{+path}", &[("path", "a/../../b")]),
            ("files/{+path}", &[("path", "a//b")]),
            ("files/{+path}", &[("path", "/etc")]),
            ("files/{+path}", &[("path", "%2e%2e/b")]),
            ("x/{a}{b}/y", &[("a", "."), ("b", ".")]),
            ("x/.{a}/y", &[("a", ".")]),
        ] {
            let actual = expand(template, values).unwrap_err();
            assert!(
                actual.starts_with("invalid"),
                "{template} {values:?}: {actual}"
            );
        }
    }

    #[test]
    fn rejects_what_is_not_a_path() {
        for template in [
            "a?b={c}", "a#b", "a/../b", "a//b", "a/{", "a/{}", "a/{b,c}", "a/{?b}", "a}",
            "%2e%2e/a",
        ] {
            assert!(PathTemplate::parse(template).is_err(), "{template}");
        }
    }
}
