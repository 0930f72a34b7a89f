//! Shows the beginning and the end of what a guest that misbehaved wrote to stderr: a panic message, a traceback, the
//! output of a failed assertion.

use super::{out, sanitize};

/// How many of the first lines are shown: the reason of a failure in Go precedes the stacks of all goroutines.
const FIRST_LINES: usize = 3;
/// How many of the last lines are shown. The important lines of a traceback in Python are at its end.
const LAST_LINES: usize = 12;
/// The maximum number of characters of a line.
const MAX_LINE_LENGTH: usize = 300;

/// The line above the lines of stderr.
pub(super) const HEADING: &str = "stderr of the guest:";

/// Returns the first and the last lines, safe for a terminal. Empty if the guest wrote nothing.
pub(super) fn lines(stderr: &str) -> Vec<String> {
    let all: Vec<_> = stderr
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let omitted = all.len().saturating_sub(FIRST_LINES + LAST_LINES);
    if omitted == 0 {
        return all.into_iter().map(show).collect();
    }
    let (first, others) = all.split_at(FIRST_LINES);
    let mut shown: Vec<_> = first.iter().map(|line| show(line)).collect();
    shown.push(format!("… ({omitted} more lines)"));
    shown.extend(others[omitted..].iter().map(|line| show(line)));
    shown
}

/// Prints the heading and the lines to stderr, if there are any.
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
        let many = |count| {
            let text: String = (0..count)
                .map(|number| format!("line {number}\n"))
                .collect();
            lines(&text)
        };
        assert_eq!(many(15).len(), 15);
        let shown = many(20);
        assert_eq!(shown.len(), 16);
        assert_eq!(shown[2..5], ["line 2", "… (5 more lines)", "line 8"]);
        assert_eq!(shown[15], "line 19");
    }
}
