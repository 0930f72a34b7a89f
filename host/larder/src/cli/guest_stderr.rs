//! Shows the end of what a guest that misbehaved wrote to stderr: a panic message, a traceback, the output of
//! a failed assertion.

use super::{out, sanitize};

/// The maximum number of lines that are shown. The important lines of a traceback are at its end.
const MAX_LINES: usize = 12;
/// The maximum number of characters of a line.
const MAX_LINE_LENGTH: usize = 300;

/// The line above the lines of stderr.
pub(super) const HEADING: &str = "stderr of the guest:";

/// Returns the last lines, safe for a terminal. Empty if the guest wrote nothing.
pub(super) fn lines(stderr: &str) -> Vec<String> {
    let all: Vec<_> = stderr
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let omitted = all.len().saturating_sub(MAX_LINES);
    let first = (omitted > 0).then(|| format!("… ({omitted} earlier lines)"));
    first
        .into_iter()
        .chain(all[omitted..].iter().map(|line| show(line)))
        .collect()
}

/// Prints the heading and the last lines to stderr, if there are any.
pub(super) fn note(provider: &str, stderr: &str) {
    let lines = lines(stderr);
    if !lines.is_empty() {
        out::note(&format!("{provider}: {HEADING}"));
    }
    lines
        .iter()
        .for_each(|line| out::note(&format!("  {line}")));
}

fn show(line: &str) -> String {
    let line = line.trim_end();
    let mut shown: String = line.chars().take(MAX_LINE_LENGTH).collect();
    if shown.len() < line.len() {
        shown.push('…');
    }
    sanitize::line(&shown).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_the_end_without_control_characters() {
        let none: [&str; 0] = [];
        assert_eq!(lines(" \n\n"), none);
        assert_eq!(
            lines("one\n\n  two\x1b[2J\r\n\u{202e}three\n"),
            ["one", "  two\\u001b[2J", "\\u202ethree"]
        );
        let long = lines(&"ä".repeat(MAX_LINE_LENGTH + 1));
        assert_eq!(long, [format!("{}…", "ä".repeat(MAX_LINE_LENGTH))]);
        let many: String = (0..MAX_LINES + 2)
            .map(|number| format!("line {number}\n"))
            .collect();
        let shown = lines(&many);
        assert_eq!(
            (shown.len(), shown[0].as_str()),
            (MAX_LINES + 1, "… (2 earlier lines)")
        );
        assert_eq!(
            (shown[1].as_str(), shown.last().unwrap().as_str()),
            ("line 2", "line 13")
        );
    }
}
