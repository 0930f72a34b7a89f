//! The front matter of a `SKILL.md`: YAML between two lines of three hyphens.

use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::yaml::{self, YamlError};

/// Maximum size in bytes of the YAML.
const MAX_BYTES: usize = 64 << 10;
/// Maximum length of a name in characters, from the specification of skills. Its limit for descriptions is not enforced,
/// because well-known skills exceed it.
const MAX_NAME: usize = 64;

/// What the front matter of a skill says.
#[derive(Debug, Clone)]
pub struct FrontMatter {
    /// The name of the skill.
    pub name: String,
    /// When to use the skill.
    pub description: String,
    /// The whole front matter as a JSON object.
    pub json: Box<RawValue>,
}

/// Why a text has no front matter of a skill.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrontMatterError {
    /// The text does not begin with front matter.
    #[error("it does not begin with front matter between two lines `---`")]
    Missing,
    /// The front matter is too large.
    #[error("its front matter is larger than {} KiB", MAX_BYTES >> 10)]
    TooLarge,
    /// The front matter is not plain YAML.
    #[error("its front matter cannot be read: {0}")]
    Yaml(#[from] YamlError),
    /// The front matter is not a mapping.
    #[error("its front matter has no keys")]
    NoMapping,
    /// A required key is missing or is not a text.
    #[error("its front matter has no text `{0}`")]
    NoText(&'static str),
    /// The name does not follow the rules for names.
    #[error(
        "its name `{0}` is invalid: use at most {MAX_NAME} lower-case letters, digits and single hyphens between them"
    )]
    Name(String),
}

impl FrontMatter {
    /// Reads the front matter of a `SKILL.md`.
    pub fn of(skill_md: &str) -> Result<Self, FrontMatterError> {
        let value = yaml::parse(block(skill_md)?)?;
        if !value.is_object() {
            return Err(FrontMatterError::NoMapping);
        }
        let name = text(&value, "name")?.to_owned();
        let description = text(&value, "description")?.to_owned();
        if !is_name(&name) {
            return Err(FrontMatterError::Name(name.chars().take(100).collect()));
        }
        let json = to_raw_value(&value).map_err(|_| FrontMatterError::NoMapping)?;
        Ok(Self {
            name,
            description,
            json,
        })
    }
}

/// Returns the YAML between the two lines of hyphens.
fn block(skill_md: &str) -> Result<&str, FrontMatterError> {
    let text = skill_md.strip_prefix('\u{feff}').unwrap_or(skill_md);
    let rest = text
        .strip_prefix("---\n")
        .or_else(|| text.strip_prefix("---\r\n"))
        .ok_or(FrontMatterError::Missing)?;
    let mut end = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end_matches([' ', '\t', '\r', '\n']) == "---" {
            return Ok(&rest[..end]);
        }
        end += line.len();
        if end > MAX_BYTES {
            return Err(FrontMatterError::TooLarge);
        }
    }
    Err(FrontMatterError::Missing)
}

fn text<'v>(value: &'v Value, key: &'static str) -> Result<&'v str, FrontMatterError> {
    let text = value.get(key).and_then(Value::as_str);
    text.filter(|text| !text.trim().is_empty())
        .ok_or(FrontMatterError::NoText(key))
}

fn is_name(name: &str) -> bool {
    let is_word = |word: &str| {
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        !word.is_empty() && word.bytes().all(is_plain)
    };
    name.len() <= MAX_NAME && name.split('-').all(is_word)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(skill_md: &str, expected: Expect) {
        let shown = match FrontMatter::of(skill_md) {
            Ok(found) => format!("{}: {} {}", found.name, found.description, found.json),
            Err(error) => format!("error: {error}"),
        };
        expected.assert_eq(&shown);
    }

    #[test]
    fn reads_every_field() {
        check(
            "---\nname: pdf\ndescription: Fills forms\nmetadata: {version: 1.0, tags: [a]}\n---\n# PDF",
            expect![[
                r#"pdf: Fills forms {"description":"Fills forms","metadata":{"tags":["a"],"version":1.0},"name":"pdf"}"#
            ]],
        );
        check(
            "\u{feff}---\r\nname: a-1\r\ndescription: \"b\"\r\n--- \t\r\n",
            expect![[r#"a-1: b {"description":"b","name":"a-1"}"#]],
        );
        check(
            "---\nname: a\ndescription: b\n---",
            expect![[r#"a: b {"description":"b","name":"a"}"#]],
        );
    }

    #[test]
    fn says_what_is_wrong() {
        for text in [
            "",
            "# PDF",
            "\n---\nname: a\n---\n",
            "---\nname: a\n",
            "----\na: b\n----\n",
        ] {
            let error = FrontMatter::of(text).unwrap_err();
            assert_eq!(error, FrontMatterError::Missing, "{text}");
        }
        check(
            "---\n- a\n---\n",
            expect!["error: its front matter has no keys"],
        );
        check(
            "---\nname: a\n---\n",
            expect!["error: its front matter has no text `description`"],
        );
        check(
            "---\nname: 12\ndescription: b\n---\n",
            expect!["error: its front matter has no text `name`"],
        );
        check(
            "---\nname: A b\ndescription: c\n---\n",
            expect![
                "error: its name `A b` is invalid: use at most 64 lower-case letters, digits and single hyphens between them"
            ],
        );
        check(
            "---\nname: *a\n---\n",
            expect![[
                r#"error: its front matter cannot be read: it is not YAML: while parsing node, found unknown anchor at byte 6 line 1 column 7"#
            ]],
        );
        let large = format!("---\nname: a\nx: {}\n---\n", "x".repeat(MAX_BYTES));
        check(
            &large,
            expect!["error: its front matter is larger than 64 KiB"],
        );
    }

    #[test]
    fn names_follow_the_specification() {
        for good in ["a", "0", "a-b", "pdf-processing", &"x".repeat(64)] {
            assert!(is_name(good), "{good}");
        }
        for bad in [
            "",
            "-a",
            "a-",
            "a--b",
            "A",
            "a_b",
            "ä",
            "a b",
            &"x".repeat(65),
        ] {
            assert!(!is_name(bad), "{bad}");
        }
    }
}
