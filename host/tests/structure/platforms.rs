//! Finds code that distinguishes operating systems.

use std::path::Path;

/// Conditions on the operating system. All Larder runs on Unix, so conditions on Unix are superfluous.
const CONDITIONS: &[&str] = &[
    "target_os",
    "target_family",
    "target_vendor",
    "cfg(unix",
    "cfg(not(unix",
    "cfg!(unix",
    "cfg(windows",
    "cfg!(windows",
    "larder_portable",
];

/// What only Linux has. Tests may use it.
const LINUX_ONLY: &[&str] = &["\"/proc/", "os::linux", "openat2", "OFlags::PATH", "libc::"];

/// Returns each line of a crate that distinguishes operating systems or works only on Linux, with its place.
pub(crate) fn distinctions(folder: &Path) -> Vec<String> {
    let mut found = lines_with(&folder.join("Cargo.toml"), CONDITIONS, false);
    for path in super::sources(&folder.join("src")) {
        found.extend(lines_with(&path, CONDITIONS, false));
        found.extend(lines_with(&path, LINUX_ONLY, true));
    }
    found
}

fn lines_with(path: &Path, patterns: &[&str], outside_of_tests: bool) -> Vec<String> {
    let is_test_file = path.ends_with("tests.rs") || path.iter().any(|part| part == "tests");
    if outside_of_tests && is_test_file {
        return Vec::new();
    }
    let text = std::fs::read_to_string(path).unwrap();
    let text = if outside_of_tests {
        text.split("#[cfg(test)]\nmod tests {").next().unwrap()
    } else {
        &text
    };
    let lines = text.lines().enumerate();
    let matches = lines.filter(|(_, line)| patterns.iter().any(|pattern| line.contains(pattern)));
    matches
        .map(|(at, line)| format!("{}:{}: {}", path.display(), at + 1, line.trim()))
        .collect()
}

#[test]
fn finds_conditions_and_what_only_linux_has() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("src");
    std::fs::create_dir(&source).unwrap();
    std::fs::write(folder.path().join("Cargo.toml"), "[dependencies]\n").unwrap();
    let check = |text: &str, expected: usize| {
        std::fs::write(source.join("lib.rs"), text).unwrap();
        assert_eq!(distinctions(folder.path()).len(), expected, "{text}");
    };
    check("#[cfg(target_os = \"linux\")]\nfn a() {}\n", 1);
    check("#[cfg(not(unix))]\nfn a() {}\n", 1);
    check("fn a() { read(\"/proc/self/stat\") }\n", 1);
    check(
        "fn a() {}\n#[cfg(test)]\nmod tests {\n    const A: &str = \"/proc/self\";\n}\n",
        0,
    );
    check("use std::os::unix::fs::MetadataExt;\n", 0);
}
