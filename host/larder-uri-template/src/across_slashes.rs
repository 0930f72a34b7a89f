//! Matches a template so that the last variable of its path also matches slashes. By RFC 6570, `{path}` never matches
//! slashes. For a URI that no template matched, a provider can request this way of matching by naming the template.

use super::parse::{Operator, Part};
use super::{Captures, UriTemplate};

impl UriTemplate {
    /// Like [`UriTemplate::matches`], with the last `{x}` of the path treated as `{+x}`.
    pub fn matches_across_slashes(&self, uri: &str) -> Option<Captures> {
        let expressions = self.parts.iter().filter_map(|part| match part {
            Part::Expression(expression) => Some(expression),
            Part::Literal(_) => None,
        });
        let simple = expressions.enumerate().filter(|(_, expression)| {
            expression.operator == Operator::Simple && !expression.after_path
        });
        let (last, _) = simple.last()?;
        let (at, brace) = self.text.match_indices('{').nth(last)?;
        let (before, after) = self.text.split_at(at + brace.len());
        Self::parse(&format!("{before}+{after}")).ok()?.matches(uri)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(template: &str, uri: &str, expected: Option<&[(&str, &str)]>) {
        let captures = UriTemplate::parse(template)
            .unwrap()
            .matches_across_slashes(uri);
        let values = captures.as_ref().map(|captures| {
            captures
                .variables
                .iter()
                .map(|v| (v.name.as_str(), v.value.as_str()))
                .collect::<Vec<_>>()
        });
        assert_eq!(values.as_deref(), expected, "{template} {uri}");
    }

    #[test]
    fn the_last_variable_of_the_path_matches_slashes() {
        check(
            "file:///{path}",
            "file:///a/b/c%20d",
            Some(&[("path", "a/b/c d")]),
        );
        check(
            "git://{repo}/{path}",
            "git://r/a/b",
            Some(&[("repo", "r"), ("path", "a/b")]),
        );
        check("git://{repo}/{path}", "git://r", None);
        check(
            "x:/{path}/end{?q}",
            "x:/a/b/end?q=1",
            Some(&[("path", "a/b"), ("q", "1")]),
        );
        check(
            "x:/{path}?of={q}",
            "x:/a/b?of=1",
            Some(&[("path", "a/b"), ("q", "1")]),
        );
        check("x:/{path}", "x:/a/b,c", Some(&[("path", "a/b,c")]));
        check(
            "x:/{path*}",
            "x:/a/b,c",
            Some(&[("path", "a/b"), ("path", "c")]),
        );
        check(
            "x:/{path}{?q*}",
            "x:/a/b?c=1",
            Some(&[("path", "a/b"), ("q", "1")]),
        );
        check("x:/{path}", "y:/a/b", None);
        check("x:/{?q}", "x:/a/b", None);
    }

    #[test]
    fn detects_unsafe_values() {
        let template = UriTemplate::parse("file:///{path}").unwrap();
        for (uri, safe) in [
            ("file:///a/b", true),
            ("file:///a/../b", false),
            ("file:///a/%2e%2e/b", false),
            ("file:///a/b%2Fc", false),
            ("file:////etc/passwd", false),
            ("file:///a/b%00", false),
            ("file:///a,/../b", false),
        ] {
            let captures = template.matches_across_slashes(uri).unwrap();
            assert_eq!(captures.check_safety().is_ok(), safe, "{uri}");
        }
    }
}
