//! The guests and tests on the page about hostile tests exist.

use std::path::Path;

/// The names on the page that the source does not contain.
pub(crate) fn missing_names(root: &Path) -> Vec<String> {
    let page = std::fs::read_to_string(root.join("docs/src/hostile-tests.md")).unwrap();
    let mut missing = Vec::new();
    let (mut tests, mut guests) = (0, 0);
    for row in page.lines().filter(|line| line.starts_with("| ")) {
        for test in code_spans(row).filter(|name| name.contains("::")) {
            tests += 1;
            if !has_test(root, test) {
                missing.push(test.to_owned());
            }
        }
    }
    for name in section(&page, "## Guests")
        .lines()
        .filter_map(|row| row.strip_prefix("| `"))
    {
        let first_cell = name.split(" | ").next().unwrap();
        for guest in first_cell.split(", ").map(|guest| guest.trim_matches('`')) {
            guests += 1;
            if !root
                .join("host/tests/guests/examples")
                .join(format!("{guest}.rs"))
                .exists()
            {
                missing.push(guest.to_owned());
            }
        }
    }
    for target in section(&page, "## Fuzzing")
        .lines()
        .filter_map(|row| row.strip_prefix("| `"))
    {
        let target = target.split('`').next().unwrap();
        if !root
            .join("fuzz/targets")
            .join(format!("{target}.rs"))
            .exists()
        {
            missing.push(target.to_owned());
        }
    }
    assert!(
        tests > 50 && guests > 20,
        "the tables were not found: {tests} tests, {guests} guests"
    );
    missing
}

/// Whether `FILE::NAME` is a test: of the integration tests, or of a crate if the file begins with its name.
fn has_test(root: &Path, test: &str) -> bool {
    let (file, name) = test.split_once("::").unwrap();
    let folder = if file.starts_with("larder") {
        "host"
    } else {
        "host/tests/integration"
    };
    let path = root.join(folder).join(format!("{file}.rs"));
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let mut is_test = false;
    text.lines().map(str::trim_start).any(|line| {
        if line.starts_with("#[") {
            is_test |= line.starts_with("#[test") || line.starts_with("#[tokio::test");
            return false;
        }
        let is_named = ["fn ", "async fn "]
            .iter()
            .any(|before| line.starts_with(&format!("{before}{name}(")));
        std::mem::take(&mut is_test) && is_named
    })
}

fn section<'a>(page: &'a str, title: &str) -> &'a str {
    let (_, rest) = page.split_once(title).unwrap();
    rest.split("\n## ").next().unwrap()
}

fn code_spans(row: &str) -> impl Iterator<Item = &str> {
    row.split('`').skip(1).step_by(2)
}
