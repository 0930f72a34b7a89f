//! Compares the output of a command with what is expected.

use serde_json::Value;

/// What stands for any text in an expected line.
const ANY: &str = "[..]";

/// Whether an output is as expected. JSON is compared by its value, and other text line by line.
pub(super) fn is_equal(expected: &str, actual: &str) -> bool {
    if let Some(expected) = json(expected)
        && let Some(actual) = json(actual)
    {
        return expected == actual;
    }
    let has_equal_length = expected.lines().count() == actual.lines().count();
    let mut lines = expected.lines().zip(actual.lines());
    has_equal_length && lines.all(|(expected, actual)| is_line_equal(expected, actual))
}

fn json(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok()
}

fn is_line_equal(expected: &str, actual: &str) -> bool {
    if expected.contains(ANY) {
        return is_match(expected, actual);
    }
    // The output is not a terminal, so tabs separate the columns of a table.
    if actual.contains('\t') {
        return columns(expected).eq(columns(actual));
    }
    expected == actual
}

/// Whether the parts of a line that are not any text follow one another.
fn is_match(expected: &str, actual: &str) -> bool {
    let Some((first, others)) = expected.split_once(ANY) else {
        return expected == actual;
    };
    let (middle, last) = others.rsplit_once(ANY).unwrap_or(("", others));
    let Some(mut rest) = actual.strip_prefix(first) else {
        return false;
    };
    for part in middle.split(ANY) {
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// The columns of a line of a table.
fn columns(line: &str) -> impl Iterator<Item = &str> {
    line.split(['\t', ' ']).filter(|column| !column.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compares_json_by_value_and_text_by_line() {
        assert!(is_equal(
            "{\"a\":1,\"b\":[]}\n",
            "{ \"b\": [], \"a\": 1 }\n"
        ));
        assert!(!is_equal("{\"a\":1}\n", "{\"a\":2}\n"));
        assert!(is_equal("a  b c\n", "a\tb c\n"));
        assert!(!is_equal("a  b\n", "a\tc\n") && !is_equal("a  b\n", "a b\n"));
        assert!(!is_equal("a\n", "a\nb\n"));
        assert!(!is_equal("a\n", "b\n"));
    }

    #[test]
    fn two_dots_in_brackets_are_any_text() {
        assert!(is_equal("a\ncannot [..] x\n", "a\ncannot read x\n"));
        assert!(is_equal("[..]a[..]b[..]\n", "1 a 2 b 3\n"));
        assert!(!is_equal("[..]a[..]b\n", "b a\n"));
        assert!(!is_equal("ab[..]b\n", "ab\n"));
    }
}
