//! Reads the log of a test run.

/// Adds up the summary lines of the test binaries and of nextest.
pub(crate) fn count_tests(log: &str) -> String {
    let number = |line: &str, word: &str| {
        let (before, _) = line.split_once(word)?;
        before.rsplit(' ').next()?.parse::<usize>().ok()
    };
    let is_summary = |line: &&str| {
        line.starts_with("test result:") || line.trim_start().starts_with("Summary [")
    };
    let results = || log.lines().filter(is_summary);
    let sum = |word: &str| {
        results()
            .filter_map(|line| number(line, word))
            .sum::<usize>()
    };
    format!("{} tests, {} ignored", sum(" passed"), sum(" ignored"))
}

#[cfg(test)]
mod tests {
    use super::count_tests;

    #[test]
    fn adds_up_the_tests_of_all_binaries() {
        let log = "running 3 tests\ntest result: ok. 2 passed; 0 failed; 1 ignored; 0 measured\n\
                   test result: ok. 40 passed; 0 failed; 0 ignored; 0 measured; finished in 0.1s\n";
        assert_eq!(count_tests(log), "42 tests, 1 ignored");
        let log = "     Summary [   4.2s] 30 tests run: 30 passed (1 slow), 2 skipped\n\
                   test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured\n";
        assert_eq!(count_tests(log), "32 tests, 1 ignored");
    }
}
