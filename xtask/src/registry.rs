//! Tests with real registries: installs Debian's `docker-registry`, and runs two groups of tests: the module `registry`
//! of the integration tests, which starts the registry, and the examples of the book that need a registry. For a
//! release, `wkg` is tested too.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result};

use crate::book;
use crate::linted_build::linted;
use crate::run::{Output, command, target};
use crate::step::Outcome;
use crate::test_log::count_tests;
use crate::tools;

/// The program, and the package of Debian.
const PROGRAM: &str = "docker-registry";
/// The version of `wkg` that is installed if the machine has none.
const WKG: &str = "0.16.1";

/// The module of the integration tests. The step `tests` excludes it.
pub(crate) const TESTS: &str = "binary(integration) and test(/^registries::registry::/)";

/// With this variable, the tests fail without the registry.
const REQUIRED: &str = "LARDER_TEST_REGISTRY_REQUIRED";
/// The text in the registry's log before the address.
const LISTENING: &str = "listening on ";

/// The tests that call `wkg`, which takes minutes to compile.
const WKG_TESTS: &str = "binary(integration) and test(/^registries::registry::wkg::/)";

pub(crate) fn check(output: &Output) -> Result<Outcome> {
    if let Some(skipped) = install(output)? {
        return Ok(skipped);
    }
    let registry = Registry::start()?;
    let examples = book::run_registry_examples(output, &registry.address)?;
    drop(registry);
    let mut tests = tests(&format!("{TESTS} and not ({WKG_TESTS})"));
    output.run(tests.env(REQUIRED, "1"))?;
    Ok(Outcome::PassedWithNote(format!(
        "{}, {examples} examples",
        count_tests(&output.contents())
    )))
}

/// Runs the tests that call `wkg`.
pub(crate) fn check_wkg(output: &Output) -> Result<Outcome> {
    if let Some(skipped) = install(output)? {
        return Ok(skipped);
    }
    let wkg = tools::installed(output, "wkg", WKG, &[])?;
    output.run(
        tests(WKG_TESTS)
            .env("LARDER_TEST_WKG", wkg)
            .env(REQUIRED, "1"),
    )?;
    Ok(Outcome::PassedWithNote(count_tests(&output.contents())))
}

/// Installs the registry. Returns the outcome of the step if it cannot be installed.
fn install(output: &Output) -> Result<Option<Outcome>> {
    for program in [PROGRAM, "openssl"] {
        if let Outcome::Skipped(reason) = tools::debian_package(output, program, program)? {
            return Ok(Some(Outcome::Skipped(reason)));
        }
    }
    Ok(None)
}

/// Runs these tests with nextest. Without nextest, runs all tests of the module with cargo.
fn tests(filter: &str) -> Command {
    if !tools::has_nextest() {
        return linted(&[
            "test",
            "--workspace",
            "--test",
            "integration",
            "--no-fail-fast",
            "registry::",
        ]);
    }
    linted(&[
        "nextest",
        "run",
        "--workspace",
        "--no-fail-fast",
        "-E",
        filter,
    ])
}

/// A registry with an empty store, on a free port of the loopback interface.
struct Registry {
    process: Child,
    address: String,
}

impl Registry {
    fn start() -> Result<Self> {
        let folder = target("xtask/registry");
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder)?;
        let config = serde_json::json!({
            "version": "0.1",
            "log": { "level": "info", "accesslog": { "disabled": true } },
            "storage": { "filesystem": { "rootdirectory": folder.join("data") } },
            "http": { "addr": "127.0.0.1:0", "secret": "of a test" },
        });
        let file = folder.join("config.json");
        fs::write(&file, config.to_string())?;
        let mut serve = command(PROGRAM);
        serve
            .arg("serve")
            .arg(&file)
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut process = serve.spawn().context(PROGRAM)?;
        let stderr = process.stderr.take().context("stderr is a pipe")?;
        let mut registry = Self {
            process,
            address: String::new(),
        };
        let mut lines = BufReader::new(stderr).lines().map_while(Result::ok);
        let line = lines
            .find(|line| line.contains(LISTENING))
            .context("the registry does not start")?;
        let rest = line.split(LISTENING).nth(1).unwrap_or_default();
        registry.address = rest.split([',', '"']).next().unwrap_or_default().to_owned();
        // Later output of the registry must not fill the pipe.
        std::thread::spawn(move || lines.for_each(drop));
        Ok(registry)
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        // Both calls fail only if the registry has already ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
