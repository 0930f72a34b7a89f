//! Lists of patterns with the rules of `.gitignore`, from a setting or from a file.

use gix_glob::pattern::Case;
use gix_glob::wildmatch::Mode;

/// A list of patterns. The last one that matches decides.
#[derive(Debug, Default)]
pub(crate) struct Patterns(Vec<gix_glob::Pattern>);

impl Patterns {
    /// The patterns of a setting.
    pub(crate) fn from_setting(items: &[String]) -> Self {
        Self::from_file(items.join("\n").as_bytes())
    }

    /// The patterns of a file.
    pub(crate) fn from_file(content: &[u8]) -> Self {
        Self(
            gix_ignore::parse(content, false)
                .map(|(pattern, _, _)| pattern)
                .collect(),
        )
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a path matches. `None` if no pattern applies to the path. False if the deciding pattern begins with an
    /// exclamation mark.
    pub(crate) fn matches(&self, path: &[String], is_folder: bool) -> Option<bool> {
        if self.is_empty() {
            return None;
        }
        let path = path.join("/");
        let name = path.rfind('/').map(|slash| slash + 1);
        let matches = |pattern: &&gix_glob::Pattern| {
            let (case, mode) = (Case::Sensitive, Mode::NO_MATCH_SLASH_LITERAL);
            pattern.matches_repo_relative_path(
                path.as_str().into(),
                name,
                Some(is_folder),
                case,
                mode,
            )
        };
        self.0
            .iter()
            .rev()
            .find(matches)
            .map(|pattern| !pattern.is_negative())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(patterns: &[&str], path: &str, expected: Option<bool>) {
        let patterns = Patterns::from_setting(
            &patterns
                .iter()
                .map(|item| item.to_string())
                .collect::<Vec<_>>(),
        );
        let names: Vec<String> = path
            .trim_end_matches('/')
            .split('/')
            .map(str::to_owned)
            .collect();
        assert_eq!(
            patterns.matches(&names, path.ends_with('/')),
            expected,
            "{patterns:?} {path}"
        );
    }

    #[test]
    fn patterns_have_the_rules_of_gitignore() {
        check(&["*.tmp"], "a/b/x.tmp", Some(true));
        check(&["*.tmp"], "a/b/x.txt", None);
        check(&["/build/"], "build/", Some(true));
        check(&["/build/"], "build", None);
        check(&["/build/"], "a/build/", None);
        check(&["a/*.md"], "a/b/x.md", None);
        check(&["a/**/*.md"], "a/b/c/x.md", Some(true));
        check(&["*.md", "!keep.md"], "keep.md", Some(false));
        check(&["# comment", "\\#file"], "#file", Some(true));
        check(&["[ab]?"], "b1", Some(true));
    }

    #[test]
    fn a_malicious_pattern_takes_little_time() {
        let pattern = "*a".repeat(40) + "b";
        check(&[&pattern], &"a".repeat(200), None);
    }
}
