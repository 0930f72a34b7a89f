//! The YAML between two lines of `---` at the beginning of a note.

use larder_provider::serde_json::{Map, Value};
use serde_saphyr::{Budget, Options};

/// The maximum size of a front matter. The front matter is read for each entry of a list.
pub(crate) const MAX_BYTES: usize = 32 << 10;

/// The front matter of a note, or why the front matter cannot be used.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct FrontMatter {
    fields: Map<String, Value>,
    pub(crate) problem: Option<String>,
}

/// Splits a note into its front matter and the rest.
pub(crate) fn split(text: &str) -> (Option<&str>, &str) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Some(rest) = text
        .strip_prefix("---\n")
        .or_else(|| text.strip_prefix("---\r\n"))
    else {
        return (None, text);
    };
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return (Some(&rest[..at]), &rest[at + line.len()..]);
        }
        at += line.len();
    }
    (None, text)
}

impl FrontMatter {
    /// Parses the YAML. A note with an invalid front matter is handled as a note without front matter, and the problem
    /// is reported with it.
    pub(crate) fn parse(yaml: Option<&str>) -> Self {
        let Some(yaml) = yaml.filter(|yaml| !yaml.trim().is_empty()) else {
            return Self::default();
        };
        let failed = |problem: String| Self {
            problem: Some(problem),
            ..Self::default()
        };
        if yaml.len() > MAX_BYTES {
            return failed(format!(
                "the front matter is larger than {} KiB",
                MAX_BYTES >> 10
            ));
        }
        match serde_saphyr::from_str_with_options(yaml, options()) {
            Ok(Value::Object(fields)) => Self {
                fields,
                problem: None,
            },
            Ok(_) => failed("the front matter is not a map".to_owned()),
            Err(error) => {
                let reason = error.to_string();
                failed(format!(
                    "the front matter is not valid: {}",
                    reason.lines().next().unwrap_or_default()
                ))
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// A field that is a text which is not empty.
    pub(crate) fn text(&self, names: &[&str]) -> Option<&str> {
        let found = names
            .iter()
            .find_map(|name| self.fields.get(*name)?.as_str());
        found.map(str::trim).filter(|text| !text.is_empty())
    }

    /// The priority; none if it is not a number from 0 to 1.
    pub(crate) fn priority(&self) -> Option<f64> {
        let priority = self.fields.get("priority")?.as_f64()?;
        (0.0..=1.0).contains(&priority).then_some(priority)
    }

    /// The tags: a list, or a text with commas or spaces.
    pub(crate) fn tags(&self) -> Vec<String> {
        let tags: Vec<&str> = match self.fields.get("tags").or_else(|| self.fields.get("tag")) {
            Some(Value::Array(tags)) => tags.iter().filter_map(Value::as_str).collect(),
            Some(Value::String(tags)) => tags.split([',', ' ']).collect(),
            _ => Vec::new(),
        };
        tags.into_iter()
            .filter_map(|tag| super::note::tag(tag.trim().trim_start_matches('#')))
            .collect()
    }

    /// All fields as JSON.
    pub(crate) fn json(&self) -> String {
        Value::Object(self.fields.clone()).to_string()
    }
}

/// The limits for YAML, in which aliases can make a short text very large.
fn options() -> Options {
    let mut budget = Budget::default();
    budget.max_nodes = 5_000;
    budget.max_events = 20_000;
    budget.max_depth = 16;
    budget.max_aliases = 100;
    budget.max_anchors = 100;
    budget.max_recorded_anchor_events = 20_000;
    budget.max_documents = 1;
    budget.max_total_scalar_bytes = 4 * MAX_BYTES;
    let mut options = Options::default();
    options.budget = Some(budget);
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> FrontMatter {
        FrontMatter::parse(split(text).0)
    }

    #[test]
    fn reads_the_fields() {
        let text = "---\ntitle: A \"title\"\ndescription: >\n  two\n  lines\npriority: 0.7\ntags: [a, '#b/c', 7]\nx: {y: 1}\n---\n# H\n";
        let front = parse(text);
        assert_eq!(front.problem, None);
        assert_eq!(front.text(&["title"]), Some("A \"title\""));
        assert_eq!(front.text(&["summary", "description"]), Some("two lines"));
        assert_eq!(front.priority(), Some(0.7));
        assert_eq!(front.tags(), ["a", "b/c"]);
        assert!(front.json().contains(r#""x":{"y":1}"#), "{}", front.json());
        assert_eq!(split(text).1, "# H\n");
        assert_eq!(parse("---\r\ntags: a, b\r\n---\r\n").tags(), ["a", "b"]);
    }

    #[test]
    fn a_note_without_front_matter_is_unchanged() {
        for text in ["# H\n", "---\nno end\n", "----\na: 1\n---\n", ""] {
            assert_eq!(split(text), (None, text));
            assert!(parse(text).is_empty() && parse(text).problem.is_none());
        }
        assert!(parse("---\n---\n").problem.is_none());
    }

    #[test]
    fn a_wrong_front_matter_is_reported() {
        let bomb = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\n\
                    d: &d [*c,*c,*c,*c,*c,*c,*c,*c]\ne: [*d,*d,*d,*d,*d,*d,*d,*d]\n";
        let deep = format!("a: {}{}", "[".repeat(30), "]".repeat(30));
        let many = format!("a: [{}]", "1,".repeat(6000));
        for yaml in [
            "[1, 2]",
            "a: [",
            "a: b: c",
            "\t- x: 1\n y",
            bomb,
            &deep,
            &many,
            &"a: 1\n".repeat(20_000),
        ] {
            let front = FrontMatter::parse(Some(yaml));
            assert!(
                front.problem.is_some() && front.is_empty(),
                "{}",
                &yaml[..yaml.len().min(40)]
            );
        }
    }
}
