//! A template whose last variable of the path takes slashes too. RFC 6570 never lets `{path}` do so; a provider that
//! wants it says of a URI which nothing matched that it belongs to the template nevertheless.

use super::parse::{Operator, Part};
use super::{Captures, Pattern};

impl Pattern {
    /// The values with which this template gives the URI where the last `{x}` of its path is read as `{+x}`.
    pub fn matches_stretched(&self, uri: &str) -> Option<Captures> {
        let expressions = self.parts.iter().filter_map(|part| match part {
            Part::Expression(expression) => Some(expression),
            Part::Literal(_) => None,
        });
        let simple = expressions
            .enumerate()
            .filter(|(_, expression)| expression.operator == Operator::Simple && !expression.behind_path);
        let (last, _) = simple.last()?;
        let (at, brace) = self.text.match_indices('{').nth(last)?;
        let (before, behind) = self.text.split_at(at + brace.len());
        Self::parse(&format!("{before}+{behind}")).ok()?.matches(uri)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(template: &str, uri: &str, expected: Option<&[(&str, &str)]>) {
        let captures = Pattern::parse(template).unwrap().matches_stretched(uri);
        let values = captures.as_ref().map(|captures| {
            captures.values.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect::<Vec<_>>()
        });
        assert_eq!(values.as_deref(), expected, "{template} {uri}");
    }

    #[test]
    fn the_last_variable_of_the_path_takes_slashes() {
        check("file:///{path}", "file:///a/b/c%20d", Some(&[("path", "a/b/c d")]));
        check("git://{repo}/{path}", "git://r/a/b", Some(&[("repo", "r"), ("path", "a/b")]));
        check("git://{repo}/{path}", "git://r", None);
        check("x:/{path}/end{?q}", "x:/a/b/end?q=1", Some(&[("path", "a/b"), ("q", "1")]));
        check("x:/{path}?of={q}", "x:/a/b?of=1", Some(&[("path", "a/b"), ("q", "1")]));
        check("x:/{path}", "y:/a/b", None);
        check("x:/{?q}", "x:/a/b", None);
    }

    #[test]
    fn what_it_takes_is_screened() {
        let pattern = Pattern::parse("file:///{path}").unwrap();
        for (uri, safe) in [
            ("file:///a/b", true),
            ("file:///a/../b", false),
            ("file:///a/%2e%2e/b", false),
            ("file:///a/b%2Fc", false),
            ("file:////etc/passwd", false),
            ("file:///a/b%00", false),
        ] {
            let captures = pattern.matches_stretched(uri).unwrap();
            assert_eq!(captures.screen().is_ok(), safe, "{uri}");
        }
    }
}
