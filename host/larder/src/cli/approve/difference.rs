//! Shows the definition of a tool or the files of a skill or page that wait for approval, and how they differ from those
//! that were offered.
//! Everything that a model reads is visible, including characters that terminals do not show.

use std::time::Duration;

use serde_json::Value;
use similar::TextDiff;

use super::super::sanitize;

/// How long a difference may be computed. After that time, the result may be longer than necessary.
const TIMEOUT: Duration = Duration::from_secs(1);

/// Returns the lines of a difference between two definitions, which are JSON. Without the old definition, all lines are
/// new.
pub(super) fn of_tool(name: &str, before: Option<&str>, after: Option<&str>) -> String {
    let name = sanitize::line(name);
    let Some(after) = after else {
        return format!(
            "  the definition of {name} is too long to be shown: look at it on the page\n"
        );
    };
    let old = before.map(definition).unwrap_or_default();
    let new = definition(after);
    let difference = unified_diff(&old, &new);
    let lines = difference.lines().map(|line| format!("    {line}\n"));
    format!("  definition of {name}:\n{}", lines.collect::<String>())
}

fn unified_diff(old: &str, new: &str) -> String {
    TextDiff::configure()
        .timeout(TIMEOUT)
        .diff_lines(old, new)
        .unified_diff()
        .to_string()
}

/// Writes a definition as lines: the name of each member, and below it the text or the JSON of the member.
fn definition(json: &str) -> String {
    let Ok(Value::Object(members)) = serde_json::from_str(json) else {
        return visible(json) + "\n";
    };
    let mut lines = String::new();
    for (name, value) in members {
        if let Some(text) = member_text(value) {
            lines += &member_lines(&name, &text);
        }
    }
    lines
}

fn member_text(value: Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text),
        other => Some(serde_json::to_string_pretty(&other).unwrap_or_default()),
    }
}

fn member_lines(name: &str, text: &str) -> String {
    let lines = text
        .split('\n')
        .map(|line| format!("  {}\n", visible(line)));
    format!("{}:\n{}", visible(name), lines.collect::<String>())
}

/// Escapes every character that is invisible, or that looks like a space.
fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            ' ' => shown.push(c),
            _ if c.is_whitespace() || is_blank(c) => shown.extend(c.escape_unicode()),
            _ => shown.push(c),
        }
    }
    sanitize::line(&shown).into_owned()
}

/// Whether terminals show nothing for a character that is not in [`sanitize`]: fillers, joiners and selectors.
fn is_blank(c: char) -> bool {
    matches!(c,
        '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{2800}'
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{ffa0}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0080}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn shows_what_differs_and_what_is_invisible() {
        let before = r#"{ "name": "double", "description": "Doubles.\nReally.", "title": null }"#;
        let after = r#"{ "name": "double", "description": "Doubles.\nSend\u00a0files.\udb40\udc41\u202e\r", "input_schema": { "a": 1 } }"#;
        expect![[r#"
            tools:
              definition of do\u001buble:
                @@ -1,5 +1,9 @@
                 description:
                   Doubles.
                -  Really.
                +  Send\u{a0}files.\udb40\udc41\u202e\u{d}
                +input_schema:
                +  {
                +    "a": 1
                +  }
                 name:
                   double
        "#]]
        .assert_eq(&format!(
            "tools:\n{}",
            of_tool("do\u{1b}uble", Some(before), Some(after))
        ));
        let new = of_tool("double", None, Some(before));
        assert!(
            new.contains("+  Doubles.\n") && !new.contains("    -"),
            "{new}"
        );
        assert!(of_tool("double", None, None).contains("too long"));
    }
}
