//! The steps of `cargo xtask test`, in their order, and those that are a few cargo commands.

use anyhow::Result;

use crate::run::{Output, cargo, target};
use crate::step::{Outcome, Step, Weight};
use crate::{
    clients, conformance, demo, deny, examples, kits, languages, new, plugins, teams, tools, trials, wit,
};

/// The host with xtask; the providers with their SDK; the guests of the tests.
const WORKSPACES: [&str; 3] = ["Cargo.toml", "plugins/Cargo.toml", "host/tests/guests/Cargo.toml"];

macro_rules! steps {
    ($($weight:ident $name:literal, $about:literal, $needs:expr, $run:expr;)*) => {
        &[$(Step { name: $name, about: $about, weight: Weight::$weight, needs: &$needs, run: $run }),*]
    };
}

// The cheapest come first: what can be known in seconds is not told after an hour.
pub(crate) const STEPS: &[Step] = steps![
    Light "fmt", "rustfmt, in all workspaces", [], fmt;
    Light "wit", "copies of the contract are the contract", [], wit::check;
    Heavy "plugins", "build the providers", [], |o| done(plugins::plugins(o));
    Heavy "guests", "build the guests of the tests", [], |o| done(plugins::guests(o));
    Heavy "clippy", "clippy, in all three workspaces", ["plugins"], clippy;
    Heavy "deny", "licences, banned crates and sources of all dependencies", [], deny::run;
    Heavy "host", "build the server", [], |o| done(o.run(&mut cargo(&["build", "--package", "larder"])));
    Heavy "tests", "unit and integration tests of the host", ["plugins", "guests", "host"], host_tests;
    Heavy "plugin-tests", "tests of the providers and their SDK, native", [], plugin_tests;
    Heavy "doc", "rustdoc without a warning", [], doc;
    Light "demo", "the demo, read by our own client", ["plugins", "host"], |o| done(demo::check(o));
    Light "author-tools", "install componentize-py, Go and Zig", [], tools::authors;
    Light "sdk-python", "tests of the Python SDK, native", [], kits::python;
    Light "sdk-javascript", "tests of the JavaScript SDK, native", [], kits::javascript;
    Light "sdk-go", "tests of the Go SDK, native, and its bindings", ["host"], kits::go;
    Heavy "example-rust", "the example in Rust", ["host"], languages::rust;
    Light "example-python", "the example in Python", ["host", "author-tools"], languages::python;
    Light "example-javascript", "the example in JavaScript", ["host"], languages::javascript;
    Light "example-go", "the example in Go", ["host"], languages::go;
    Light "example-c", "the example in C", ["host"], languages::c;
    Heavy "new-rust", "a new project in Rust, built, tested and edited", ["host"], new::rust;
    Light "new-python", "a new project in Python", ["host", "author-tools"], new::python;
    Light "new-javascript", "a new project in JavaScript", ["host"], new::javascript;
    Light "new-go", "a new project in Go", ["host"], new::go;
    Light "new-c", "a new project in C", ["host"], new::c;
    Heavy "trial-rust", "good and bad in a running server, in Rust", ["host"], trials::rust;
    Light "trial-python", "the same in Python", ["host", "author-tools"], trials::python;
    Light "trial-javascript", "the same in JavaScript", ["host"], trials::javascript;
    Light "trial-go", "the same in Go", ["host"], trials::go;
    Light "trial-c", "the same in C", ["host"], trials::c;
    Light "two-teams", "the walk through two teams", ["plugins", "host"], |o| done(teams::check(o));
    Light "node", "install Node's packages", [], tools::node;
    Light "python", "install Python's packages", [], tools::python;
    Light "conformance-0.1", "official suite 0.1.16, 2025-11-25", ["plugins", "host", "node"], conformance::first_2025;
    Light "conformance-0.2-2025", "official suite 0.2, 2025-11-25", ["plugins", "host", "node"], conformance::second_2025;
    Light "conformance-0.2-2026", "official suite 0.2, 2026-07-28", ["plugins", "host", "node"], conformance::second_2026;
    Light "clients-ts-v1", "TypeScript SDK 1", ["plugins", "host", "node"], clients::ts_v1;
    Light "clients-ts-v2", "TypeScript SDK 2", ["plugins", "host", "node"], clients::ts_v2;
    Light "clients-inspector", "the inspector's command line", ["plugins", "host", "node"], clients::inspector;
    Light "clients-python", "Python SDK", ["plugins", "host", "python"], clients::python;
    Light "client-examples-larder", "examples/clients with our commands", ["plugins", "guests", "host"], examples::larder;
    Light "client-examples-curl", "examples/clients with curl", ["plugins", "guests", "host"], examples::curl;
    Light "client-examples-typescript", "examples/clients in TypeScript", ["plugins", "guests", "host", "node"], examples::typescript;
    Light "client-examples-python", "examples/clients in Python", ["plugins", "guests", "host", "python"], examples::python;
];

fn done(result: Result<()>) -> Result<Outcome> {
    result.map(|()| Outcome::Passed)
}

fn fmt(output: &Output) -> Result<Outcome> {
    for manifest in WORKSPACES.into_iter().chain(["examples/changelog-rust/Cargo.toml", "bench/Cargo.toml"]) {
        let check = ["fmt", "--all", "--check", "--manifest-path", manifest, "--", "--color=never"];
        output.run(&mut cargo(&check))?;
    }
    Ok(Outcome::Passed)
}

/// Natively where there are native tests, and as the components that are run.
fn clippy(output: &Output) -> Result<Outcome> {
    let [host, plugins, guests] = WORKSPACES;
    let wasm = ["--target", "wasm32-wasip2"];
    let runs: [(&str, &[&str]); 4] =
        [(host, &["--all-targets"]), (plugins, &["--all-targets"]), (plugins, &wasm), (guests, &wasm)];
    for (manifest, words) in runs {
        let mut clippy = cargo(&["clippy", "--quiet", "--workspace", "--manifest-path", manifest]);
        clippy.args(words);
        if manifest == guests {
            clippy.arg("--examples");
        }
        output.run(clippy.args(["--", "-D", "warnings"]))?;
    }
    // Of its own: what it measures against is in nothing else.
    let mut bench = cargo(&["clippy", "--quiet", "--manifest-path", "bench/Cargo.toml", "--target-dir"]);
    output.run(bench.arg(target("bench")).args(["--", "-D", "warnings"]))?;
    Ok(Outcome::Passed)
}

/// With nextest where it is installed, which does not run documentation tests.
fn host_tests(output: &Output) -> Result<Outcome> {
    if tools::works(cargo(&["nextest", "--version"]).env("NO_COLOR", "1")) {
        output.run(&mut cargo(&["nextest", "run", "--workspace", "--no-fail-fast"]))?;
        output.run(&mut cargo(&["test", "--workspace", "--doc"]))?;
    } else {
        output.run(&mut cargo(&["test", "--workspace", "--no-fail-fast"]))?;
    }
    Ok(Outcome::Noted(counted(&output.written())))
}

/// The quick checks for every edit: formatting, lints and unit tests of the host.
pub(crate) fn check(output: &Output) -> Result<()> {
    output.run(&mut cargo(&["fmt", "--all", "--check"]))?;
    output.run(&mut cargo(&["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"]))?;
    let nextest = tools::works(cargo(&["nextest", "--version"]).env("NO_COLOR", "1"));
    let test: &[&str] = if nextest { &["nextest", "run"] } else { &["test"] };
    output.run(cargo(test).args(["--workspace", "--lib", "--bins"]))
}

fn plugin_tests(output: &Output) -> Result<Outcome> {
    output.run(&mut cargo(&["test", "--workspace", "--manifest-path", "plugins/Cargo.toml"]))?;
    Ok(Outcome::Noted(counted(&output.written())))
}

fn doc(output: &Output) -> Result<Outcome> {
    for manifest in &WORKSPACES[..2] {
        let mut doc = cargo(&["doc", "--quiet", "--no-deps", "--workspace", "--manifest-path", manifest]);
        output.run(doc.env("RUSTDOCFLAGS", "-D warnings"))?;
    }
    Ok(Outcome::Passed)
}

/// Adds up the summary lines of the test binaries and of nextest.
fn counted(log: &str) -> String {
    let number = |line: &str, word: &str| {
        let (before, _) = line.split_once(word)?;
        before.rsplit(' ').next()?.parse::<usize>().ok()
    };
    let is_summary =
        |line: &&str| line.starts_with("test result:") || line.trim_start().starts_with("Summary [");
    let results = || log.lines().filter(is_summary);
    let sum = |word: &str| results().filter_map(|line| number(line, word)).sum::<usize>();
    format!("{} tests, {} ignored", sum(" passed"), sum(" ignored"))
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn tests_are_counted_over_all_binaries() {
        let log = "running 3 tests\ntest result: ok. 2 passed; 0 failed; 1 ignored; 0 measured\n\
                   test result: ok. 40 passed; 0 failed; 0 ignored; 0 measured; finished in 0.1s\n";
        assert_eq!(counted(log), "42 tests, 1 ignored");
        let log = "     Summary [   4.2s] 30 tests run: 30 passed (1 slow), 2 skipped\n\
                   test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured\n";
        assert_eq!(counted(log), "32 tests, 1 ignored");
    }
}
