//! The steps of `cargo xtask test`, in their order, and those that are a few cargo commands.

use anyhow::Result;

use crate::run::{Output, cargo, target};
use crate::test::{Outcome, Step};
use crate::{clients, conformance, demo, examples, kits, languages, new, plugins, teams, tools, trials, wit};

/// The host with xtask; the providers with their SDK; the guests of the tests.
const WORKSPACES: [&str; 3] = ["Cargo.toml", "plugins/Cargo.toml", "host/tests/guests/Cargo.toml"];

macro_rules! steps {
    ($($name:literal, $about:literal, $needs:expr, $run:expr;)*) => {
        &[$(Step { name: $name, about: $about, needs: &$needs, run: $run }),*]
    };
}

// The cheapest come first: what can be known in seconds is not told after an hour.
pub(crate) const STEPS: &[Step] = steps![
    "fmt", "rustfmt, in all workspaces", [], fmt;
    "wit", "copies of the contract are the contract", [], wit::check;
    "plugins", "build the providers", [], |o| done(plugins::plugins(o));
    "guests", "build the guests of the tests", [], |o| done(plugins::guests(o));
    "clippy", "clippy, in all three workspaces", ["plugins"], clippy;
    "host", "build the server", [], |o| done(o.run(&mut cargo(&["build", "--package", "larder"])));
    "tests", "unit and integration tests of the host", ["plugins", "guests", "host"], host_tests;
    "plugin-tests", "tests of the providers and their SDK, native", [], plugin_tests;
    "doc", "rustdoc without a warning", [], doc;
    "demo", "the demo, read by our own client", ["plugins", "host"], |o| done(demo::check(o));
    "author-tools", "install componentize-py, Go and Zig", [], tools::authors;
    "sdk-python", "tests of the Python SDK, native", [], kits::python;
    "sdk-javascript", "tests of the JavaScript SDK, native", [], kits::javascript;
    "sdk-go", "tests of the Go SDK, native, and its bindings", ["host"], kits::go;
    "example-rust", "the example in Rust", ["host"], languages::rust;
    "example-python", "the example in Python", ["host", "author-tools"], languages::python;
    "example-javascript", "the example in JavaScript", ["host"], languages::javascript;
    "example-go", "the example in Go", ["host"], languages::go;
    "example-c", "the example in C", ["host"], languages::c;
    "new-rust", "a new project in Rust, built, tested and edited", ["host"], new::rust;
    "new-python", "a new project in Python", ["host", "author-tools"], new::python;
    "new-javascript", "a new project in JavaScript", ["host"], new::javascript;
    "new-go", "a new project in Go", ["host"], new::go;
    "new-c", "a new project in C", ["host"], new::c;
    "trial-rust", "good and bad in a running server, in Rust", ["host"], trials::rust;
    "trial-python", "the same in Python", ["host", "author-tools"], trials::python;
    "trial-javascript", "the same in JavaScript", ["host"], trials::javascript;
    "trial-go", "the same in Go", ["host"], trials::go;
    "trial-c", "the same in C", ["host"], trials::c;
    "two-teams", "the walk through two teams", ["plugins", "host"], |o| done(teams::check(o));
    "node", "install Node's packages", [], tools::node;
    "python", "install Python's packages", [], tools::python;
    "conformance-0.1", "official suite 0.1.16, 2025-11-25", ["plugins", "host", "node"], conformance::first_2025;
    "conformance-0.2-2025", "official suite 0.2, 2025-11-25", ["plugins", "host", "node"], conformance::second_2025;
    "conformance-0.2-2026", "official suite 0.2, 2026-07-28", ["plugins", "host", "node"], conformance::second_2026;
    "clients-ts-v1", "TypeScript SDK 1", ["plugins", "host", "node"], clients::ts_v1;
    "clients-ts-v2", "TypeScript SDK 2", ["plugins", "host", "node"], clients::ts_v2;
    "clients-inspector", "the inspector's command line", ["plugins", "host", "node"], clients::inspector;
    "clients-python", "Python SDK", ["plugins", "host", "python"], clients::python;
    "client-examples-larder", "examples/clients with our commands", ["plugins", "guests", "host"], examples::larder;
    "client-examples-curl", "examples/clients with curl", ["plugins", "guests", "host"], examples::curl;
    "client-examples-typescript", "examples/clients in TypeScript", ["plugins", "guests", "host", "node"], examples::typescript;
    "client-examples-python", "examples/clients in Python", ["plugins", "guests", "host", "python"], examples::python;
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

fn host_tests(output: &Output) -> Result<Outcome> {
    output.run(&mut cargo(&["test", "--workspace"]))?;
    Ok(Outcome::Noted(counted(&output.written())))
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

/// Adds up what the test binaries say of themselves.
fn counted(log: &str) -> String {
    let number = |line: &str, word: &str| {
        let (before, _) = line.split_once(word)?;
        before.rsplit(' ').next()?.parse::<usize>().ok()
    };
    let results = || log.lines().filter(|line| line.starts_with("test result:"));
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
    }
}
